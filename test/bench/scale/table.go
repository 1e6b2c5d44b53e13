// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// table measures with each number of finished Delegations and prints a row for it.
func (b *bench) table(ctx context.Context, counts []int, heap string) error {
	finished, base, err := b.finishOne(ctx)
	if err != nil {
		return fmt.Errorf("a manager without Delegations: %w", err)
	}
	active, err := b.createTemplate(ctx, promptAgent)
	if err != nil {
		return err
	}
	fmt.Printf("%d active, a finished one has %d bytes in etcd; without any the manager's live heap is %s, its RSS %s\n\n",
		activeCount, len(finished.text), mib(base.live), mib(base.rss))
	columns := []string{
		"finished", "first send after", "all active bound after", "manager CPU until then", "live heap", "of it each", "RSS", "of it each", "peak RSS",
		fmt.Sprintf("writes in %s", quietWindow), "calls to the agent",
	}
	fmt.Println("| " + strings.Join(columns, " | ") + " |")
	fmt.Println(strings.Repeat("|--:", len(columns)) + "|")
	there := 0
	for _, n := range counts {
		if _, err := finished.fill(ctx, b.etcd, finishedName, there, n); err != nil {
			return err
		}
		there = n
		if err := b.row(ctx, n, active, base, heap); err != nil {
			return fmt.Errorf("%d finished: %w", n, err)
		}
		// What was active goes: the next number has its own.
		if err := b.remove(ctx, lab.DelegationKeys+activeNamespace+"/"); err != nil {
			return err
		}
	}
	return nil
}

// finishOne measures the manager with nothing to do, and then has it finish one Delegation, which is the template.
func (b *bench) finishOne(ctx context.Context) (t *template, base memory, err error) {
	o, err := b.start(ctx)
	if err != nil {
		return nil, memory{}, err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := lab.Pause(ctx, quietWindow); err != nil {
		return nil, memory{}, err
	}
	if base, err = o.memory(ctx); err != nil {
		return nil, memory{}, err
	}
	d := newDelegation(finishedNamespace, templateName, promptAgent)
	if err := b.client.Create(ctx, d); err != nil {
		return nil, memory{}, err
	}
	for end := time.Now().Add(time.Minute); d.Status.Phase != v1alpha1.PhaseCompleted; {
		if time.Now().After(end) {
			return nil, memory{}, fmt.Errorf("the phase is %q after a minute: %s", d.Status.Phase, o.Output.String())
		}
		if err := errors.Join(pause(ctx), b.client.Get(ctx, client.ObjectKeyFromObject(d), d)); err != nil {
			return nil, memory{}, err
		}
	}
	t, err = readTemplate(ctx, b.etcd, d)
	return t, base, err
}

// row measures with n finished.
func (b *bench) row(ctx context.Context, n int, active *template, base memory, heap string) (err error) {
	revision, err := active.fill(ctx, b.etcd, activeName, 0, activeCount)
	if err != nil {
		return err
	}
	if err := b.caughtUp(ctx, revision); err != nil {
		return err
	}
	w, err := b.witness(ctx)
	if err != nil {
		return err
	}
	defer w.watch.Stop()
	if err := b.agent.Ask(ctx, receiptsPath, 0, &receipts{}); err != nil {
		return err
	}
	stalls := lab.WatchStalls()
	o, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	bound, err := w.done(ctx, activeCount, boundWithin)
	fmt.Fprintf(os.Stderr, "%d finished: this process was woken %s late at the worst, which a busy machine adds to all times\n", n, stalls.End().Round(time.Millisecond))
	if err != nil {
		return fmt.Errorf("%w; the manager says: %s", err, tail(o.Output.String()))
	}
	used, err := o.Used()
	if err != nil {
		return err
	}
	var got receipts
	if err := b.agent.Ask(ctx, receiptsPath, 0, &got); err != nil {
		return err
	}
	q, err := b.quiet(ctx, o)
	if err != nil {
		return err
	}
	if heap != "" {
		profile, err := o.profile(ctx, "heap?gc=1")
		if err := errors.Join(err, os.WriteFile(heap, profile, 0o600)); err != nil {
			return err
		}
	}
	all := int64(n + activeCount)
	fmt.Printf("| %d | %.1f s | %.1f s | %.1f s | %s | %d B | %s | %d B | %s | %d | %d |\n", n, first(got).Sub(o.started).Seconds(), bound.Sub(o.started).Seconds(),
		used.CPU.Seconds(), mib(q.held.live), (q.held.live-base.live)/all, mib(q.held.rss), (q.held.rss-base.rss)/all, mib(q.held.peak), q.writes, q.calls)
	return nil
}

// quiet is what the manager does while there is nothing to do.
type quiet struct {
	writes, calls int
	held          memory
}

func (b *bench) quiet(ctx context.Context, o *operator) (quiet, error) {
	if err := lab.Pause(ctx, settleWindow); err != nil {
		return quiet{}, err
	}
	count := func() (writes, calls int, err error) {
		writes, err = b.writes(ctx)
		return writes, calls, errors.Join(err, b.agent.Ask(ctx, callsPath, 0, &calls))
	}
	writes, calls, err := count()
	if err != nil {
		return quiet{}, err
	}
	if err := lab.Pause(ctx, quietWindow); err != nil {
		return quiet{}, err
	}
	q := quiet{}
	if q.writes, q.calls, err = count(); err != nil {
		return quiet{}, err
	}
	q.writes, q.calls = q.writes-writes, q.calls-calls
	q.held, err = o.memory(ctx)
	return q, err
}

func activeName(i int) string { return fmt.Sprintf("active-%05d", i) }

func first(got receipts) time.Time {
	var earliest time.Time
	for _, at := range got {
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// tail is the end of what a process wrote.
func tail(s string) string { return s[max(0, len(s)-2000):] }
