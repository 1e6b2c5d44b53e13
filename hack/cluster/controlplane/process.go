// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// exitWithParentEnv is understood by the binary of hack/localcluster.
	exitWithParentEnv = "LOCALCLUSTER_EXIT_WITH_PARENT"

	stopTimeout = 20 * time.Second
	killTimeout = 5 * time.Second
)

// process is a component that runs in the background.
type process struct {
	name     string
	identity string
	handle   *os.Process
}

// pidRecord is the content of a pid file. The identity is what makes it safe
// to signal the pid later: a number alone may belong to someone else by then.
type pidRecord struct {
	PID      int    `json:"pid"`
	Identity string `json:"identity"`
}

// start runs a component in the background.
func (o Options) start(c component) (*process, error) {
	logPath := o.logFile(c.name)
	if err := os.Rename(logPath, logPath+".previous"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(c.path, c.args...) //nolint:noctx // the component outlives its starter
	cmd.Dir = o.StateDir
	cmd.Env = o.environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(o.ExitWithCaller)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	p := &process{name: c.name, handle: cmd.Process}
	identity, running := identify(cmd.Process.Pid)
	// Reaping a child that dies while Up waits turns it from a zombie into nothing.
	go func() { _ = cmd.Wait() }()
	if !running {
		return nil, o.explain(c.name, errors.New(c.name+" ended at once"))
	}
	p.identity = identity
	return p, o.savePID(p)
}

// environment decides by Options alone whether the component ends with its
// starter, whatever the starter's own environment says.
func (o Options) environment() []string {
	environment := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, exitWithParentEnv+"=")
	})
	if o.ExitWithCaller {
		environment = append(environment, exitWithParentEnv+"=1")
	}
	return environment
}

func (o Options) savePID(p *process) error {
	data, err := json.Marshal(pidRecord{PID: p.handle.Pid, Identity: p.identity})
	if err == nil {
		err = writeFile(o.pidFile(p.name), data)
	}
	if err != nil {
		// A process without a pid file could never be stopped.
		return errors.Join(fmt.Errorf("recording %s: %w", p.name, err), p.handle.Kill())
	}
	return nil
}

// find returns the component if the one on record still runs, else nil.
func (o Options) find(name string) (*process, error) {
	data, err := os.ReadFile(o.pidFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, ok := parsePIDRecord(data)
	if !ok {
		return nil, nil
	}
	// On Linux the handle is a pidfd: taken before the identity is checked, it
	// can't come to mean a later process that is given the same pid.
	handle, err := os.FindProcess(record.PID)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, identity: record.Identity, handle: handle}
	if !p.alive() {
		return nil, nil
	}
	return p, nil
}

// parsePIDRecord returns false for a damaged file: files are replaced in one
// step, so only a crash of the host damages one, and that ended the process too.
func parsePIDRecord(data []byte) (record pidRecord, ok bool) {
	err := json.Unmarshal(data, &record)
	return record, err == nil && record.PID > 0
}

func (p *process) alive() bool {
	identity, running := identify(p.handle.Pid)
	return running && identity == p.identity
}

// stop asks the process to end, then makes it.
func (p *process) stop() error {
	for _, step := range []struct {
		signal  os.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, stopTimeout}, {syscall.SIGKILL, killTimeout}} {
		if !p.alive() {
			return nil
		}
		if err := p.handle.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stopping %s (pid %d): %w", p.name, p.handle.Pid, err)
		}
		if p.gone(step.timeout) {
			return nil
		}
	}
	return fmt.Errorf("%s (pid %d) does not end", p.name, p.handle.Pid)
}

func (p *process) gone(timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for p.alive() {
		if !sleep(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}
