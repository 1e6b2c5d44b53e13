// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// window is what was used while time passed.
type window struct {
	length time.Duration
	calls  map[string]int
	cpu    time.Duration
	memory int64
}

// rate is how often a method was called in a second.
func (w window) rate(method string) float64 { return float64(w.calls[method]) / w.length.Seconds() }

// observe measures the agent's calls and the manager's use while something is done.
func observe(agent *lab.Agent, manager *lab.Process, do func() error) (window, error) {
	ctx := context.Background()
	var before, after map[string]int
	if err := agent.Ask(ctx, callsPath, 0, &before); err != nil {
		return window{}, err
	}
	used, err := manager.Used()
	if err != nil {
		return window{}, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return window{}, err
	}
	w := window{length: time.Since(begun), calls: map[string]int{}}
	now, err := manager.Used()
	if err != nil {
		return window{}, err
	}
	if err := agent.Ask(ctx, callsPath, 0, &after); err != nil {
		return window{}, err
	}
	for method, n := range after {
		w.calls[method] = n - before[method]
	}
	w.cpu, w.memory = now.CPU-used.CPU, now.Memory
	return w, nil
}

// witness sees in a watch when a change is in the status of its Delegation.
type witness struct {
	watch watch.Interface
	mu    sync.Mutex
	// open are the changes that are not in a status yet, by Delegation.
	open  map[string]time.Time
	times []time.Duration
}

func newWitness(ctx context.Context, c client.WithWatch) (*witness, error) {
	stream, err := lab.Watch(ctx, c, namespace, func() {})
	if err != nil {
		return nil, err
	}
	w := &witness{watch: stream, open: map[string]time.Time{}}
	go w.run()
	return w, nil
}

func (w *witness) run() {
	for e := range w.watch.ResultChan() {
		d, ok := e.Object.(*v1alpha1.Delegation)
		if !ok || d.Status.StateTimestamp == nil {
			continue
		}
		seen := time.Now()
		w.mu.Lock()
		if at, waiting := w.open[d.Name]; waiting && !d.Status.StateTimestamp.Time.Before(at) {
			w.times = append(w.times, seen.Sub(at))
			delete(w.open, d.Name)
		}
		w.mu.Unlock()
	}
}

// change has the agent change tasks, so many at each tick, and waits until all changes are in status.
func (w *witness) change(ctx context.Context, agent *lab.Agent, ticks, each int) error {
	tick := time.NewTicker(changeTick)
	defer tick.Stop()
	for range ticks {
		w.mu.Lock()
		var changes []change
		err := agent.Ask(ctx, changePath, each, &changes)
		for _, c := range changes {
			w.open[delegationName(c.Task)] = c.Timestamp
		}
		w.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return w.settle(ctx)
}

func (w *witness) settle(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(settleTimeout); ; {
		w.mu.Lock()
		open := len(w.open)
		w.mu.Unlock()
		if open == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d changes are not in status after %s", open, settleTimeout)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// quantile of the times from a change to the status.
func (w *witness) quantile(q float64) (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.times) == 0 {
		return 0, errors.New("no change was seen")
	}
	sorted := slices.Sorted(slices.Values(w.times))
	return sorted[int(q*float64(len(sorted)-1))], nil
}
