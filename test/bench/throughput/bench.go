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

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	benchNamespace = "bench"
	attemptTimeout = 30 * time.Second
	// patience is how long the bench waits for the next Delegation to get further.
	patience = time.Minute
	// warmUp are Delegations before the first round, for connections and caches.
	warmUp = 20
	// eventsWithin is how long Events are waited for.
	eventsWithin = 20 * time.Second
)

// settings of a bench.
type settings struct {
	rounds, batch, writers, singles int
	// length of each measurement of the floor, and work that of a task.
	length, work time.Duration
	managerFlags string
}

func (s settings) validate() error {
	for name, n := range map[string]int{"rounds": s.rounds, "batch": s.batch, "writers": s.writers, "singles": s.singles} {
		if n < 1 {
			return fmt.Errorf("-%s: %d is too few, give 1 or more", name, n)
		}
	}
	if s.length <= 0 {
		return fmt.Errorf("-floor: %s is no time to measure in, give one such as 2s", s.length)
	}
	if s.work < 0 {
		return fmt.Errorf("-work: %s is before the message came, give 0s or more", s.work)
	}
	return nil
}

// bench is the operator at work, between a control plane and an agent, each a process of its own.
type bench struct {
	settings
	*plane
	agent   *lab.Agent
	manager *lab.Process
	floor   *floor
	// floorWriters is how many write most status updates.
	floorWriters int
}

// startBench starts all processes and waits until the operator has done something.
func startBench(ctx context.Context, s settings) (b *bench, err error) {
	b = &bench{settings: s}
	if b.plane, err = startPlane(ctx); err != nil {
		return nil, err
	}
	if err := b.begin(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) begin(ctx context.Context) (err error) {
	if b.agent, err = (agentOptions{work: b.work}).start(ctx); err != nil {
		return err
	}
	if b.floor, err = newFloor(ctx, b.plane, b.agent, b.length, b.writers); err != nil {
		return err
	}
	if b.floorWriters, err = b.floor.best(ctx); err != nil {
		return err
	}
	if err := createNamespace(ctx, b.client, benchNamespace); err != nil {
		return err
	}
	if err := createAgent(ctx, b.client, benchNamespace, b.agent.URL, v1alpha1.Contract{}, attemptTimeout); err != nil {
		return err
	}
	flags := append([]string{"--namespaces", benchNamespace}, strings.Fields(b.managerFlags)...)
	if b.manager, err = lab.StartManager(ctx, b.config, b.dir, flags...); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "manager %d, API server %d, etcd %d, agent %d\n", b.manager.PID(), b.apiServerPID, b.etcdPID, b.agent.PID())
	_, err = b.batchOf(ctx, "warm", warmUp)
	return err
}

func (b *bench) close() error {
	var err error
	if b.manager != nil {
		err = b.manager.Stop()
	}
	if b.agent != nil {
		err = errors.Join(err, b.agent.Stop())
	}
	return errors.Join(err, b.plane.close())
}

// batch is what was measured while many Delegations went through.
type batch struct {
	n int
	// rate is Delegations in a second, from the first that was created to the last that was seen Completed.
	rate float64
	latencies
	cpu cpu
	// delegationWrites are the operator's to the Delegations, all writes at etcd without those that created them.
	delegationWrites, events, configMaps, otherWrites int64
	// stall is how late the bench was woken at the worst, and broken how often its watch had to be begun anew.
	stall  time.Duration
	broken int
}

// batchOf creates n Delegations as fast as it goes, and waits until all are Completed.
func (b *bench) batchOf(ctx context.Context, prefix string, n int) (batch, error) {
	w, err := newWitness(ctx, b.client, benchNamespace)
	if err != nil {
		return batch{}, err
	}
	defer w.stop()
	before, err := b.count(ctx, benchNamespace)
	if err != nil {
		return batch{}, err
	}
	used, err := b.used(b.manager, b.agent)
	if err != nil {
		return batch{}, err
	}
	stalls := lab.WatchStalls()
	begun := time.Now()
	err = w.fill(ctx, prefix, n, b.writers)
	if err == nil {
		err = w.wait(ctx, isCompleted, patience)
	}
	took := time.Since(begun)
	out := batch{n: n, rate: perSecond(n, took), stall: stalls.End()}
	if err != nil {
		return batch{}, b.explain(err)
	}
	now, err := b.used(b.manager, b.agent)
	if err != nil {
		return batch{}, err
	}
	out.cpu = now.since(used)
	all, err := w.sightings(ctx, b.agent)
	if err != nil {
		return batch{}, err
	}
	out.latencies, out.broken = measureLatencies(all), w.broken()
	return out, b.countWrites(ctx, &out, before)
}

// settled counts when the Events are there, which come late, by a queue of their own.
func (b *bench) settled(ctx context.Context) (tally, error) {
	for end := time.Now().Add(eventsWithin); ; {
		first, err := b.count(ctx, benchNamespace)
		if err != nil {
			return tally{}, err
		}
		if err := lab.Pause(ctx, time.Second); err != nil {
			return tally{}, err
		}
		second, err := b.count(ctx, benchNamespace)
		if err != nil || second.events == first.events || time.Now().After(end) {
			return second, err
		}
	}
}

// countWrites adds what was written since.
func (b *bench) countWrites(ctx context.Context, out *batch, before tally) error {
	after, err := b.settled(ctx)
	if err != nil {
		return err
	}
	created := int64(after.objects - before.objects)
	if created != int64(out.n) {
		return fmt.Errorf("etcd has %d Delegations more under %s%s/, want %d", created, lab.DelegationKeys, benchNamespace, out.n)
	}
	out.delegationWrites = after.delegations - before.delegations - created
	out.events, out.configMaps = after.events-before.events, after.configMaps-before.configMaps
	out.otherWrites = after.revision - before.revision - created - out.delegationWrites - out.events - out.configMaps
	return nil
}

// oneByOne creates Delegations on an idle system, each when the one before is Completed.
func (b *bench) oneByOne(ctx context.Context, prefix string, n int) (latencies, error) {
	w, err := newWitness(ctx, b.client, benchNamespace)
	if err != nil {
		return latencies{}, err
	}
	defer w.stop()
	for i := range n {
		if err := w.create(ctx, fmt.Sprintf("%s-%03d", prefix, i), time.Now()); err != nil {
			return latencies{}, err
		}
		if err := w.wait(ctx, isCompleted, patience); err != nil {
			return latencies{}, b.explain(err)
		}
	}
	all, err := w.sightings(ctx, b.agent)
	return measureLatencies(all), err
}

// explain adds the end of what the manager said.
func (b *bench) explain(err error) error {
	return fmt.Errorf("%w; the manager says: %s", err, tail(b.manager))
}

// tail is the end of what a process said.
func tail(p *lab.Process) string {
	const most = 4 << 10
	said := p.Output.String()
	return said[max(0, len(said)-most):]
}

// round is one measurement of the floor and one of the operator.
type round struct {
	level level
	batch batch
	// idle are the latencies of one Delegation at a time.
	idle latencies
	// peak is the most memory that the manager had until now, and duplicates the tasks beyond one for each message.
	peak   int64
	counts counts
}

func (b *bench) round(ctx context.Context, n int) (r round, err error) {
	if r.level, err = b.floor.measure(ctx, b.floorWriters); err != nil {
		return round{}, fmt.Errorf("the floor: %w", err)
	}
	if r.idle, err = b.oneByOne(ctx, fmt.Sprintf("single-%d", n), b.singles); err != nil {
		return round{}, fmt.Errorf("one at a time: %w", err)
	}
	if r.batch, err = b.batchOf(ctx, fmt.Sprintf("batch-%d", n), b.batch); err != nil {
		return round{}, fmt.Errorf("the batch: %w", err)
	}
	// Other work on the machine comes and goes: the floor counts as the mean of what it was before and after.
	again, err := b.floor.updates(ctx, b.floorWriters)
	if err != nil {
		return round{}, fmt.Errorf("the floor: %w", err)
	}
	r.level.updates = (r.level.updates + again.rate) / 2
	u, err := b.manager.Used()
	if err != nil {
		return round{}, err
	}
	r.peak = u.Peak
	return r, b.agent.Ask(ctx, countsPath, 0, &r.counts)
}

// run measures all rounds.
func (b *bench) run(ctx context.Context) ([]round, error) {
	var rounds []round
	for n := range b.rounds {
		r, err := b.round(ctx, n+1)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", n+1, err)
		}
		fmt.Fprintf(os.Stderr, "round %d: %.1f Delegations/s; the bench was woken %s late at the worst, and its watch broke %d times, which a busy machine adds to all times\n",
			n+1, r.batch.rate, r.batch.stall.Round(time.Millisecond), r.batch.broken)
		rounds = append(rounds, r)
	}
	return rounds, nil
}
