// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// startAttempts bounds how often other processes may take a chosen port first.
const startAttempts = 3

// Up makes sure that the control plane runs and that the kubeconfig points to
// it. One that runs is left alone; one of which only a part runs is stopped
// and started again with its data.
func Up(ctx context.Context, opts Options) error {
	o, err := opts.complete()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout,
		fmt.Errorf("the control plane was not up after %s", o.StartTimeout))
	defer cancel()
	release, err := o.lock(ctx)
	if err != nil {
		return err
	}
	defer release()

	names, err := o.required()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return err
	}
	up, err := o.alreadyUp(ctx, names)
	if err != nil || up {
		return err
	}
	if err := o.ensurePKI(); err != nil {
		return err
	}
	if err := o.startAll(ctx, names); err != nil {
		return err
	}
	o.announce("is up", names)
	return nil
}

// alreadyUp reports whether everything runs and answers. What runs otherwise
// is stopped.
func (o Options) alreadyUp(ctx context.Context, names []string) (bool, error) {
	running, err := o.running()
	if err != nil || len(running) == 0 {
		return false, err
	}
	p, err := o.loadPorts()
	if err == nil && len(running) >= len(names) && o.answers(ctx, apiServerReady(p)) {
		if err := o.writeKubeconfig(o.Kubeconfig, adminClient, p); err != nil {
			return false, err
		}
		o.announce("is already up", names)
		return true, nil
	}
	o.printf("only a part of the control plane runs: restarting it with its data")
	return false, o.stopAll()
}

func (o Options) answers(ctx context.Context, e endpoint) bool {
	client, err := o.httpClient(e)
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	return probe(ctx, client, e.url) == nil
}

func (o Options) startAll(ctx context.Context, names []string) error {
	for attempt := range startAttempts {
		p, err := o.choosePorts(ctx, attempt > 0)
		if err != nil {
			return err
		}
		err = o.startOnce(ctx, names, p)
		if err == nil {
			return nil
		}
		// Nothing half-started is left behind; data and logs stay for a look.
		if stopErr := o.stopAll(); stopErr != nil {
			return errors.Join(err, stopErr)
		}
		if ctx.Err() != nil || attempt == startAttempts-1 || !o.portTaken(names) {
			return err
		}
		o.printf("a port was taken by another process: trying others")
	}
	return nil
}

func (o Options) startOnce(ctx context.Context, names []string, p ports) error {
	if err := o.writeKubeconfig(o.controllerManagerKubeconfig(), controllerManager, p); err != nil {
		return err
	}
	var processes []*process
	for _, name := range names {
		o.printf("starting %s, log %s", name, o.logFile(name))
		started, err := o.start(o.component(name, p))
		if err != nil {
			return err
		}
		processes = append(processes, started)
		what, ready := readiness(name, p)
		if err := o.wait(ctx, what, processes, ready); err != nil {
			return err
		}
	}
	return o.writeKubeconfig(o.Kubeconfig, adminClient, p)
}

// readiness says what shows that a component does its work.
func readiness(name string, p ports) (what string, ready endpoint) {
	switch name {
	case etcdName:
		return "etcd to be healthy", etcdHealth(p)
	case apiServerName:
		return "kube-apiserver to be ready", apiServerReady(p)
	default:
		return "the default ServiceAccount", defaultServiceAccount(p)
	}
}

func (o Options) portTaken(names []string) bool {
	for _, name := range names {
		log, err := os.ReadFile(o.logFile(name))
		if err == nil && bytes.Contains(log, []byte("address already in use")) {
			return true
		}
	}
	return false
}

func (o Options) announce(state string, names []string) {
	if len(names) < len(componentNames) {
		o.printf("no %s in %s: garbage collection and namespace deletion will not happen", controllerManagerName, o.Assets)
	}
	o.printf("the control plane %s: export KUBECONFIG=%s", state, o.Kubeconfig)
}

// Down stops what Up started and removes its state and kubeconfig.
func Down(ctx context.Context, opts Options) error {
	o, err := opts.complete()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := os.Stat(o.StateDir); errors.Is(err, fs.ErrNotExist) {
		o.printf("no control plane in %s", o.StateDir)
		return nil
	}
	release, err := o.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := o.stopAll(); err != nil {
		return err
	}
	if err := os.Remove(o.Kubeconfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(o.StateDir); err != nil {
		return err
	}
	o.printf("the control plane is down")
	return nil
}

func (o Options) running() ([]*process, error) {
	var running []*process
	for _, name := range componentNames {
		p, err := o.find(name)
		if err != nil {
			return nil, err
		}
		if p != nil {
			running = append(running, p)
		}
	}
	return running, nil
}

// stopAll ends the components in the reverse order of their start: each can
// still reach what it needs to end in good order.
func (o Options) stopAll() error {
	running, err := o.running()
	if err != nil {
		return err
	}
	for i := len(running) - 1; i >= 0; i-- {
		o.printf("stopping %s", running[i].name)
		if err := running[i].stop(); err != nil {
			return err
		}
	}
	for _, name := range componentNames {
		if err := os.Remove(o.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
