// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	// blockSize is how much is appended before each sync.
	blockSize = 4 << 10
	// valueSize is that of the values that are put into etcd.
	valueSize = 2 << 10
	// manyClients put into etcd at once.
	manyClients = 16
	putKeys     = "/bench/"
)

// timed is what several workers did in a time.
type timed struct {
	rate  float64
	times []time.Duration
}

// repeat has workers do something over and over for a time. It ends with the first error.
func repeat(ctx context.Context, workers int, d time.Duration, do func(ctx context.Context, worker int) error) (timed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var busy sync.WaitGroup
	var all []time.Duration
	begun := time.Now()
	for worker := range workers {
		busy.Go(func() {
			var times []time.Duration
			for time.Since(begun) < d && ctx.Err() == nil {
				start := time.Now()
				if err := do(ctx, worker); err != nil {
					cancel(err)
					return
				}
				times = append(times, time.Since(start))
			}
			mu.Lock()
			all = append(all, times...)
			mu.Unlock()
		})
	}
	busy.Wait()
	return timed{perSecond(len(all), time.Since(begun)), all}, context.Cause(ctx)
}

// floor measures what the machine gives to any operator.
type floor struct {
	plane *plane
	agent *lab.Agent
	// length of each measurement.
	length time.Duration
	// objects are Delegations that nobody watches, one for each writer.
	objects []*v1alpha1.Delegation
}

// newFloor makes Delegations for up to so many writers.
func newFloor(ctx context.Context, p *plane, a *lab.Agent, length time.Duration, writers int) (*floor, error) {
	f := &floor{plane: p, agent: a, length: length}
	if err := createNamespace(ctx, p.client, floorNamespace); err != nil {
		return nil, err
	}
	for i := range writers {
		d := newDelegation(floorNamespace, fmt.Sprintf("floor-%02d", i))
		d.Finalizers = []string{v1alpha1.DeliveryFinalizer}
		d.Spec.MessageID, d.Spec.ContextID = fmt.Sprintf("m-%05d", i), fmt.Sprintf("c-%05d", i)
		if err := p.client.Create(ctx, d); err != nil {
			return nil, err
		}
		d.Status = boundStatus(d.Generation)
		f.objects = append(f.objects, d)
	}
	return f, nil
}

// syncs measures appends with fdatasync where etcd has its data.
func (f *floor) syncs(ctx context.Context) (t timed, err error) {
	file, err := os.CreateTemp(filepath.Dir(f.plane.data), "bench-sync-")
	if err != nil {
		return timed{}, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, blockSize)
	return repeat(ctx, 1, f.length, func(context.Context, int) error {
		if _, err := file.Write(block); err != nil {
			return err
		}
		return datasync(file)
	})
}

// puts measures what etcd takes from so many clients, each with a connection of its own.
func (f *floor) puts(ctx context.Context, n int) (t timed, err error) {
	var clients []lab.Etcd
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
	}()
	for range n {
		c, err := lab.Connect(ctx, f.plane.url)
		if err != nil {
			return timed{}, err
		}
		clients = append(clients, c)
	}
	value := strings.Repeat("x", valueSize)
	return repeat(ctx, n, f.length, func(ctx context.Context, worker int) error {
		_, err := clients[worker].Put(ctx, fmt.Sprintf("%s%d", putKeys, worker), value)
		return err
	})
}

// updates measures status updates by so many writers, each of which has an object of its own and watches nothing.
func (f *floor) updates(ctx context.Context, writers int) (timed, error) {
	return repeat(ctx, writers, f.length, func(ctx context.Context, worker int) error {
		d := f.objects[worker]
		now := metav1.NowMicro()
		d.Status.StateTimestamp = &now
		return f.plane.client.Status().Update(ctx, d)
	})
}

// posts measures calls to the agent, one after the other, that it answers at once.
func (f *floor) posts(ctx context.Context) (timed, error) {
	return repeat(ctx, 1, f.length, func(ctx context.Context, _ int) error {
		var nothing any
		return f.agent.Ask(ctx, echoPath, 1, &nothing)
	})
}

// best tries numbers of writers up to what there are objects for, each twice, and returns that which wrote most.
func (f *floor) best(ctx context.Context) (int, error) {
	written := map[int]float64{}
	best := min(4, len(f.objects))
	for range 2 {
		for n := best; n <= len(f.objects); n *= 2 {
			t, err := f.updates(ctx, n)
			if err != nil {
				return 0, err
			}
			written[n] += t.rate
		}
	}
	for n, rate := range written {
		if rate > written[best] {
			best = n
		}
	}
	return best, nil
}

// level is the floor in one round.
type level struct {
	updates, syncs, puts float64
	// write and post are the medians of one status update and one call to the agent.
	write, post time.Duration
	// cpu is what API server and etcd used for one update.
	cpu time.Duration
}

// measure takes the floor, with so many writers at once.
func (f *floor) measure(ctx context.Context, writers int) (level, error) {
	before, err := f.serversCPU()
	if err != nil {
		return level{}, err
	}
	updates, err := f.updates(ctx, writers)
	if err != nil {
		return level{}, err
	}
	after, err := f.serversCPU()
	if err != nil {
		return level{}, err
	}
	syncs, err := f.syncs(ctx)
	if err != nil {
		return level{}, err
	}
	puts, err := f.puts(ctx, manyClients)
	if err != nil {
		return level{}, err
	}
	write, err := f.updates(ctx, 1)
	if err != nil {
		return level{}, err
	}
	post, err := f.posts(ctx)
	if err != nil {
		return level{}, err
	}
	return level{
		updates: updates.rate, syncs: syncs.rate, puts: puts.rate, write: quantile(write.times, 0.5), post: quantile(post.times, 0.5),
		cpu: (after - before) / time.Duration(max(len(updates.times), 1)),
	}, nil
}

func (f *floor) serversCPU() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range []int{f.plane.apiServerPID, f.plane.etcdPID} {
		u, err := lab.UsedBy(pid)
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}

// print measures each part and writes a row for it.
func (f *floor) print(ctx context.Context, out io.Writer) error {
	parts := []struct {
		title string
		do    func() (timed, error)
	}{
		{"append of 4 KiB and fdatasync", func() (timed, error) { return f.syncs(ctx) }},
		{"etcd put of 2 KiB, 1 client", func() (timed, error) { return f.puts(ctx, 1) }},
		{"etcd put of 2 KiB, 16 clients", func() (timed, error) { return f.puts(ctx, manyClients) }},
		{"status update, 1 writer", func() (timed, error) { return f.updates(ctx, 1) }},
		{"status update, 16 writers", func() (timed, error) { return f.updates(ctx, manyClients) }},
		{"POST on loopback, 1 caller", func() (timed, error) { return f.posts(ctx) }},
	}
	lines := []string{row([]string{"", "per second", "p50, ms", "p99, ms"}), "|---|--:|--:|--:|"}
	for _, p := range parts {
		t, err := p.do()
		if err != nil {
			return fmt.Errorf("%s: %w", p.title, err)
		}
		lines = append(lines, row([]string{
			p.title, fmt.Sprintf("%.0f", t.rate), fmt.Sprintf("%.2f", milliseconds(quantile(t.times, 0.5))), fmt.Sprintf("%.2f", milliseconds(quantile(t.times, 0.99))),
		}))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
