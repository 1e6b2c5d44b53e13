// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	queuedCount = 5000
	// creators write them at once; then the probes begin.
	creators = 16
	// probes are created one after the other, as users do, and each is timed.
	probes       = 400
	probeEvery   = 250 * time.Millisecond
	receiptsWait = 30 * time.Second
)

// starve measures the time from the creation of a Delegation to its receipt by one agent, alone and beside another's queue.
func (b *bench) starve(ctx context.Context) (err error) {
	o, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := lab.Pause(ctx, settleWindow); err != nil {
		return err
	}
	alone, _, err := b.probe(ctx, o, "alone")
	if err != nil {
		return err
	}
	w, err := b.witness(ctx)
	if err != nil {
		return err
	}
	defer w.watch.Stop()
	begun := time.Now()
	if err := lab.Each(ctx, creators, 0, queuedCount, func(ctx context.Context, i int) error {
		return b.client.Create(ctx, newDelegation(activeNamespace, fmt.Sprintf("queued-%05d", i), slowAgent))
	}); err != nil {
		return err
	}
	created := time.Since(begun)
	beside, sampled, err := b.probe(ctx, o, "beside")
	if err != nil {
		return err
	}
	last, err := w.done(ctx, queuedCount+probes, boundWithin)
	if err != nil {
		return err
	}
	held, err := o.memory(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d Delegations, created in %.0f s, at an agent that takes %s, %d at once: all bound after %.0f s, of which %.0f s are the agent's\n",
		queuedCount, created.Seconds(), slowAnswer, slowInFlight, last.Sub(begun).Seconds(), float64(queuedCount)/slowInFlight*slowAnswer.Seconds())
	fmt.Printf("RSS every %s meanwhile, MiB: %s; at the end %s, peak %s\n\n", probeEvery*probes/10, strings.Join(sampled, " "), mib(held.rss), mib(held.peak))
	fmt.Println("| create to receipt at the other agent | median | 90 % | 99 % | longest |")
	fmt.Println("|:--|--:|--:|--:|--:|")
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{"alone", alone}, {"beside the queue", beside}} {
		fmt.Printf("| %s ", row.name)
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			fmt.Printf("| %d ms ", row.times[max(0, int(q*float64(len(row.times)))-1)].Milliseconds())
		}
		fmt.Println("|")
	}
	return nil
}

// probe creates Delegations at the prompt agent, and returns the times to their receipt, sorted, and the manager's RSS.
func (b *bench) probe(ctx context.Context, o *operator, prefix string) (times []time.Duration, sampled []string, err error) {
	if err := b.agent.Ask(ctx, receiptsPath, 0, &receipts{}); err != nil {
		return nil, nil, err
	}
	created, got := map[string]time.Time{}, receipts{}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for i := range probes {
		d := newDelegation(activeNamespace, fmt.Sprintf("%s-%03d", prefix, i), promptAgent)
		created[*d.Spec.Message.Parts[0].Text] = time.Now()
		if err := b.client.Create(ctx, d); err != nil {
			return nil, nil, err
		}
		if i%(probes/10) == 0 {
			used, err := o.Used()
			if err != nil {
				return nil, nil, err
			}
			sampled = append(sampled, fmt.Sprintf("%d", used.Memory>>20))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	for end := time.Now().Add(receiptsWait); len(times) < probes; {
		if time.Now().After(end) {
			return nil, nil, fmt.Errorf("%d of %d came to the agent; the manager says: %s", len(times), probes, tail(o.Output.String()))
		}
		if err := errors.Join(pause(ctx), b.agent.Ask(ctx, receiptsPath, 0, &got)); err != nil {
			return nil, nil, err
		}
		for text, at := range got {
			if begun, ours := created[text]; ours {
				times = append(times, at.Sub(begun))
				delete(created, text)
			}
		}
		clear(got)
	}
	slices.Sort(times)
	return times, sampled, nil
}
