// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package play is the demo: what make demo does, and what the tests do to see that it works.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
)

// timeout bounds the whole demo. It takes a quarter of that on a machine that has nothing else to do.
const timeout = 3 * time.Minute

// Options say where the demo plays.
type Options struct {
	// Root of the repository.
	Root string
	// StateDir holds logs, pid files and the patched samples.
	StateDir string
	// Cluster is the control plane to use; it is started where it does not run.
	Cluster controlplane.Options
	// Out receives what a person sees.
	Out io.Writer
}

// demo is one run.
type demo struct {
	Options
	kubectl string
	// agent is the base URL of the agent.
	agent string
}

// Up plays the demo and leaves everything running. What is left of an earlier one is replaced.
func Up(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the demo took longer than %s", timeout))
	defer cancel()
	d, err := prepare(o)
	if err != nil {
		return err
	}
	for _, scene := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"A control plane on this machine", d.startCluster},
		{"The three kinds", d.installCRDs},
		{"The operator, and a finance agent that will lose its first answer", d.startPrograms},
		{"One message to the agent: reconcile September 2026", d.delegate},
		{"The first answer was lost: what the operator did about it", d.showRecovery},
		{"The agent asks, and m-72 answers", d.answer},
		{"The agent's report", d.showReport},
		{"A message to a finished task, m-90, is never sent", d.askTooLate},
		{"A revision is a new task that refers to the first; all samples again, which sends nothing twice", d.revise},
		{"What the agent counted", d.showLedger},
	} {
		d.printf("\n=== %s\n", scene.title)
		if err := scene.play(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", err, cause)
			}
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	d.showAround()
	return nil
}

// Down stops what Up started and removes its files.
func Down(ctx context.Context, o Options) error {
	d, err := prepare(o)
	if err != nil {
		return err
	}
	if err := d.stopPrograms(); err != nil {
		return err
	}
	if err := os.RemoveAll(d.StateDir); err != nil {
		return err
	}
	return controlplane.Down(ctx, d.Cluster)
}

// prepare makes the paths absolute: programs that outlive this one have a working directory of their own.
func prepare(o Options) (*demo, error) {
	d := &demo{Options: o}
	d.Cluster.Out = d.Out
	if d.Cluster.Kubeconfig == "" {
		d.Cluster.Kubeconfig = filepath.Join(d.Cluster.StateDir, "kubeconfig")
	}
	for _, path := range []*string{&d.Root, &d.StateDir, &d.Cluster.Assets, &d.Cluster.Kubeconfig} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return nil, err
		}
		*path = abs
	}
	d.kubectl = filepath.Join(d.Cluster.Assets, "kubectl")
	return d, nil
}

func (d *demo) startCluster(ctx context.Context) error {
	if _, err := os.Stat(d.kubectl); err != nil {
		return fmt.Errorf("%w: run `make localcluster`, or set KUBEBUILDER_ASSETS to a directory that has it", err)
	}
	return controlplane.Up(ctx, d.Cluster)
}

func (d *demo) installCRDs(ctx context.Context) error {
	if err := d.run(ctx, "apply", "--server-side", "-k", d.short(filepath.Join(d.Root, "config", "crd"))); err != nil {
		return err
	}
	return d.run(ctx, "wait", "crd", "--for=condition=Established", "--timeout=30s",
		"delegations.a2a.delegation.dev", "remoteagents.a2a.delegation.dev", "delegationschedules.a2a.delegation.dev")
}

func (d *demo) showAround() {
	d.printf(`
=== Everything still runs. Look around:

  export KUBECONFIG=%s PATH=%s:%s:$PATH
  kubectl get delegations,remoteagents -o wide
  kubectl describe delegation %s
  kubectl explain delegation.spec.messageId
  curl %s/admin/ledger

Logs: %s
The end: make demo-down
`, d.fromAnywhere(d.Cluster.Kubeconfig), d.fromAnywhere(filepath.Join(d.Root, "bin")), d.fromAnywhere(d.Cluster.Assets), firstDelegation, d.agent, d.short(filepath.Join(d.StateDir, "*.log")))
}

// short is a path as a person would type it: relative to the working directory where it is below that.
func (d *demo) short(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// fromAnywhere is a path that stays right when the working directory changes.
func (d *demo) fromAnywhere(path string) string {
	if path = d.short(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join("$PWD", path)
}

func (d *demo) printf(format string, args ...any) {
	// What a person sees; losing a line of it must not fail the work.
	_, _ = fmt.Fprintf(d.Out, format, args...)
}
