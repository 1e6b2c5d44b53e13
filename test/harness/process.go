// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is how long a process may take to end after SIGTERM; the manager drains for up to 30 s.
const stopTimeout = 45 * time.Second

// Process is a program that runs for one test, in a process group of its own. Its output is shown when the test fails.
type Process struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	output output
	ended  chan struct{}
	// err is how it ended; to be read once ended is closed.
	err error
}

// StartProcess runs a program until the test ends, or until it is stopped.
func StartProcess(t testing.TB, path string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: filepath.Base(path), ended: make(chan struct{})}
	// The context of the test ends before its cleanup begins, which is too early: the process is still to be asked.
	p.cmd = exec.Command(path, args...) //nolint:noctx // see above
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s %q:\n%s", p.name, args, p.output.String())
		}
	})
	return p
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ExitCode is how the process ended; only once it has.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Output is what the process has written so far.
func (p *Process) Output() string { return p.output.String() }

// Kill ends the process and all that it started with SIGKILL, as a crash does, and waits for the end.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.waitForEnd(10 * time.Second)
}

// Stop asks the process to end, waits until it has, and fails the test if it reports an error.
func (p *Process) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	p.waitForEnd(stopTimeout)
	if p.err != nil {
		p.t.Errorf("%s after SIGTERM: %v", p.name, p.err)
	}
}

// Signal sends a signal to the process and all that it started. One that has ended gets none: its group's number may be
// another's by now.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if !p.Running() {
		return
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Errorf("sending %v to %s: %v", s, p.name, err)
	}
}

// PeakMemory returns the most memory that the process has had resident so far, in bytes. Systems other than Linux don't tell.
func (p *Process) PeakMemory() int64 {
	p.t.Helper()
	peak, err := peakMemory(p.cmd.Process.Pid)
	if err != nil {
		p.t.Fatal(err)
	}
	return peak
}

// Pause stops the process with SIGSTOP and returns once none of its threads runs any more: kill(2) returns before that, and
// a thread that is on a processor meanwhile may do a lot.
func (p *Process) Pause() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	Eventually(p.t, Patience, p.name+" to stop", func(context.Context) (bool, string) {
		running, err := runningThreads(p.cmd.Process.Pid)
		return err == nil && running == 0, fmt.Sprintf("%d threads run, %v", running, err)
	})
}

// Resume lets a paused process go on.
func (p *Process) Resume() { p.t.Helper(); p.Signal(syscall.SIGCONT) }

// AwaitEnd waits until the process has ended by itself.
func (p *Process) AwaitEnd(limit time.Duration) { p.t.Helper(); p.waitForEnd(limit) }

func (p *Process) waitForEnd(limit time.Duration) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Errorf("%s did not end within %s", p.name, limit)
	}
}

// output collects what a process writes while others read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
