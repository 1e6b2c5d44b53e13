// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// sizes prints the size of a Delegation after each of its writes, which etcd has until it compacts.
func (b *bench) sizes(ctx context.Context) error {
	ra := &v1alpha1.RemoteAgent{}
	ra.Namespace, ra.Name = namespace, lab.AgentName
	// Else the Delegation would have one more write, which says that it waits for its agent.
	if err := b.await(ctx, ra, func() bool { return meta.IsStatusConditionTrue(ra.Status.Conditions, v1alpha1.ConditionReady) }); err != nil {
		return err
	}
	before, err := b.etcd.Count(ctx, lab.EventKeys)
	if err != nil {
		return err
	}
	if err := b.load.Create(ctx, 0); err != nil {
		return err
	}
	d := &v1alpha1.Delegation{}
	d.Namespace, d.Name = namespace, "d-000000"
	if err := b.await(ctx, d, func() bool { return d.Status.Phase.Finished() }); err != nil {
		return err
	}
	versions, err := b.etcd.Versions(ctx, lab.DelegationKeys+namespace+"/"+d.Name)
	if err != nil {
		return err
	}
	fmt.Printf("| write | phase | journal | managedFields | bytes in etcd |\n|--:|---|--:|--:|--:|\n")
	for i, value := range versions {
		var v v1alpha1.Delegation
		if err := json.Unmarshal(value, &v); err != nil {
			return err
		}
		managed, err := json.Marshal(v.ManagedFields)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %s | %d | %d | %d |\n", i+1, v.Status.Phase, len(v.Annotations[v1alpha1.AttemptAnnotation]), len(managed), len(value))
	}
	after, err := b.etcd.Count(ctx, lab.EventKeys)
	fmt.Printf("\n%d Events of it\n\n", after-before)
	return err
}

// await reads an object until it is as wanted.
func (b *bench) await(ctx context.Context, o client.Object, wanted func() bool) error {
	for end := time.Now().Add(time.Minute); ; {
		if err := b.load.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil || wanted() {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%T %s is not as wanted after a minute; the manager says: %s", o, o.GetName(), b.manager.Output.String())
		}
		if err := lab.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// sample is what etcd held at a time.
type sample struct {
	lab.Size
	delegations int64
	at          time.Duration
}

// grow makes Delegations at the rate and looks at etcd meanwhile.
func (b *bench) grow(ctx context.Context) error {
	loading, cancel := context.WithTimeout(ctx, b.length)
	defer cancel()
	type made struct {
		n   int
		err error
	}
	done := make(chan made, 1)
	begun := time.Now()
	go func() {
		n, err := b.load.Steady(loading, b.rate, 1)
		done <- made{n, err}
	}()
	fmt.Printf("%d Delegations a second, kept for %s, a compaction every %s; warm-up %s\n\n", b.rate, b.ttl, b.compaction, b.warmUp())
	fmt.Printf("| time | Delegations | Events | db | in use | revisions |\n|--:|--:|--:|--:|--:|--:|\n")
	var samples []sample
	for loading.Err() == nil {
		if lab.Pause(loading, interval) != nil {
			break // the time is over
		}
		s, err := b.look(ctx, time.Since(begun))
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	end := <-done
	if end.err != nil {
		return end.err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var tallies lab.Tallies
	if err := b.agent.Ask(ctx, lab.TalliesPath, 0, &tallies); err != nil {
		return err
	}
	fmt.Printf("\n%d Delegations made, %.1f a second; the agent had %d messages, %d of them once more\n",
		end.n, float64(end.n)/time.Since(begun).Seconds(), tallies.Messages, tallies.Copies)
	return errors.Join(b.judge(samples), unique(tallies))
}

func (b *bench) look(ctx context.Context, at time.Duration) (sample, error) {
	size, err := b.etcd.Size(ctx)
	if err != nil {
		return sample{}, err
	}
	delegations, err := b.etcd.Count(ctx, lab.DelegationKeys)
	if err != nil {
		return sample{}, err
	}
	events, err := b.etcd.Count(ctx, lab.EventKeys)
	if err != nil {
		return sample{}, err
	}
	const mib = 1 << 20
	fmt.Printf("| %.0f s | %d | %d | %.1f MiB | %.1f MiB | %d |\n", at.Seconds(), delegations, events,
		float64(size.DB)/mib, float64(size.InUse)/mib, size.Revision)
	return sample{size, delegations, at}, nil
}

// judge compares the most that there was in the two halves after the warm-up: of Delegations, without which etcd's size would
// show nothing, and of what is in use.
func (b *bench) judge(samples []sample) error {
	for len(samples) > 0 && samples[0].at < b.warmUp() {
		samples = samples[1:]
	}
	fmt.Println("after the warm-up, the most in the last half for the most in the first:")
	return errors.Join(
		compare("Delegations", samples, func(s sample) int64 { return s.delegations }, "the operator does not keep pace: give a lower -rate"),
		compare("bytes in use", samples, func(s sample) int64 { return s.InUse }, "what is in use grows"))
}

func compare(what string, samples []sample, of func(sample) int64, remedy string) error {
	most := func(samples []sample) (n int64) {
		for _, s := range samples {
			n = max(n, of(s))
		}
		return n
	}
	first, last := most(samples[:len(samples)/2]), most(samples[len(samples)/2:])
	factor := float64(last) / float64(first)
	verdict := "reached"
	if factor > allowed {
		verdict = "not reached"
	}
	fmt.Printf("- %s: %.2f, at most %.1f: %s\n", what, factor, allowed, verdict)
	if factor > allowed {
		return fmt.Errorf("%d %s after %d: %s", last, what, first, remedy)
	}
	return nil
}

func unique(t lab.Tallies) error {
	if t.Copies > 0 {
		return fmt.Errorf("%d messages came more than once", t.Copies)
	}
	return nil
}
