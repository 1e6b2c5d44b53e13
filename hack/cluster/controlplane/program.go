// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Program is one that runs in the background beside a control plane, such as
// the operator in the demo. Its log and pid file are in the state directory.
type Program struct {
	Name string
	Path string
	Args []string
}

// StartProgram starts a program and returns. It outlives the caller, unless
// the options say otherwise.
func StartProgram(opts Options, p Program) error {
	o, err := opts.complete()
	if err != nil {
		return err
	}
	if p.Path, err = filepath.Abs(p.Path); err != nil {
		return err
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return err
	}
	_, err = o.start(component{name: p.Name, path: p.Path, args: p.Args})
	return err
}

// CheckProgram returns an error that shows the end of the log of a program
// that has ended.
func CheckProgram(opts Options, name string) error {
	o, err := opts.complete()
	if err != nil {
		return err
	}
	p, err := o.find(name)
	if err != nil || p != nil {
		return err
	}
	return o.explain(name, fmt.Errorf("%s has ended", name))
}

// StopProgram stops a program that StartProgram started, and no other that has
// its pid by now. One that does not run is stopped.
func StopProgram(opts Options, name string) error {
	o, err := opts.complete()
	if err != nil {
		return err
	}
	p, err := o.find(name)
	if err != nil {
		return err
	}
	if p != nil {
		o.printf("stopping %s", name)
		if err := p.stop(); err != nil {
			return err
		}
	}
	if err := os.Remove(o.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
