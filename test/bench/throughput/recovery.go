// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// recovery kills the manager while many messages are out.
type recovery struct {
	*plane
	n, writers     int
	attemptTimeout time.Duration
}

// promise is a contract under which a message of open outcome is not given up.
type promise struct {
	name     string
	contract v1alpha1.Contract
	agent    agentOptions
}

func promises() []promise {
	settle := metav1.Duration{Duration: time.Second}
	lookup := func(mode v1alpha1.LookupMode) v1alpha1.Contract {
		return v1alpha1.Contract{TaskLookup: v1alpha1.TaskLookup{Mode: mode, Settle: settle}}
	}
	replay := lookup(v1alpha1.LookupNone)
	replay.Deduplication = &v1alpha1.Deduplication{Mode: v1alpha1.DeduplicationMessageID, Retention: metav1.Duration{Duration: 72 * time.Hour}}
	return []promise{
		{"deduplication", replay, agentOptions{holds: true, deduplicates: true}},
		{"authoritative", lookup(v1alpha1.LookupAuthoritative), agentOptions{holds: true}},
		{"best-effort", lookup(v1alpha1.LookupBestEffort), agentOptions{holds: true}},
	}
}

func runRecovery(ctx context.Context, args []string) (err error) {
	r := &recovery{}
	if err := parse("recovery", args, func(f *flag.FlagSet) {
		f.IntVar(&r.n, "n", 1000, "Delegations in flight, up to 1000")
		f.IntVar(&r.writers, "writers", 32, "how many create them at once")
		f.DurationVar(&r.attemptTimeout, "attempt-timeout", 30*time.Second, "attemptTimeout of the RemoteAgent")
	}); err != nil {
		return err
	}
	if r.n < 2 || r.n > maxInFlight {
		return fmt.Errorf("-n: %d is not from 2 to %d, which is the most that is out to one agent", r.n, maxInFlight)
	}
	if r.writers < 1 {
		return fmt.Errorf("-writers: %d is too few, give 1 or more", r.writers)
	}
	if r.plane, err = startPlane(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	columns := []string{
		"contract", "journalled at the kill", "at the agent", "half bound after, s", "all settled after, s",
		"sends", "copies", "second tasks", "Unknown",
	}
	fmt.Printf("%d Delegations, attemptTimeout %s, settle 1s\n\n%s\n%s\n", r.n, r.attemptTimeout, row(columns), "|---|"+strings.Repeat("--:|", len(columns)-1))
	for _, p := range promises() {
		out, err := r.play(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Println(out.row(p.name))
		if out.Tasks != out.Messages {
			return fmt.Errorf("%s: %w: %d tasks of %d messages", p.name, errSecondTask, out.Tasks, out.Messages)
		}
	}
	return nil
}

var errSecondTask = errors.New("the agent made a second task of a message")

// recovered is what became of the Delegations.
type recovered struct {
	// journalled messages had the right to go when the manager was killed, and arrived ones were at the agent.
	journalled, arrived int
	// half and all are how long after the restart so many were bound, and all bound or Unknown.
	half, all time.Duration
	unknown   int
	counts
}

func (r recovered) row(name string) string {
	cells := []string{name, fmt.Sprint(r.journalled), fmt.Sprint(r.arrived), fmt.Sprintf("%.1f", r.half.Seconds()), fmt.Sprintf("%.1f", r.all.Seconds())}
	for _, n := range []int{r.Sends, r.Sends - r.Messages, r.Tasks - r.Messages, r.unknown} {
		cells = append(cells, fmt.Sprint(n))
	}
	return row(cells)
}

// play kills a manager once half of the messages are at the agent, which keeps the answers, and starts another.
func (r *recovery) play(ctx context.Context, p promise) (out recovered, err error) {
	namespace := "bench-" + p.name
	a, err := p.agent.start(ctx)
	if err != nil {
		return recovered{}, err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	if err := errors.Join(createNamespace(ctx, r.client, namespace), createAgent(ctx, r.client, namespace, a.URL, p.contract, r.attemptTimeout)); err != nil {
		return recovered{}, err
	}
	w, err := newWitness(ctx, r.client, namespace)
	if err != nil {
		return recovered{}, err
	}
	defer w.stop()
	if out, err = r.interrupt(ctx, w, a, namespace); err != nil {
		return recovered{}, err
	}
	manager, err := lab.StartManager(ctx, r.config, r.dir, "--namespaces", namespace)
	if err != nil {
		return recovered{}, err
	}
	restarted := time.Now()
	defer func() { err = errors.Join(err, manager.Stop()) }()
	// What is out when an attempt's deadline is not known to have passed may not be looked up for good before.
	if err := w.wait(ctx, isSettled, patience+r.attemptTimeout); err != nil {
		return recovered{}, fmt.Errorf("%w; the manager says: %s", err, tail(manager))
	}
	all, err := w.sightings(ctx, a)
	if err != nil {
		return recovered{}, err
	}
	out.add(all, restarted)
	return out, a.Ask(ctx, countsPath, 0, &out.counts)
}

// interrupt starts a manager and kills it.
func (r *recovery) interrupt(ctx context.Context, w *witness, a *lab.Agent, namespace string) (recovered, error) {
	manager, err := lab.StartManager(ctx, r.config, r.dir, "--namespaces", namespace)
	if err != nil {
		return recovered{}, err
	}
	filled := make(chan error, 1)
	go func() { filled <- w.fill(ctx, "flight", r.n, r.writers) }()
	var now counts
	for end := time.Now().Add(patience); now.Holding < r.n/2; {
		if err := errors.Join(lab.Pause(ctx, 10*time.Millisecond), a.Ask(ctx, countsPath, 0, &now)); err != nil {
			return recovered{}, errors.Join(err, manager.Stop())
		}
		if time.Now().After(end) {
			return recovered{}, errors.Join(fmt.Errorf("the agent holds %d answers after %s; the manager says: %s", now.Holding, patience, tail(manager)), manager.Stop())
		}
	}
	// Stop is kill -9.
	if err := errors.Join(manager.Stop(), <-filled); err != nil {
		return recovered{}, err
	}
	if err := a.Ask(ctx, countsPath, 0, &now); err != nil {
		return recovered{}, err
	}
	out := recovered{arrived: now.Messages}
	if out.journalled, err = r.journalled(ctx, namespace); err != nil {
		return recovered{}, err
	}
	var nothing any
	return out, a.Ask(ctx, releasePath, 1, &nothing)
}

// journalled counts the Delegations that have a messageId, which comes with the journal of the first attempt.
func (r *recovery) journalled(ctx context.Context, namespace string) (int, error) {
	list := &v1alpha1.DelegationList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, err
	}
	n := 0
	for _, d := range list.Items {
		if d.Spec.MessageID != "" {
			n++
		}
	}
	return n, nil
}

// add counts what became of the Delegations.
func (r *recovered) add(all []sighting, restarted time.Time) {
	var bound []time.Duration
	for _, s := range all {
		if s.phase == v1alpha1.PhaseUnknown {
			r.unknown++
			r.all = max(r.all, s.changed.Sub(restarted))
			continue
		}
		bound = append(bound, s.bound.Sub(restarted))
	}
	r.half = quantile(bound, 0.5)
	r.all = max(r.all, quantile(bound, 1))
}
