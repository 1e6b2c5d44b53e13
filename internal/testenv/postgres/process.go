// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// process is a server that ends with this process at the latest.
type process struct {
	cmd    *exec.Cmd
	output lockedBuffer
	ended  chan struct{}
}

// start runs a binary of the installation in dir.
func (i install) start(dir, name string, args ...string) (*process, error) {
	// No context: the server ends when it is told to, in the way it is told to.
	cmd := exec.CommandContext(context.Background(), filepath.Join(i.bin, name), args...)
	p := &process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: i.credential,
		Setpgid:    true,            // an interrupt from the terminal is for the test
		Pdeathsig:  syscall.SIGQUIT, // PostgreSQL's immediate shutdown
	}
	started := make(chan error, 1)
	go func() {
		// The signal comes when the thread ends that started the server: this one waits as long.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // by our own signals, mostly
			close(p.ended)
		}
	}()
	return p, <-started
}

// stop is PostgreSQL's fast shutdown, which breaks connections and keeps what was committed.
func (p *process) stop() error { return p.end(syscall.SIGINT) }

// kill ends the server and its backends, without a chance to write anything. Backends are in process
// groups of their own, so each is named.
func (p *process) kill() error {
	pid := p.cmd.Process.Pid
	backends, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	for _, text := range append([]string{strconv.Itoa(pid)}, strings.Fields(string(backends))...) {
		child, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	<-p.ended
	return nil
}

func (p *process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

func (p *process) log() string { return p.output.String() }

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
