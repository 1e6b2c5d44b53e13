// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a local Kubernetes control plane: etcd,
// kube-apiserver and kube-controller-manager as background processes on
// loopback, with RBAC and certificates of their own. It needs no root, no
// container engine and no network.
package controlplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const defaultStartTimeout = 2 * time.Minute

// Options say where the control plane lives. Two control planes with different
// state directories run side by side.
type Options struct {
	// StateDir holds etcd's data, certificates, logs and pid files.
	StateDir string
	// Assets is the directory of the binaries.
	Assets string
	// Kubeconfig is the file written for clients; StateDir/kubeconfig when empty.
	Kubeconfig string
	// UnsafeNoFsync makes etcd faster and its data worth nothing after a crash of the host.
	UnsafeNoFsync bool
	// ExitWithCaller ends the control plane when the process that called Up
	// ends, however it ends: for tests. Binaries from elsewhere ignore it.
	ExitWithCaller bool
	// StartTimeout bounds the whole of Up; two minutes when zero.
	StartTimeout time.Duration
	// Out receives progress; discarded when nil.
	Out io.Writer
}

func (o Options) complete() (Options, error) {
	if o.StateDir == "" {
		return o, errors.New("no state directory given")
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = filepath.Join(o.StateDir, "kubeconfig")
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultStartTimeout
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	for _, dir := range []*string{&o.StateDir, &o.Assets, &o.Kubeconfig} {
		// The processes outlive this one and its working directory.
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return o, fmt.Errorf("resolving %q: %w", *dir, err)
		}
		*dir = abs
	}
	return o, nil
}

// binary returns the path of a program in Assets, and whether it is there.
func (o Options) binary(name string) (string, bool) {
	path := filepath.Join(o.Assets, name)
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir()
}

func (o Options) printf(format string, args ...any) {
	// Progress is for a person; losing a line of it must not fail the work.
	_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
}

func (o Options) file(elem ...string) string {
	return filepath.Join(append([]string{o.StateDir}, elem...)...)
}

func (o Options) pidFile(name string) string { return o.file(name + ".pid") }
func (o Options) logFile(name string) string { return o.file(name + ".log") }
func (o Options) pki(name string) string     { return o.file("pki", name) }
