// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// sighting is what a watch showed of one Delegation, and when.
type sighting struct {
	// created is when the bench began to create it, or was to.
	created time.Time
	// bound and finished are when the watch showed that it was.
	bound, finished time.Time
	// changed is when the phase was first seen that it has now.
	changed   time.Time
	messageID string
	phase     v1alpha1.Phase
	// received is when the agent had its message first, by the agent's own account.
	received time.Time
}

// witness watches the Delegations of a namespace, as anyone could who waits for them.
type witness struct {
	client    client.Client
	namespace string
	watch     watch.Interface
	mu        sync.Mutex
	seen      map[string]*sighting
	// opened counts how often the watch was begun, and failed says why it can't be any more.
	opened int
	failed error
}

// newWitness watches from now on, and counts how often it has to begin anew.
func newWitness(ctx context.Context, c client.WithWatch, namespace string) (*witness, error) {
	w := &witness{client: c, namespace: namespace, seen: map[string]*sighting{}}
	stream, err := lab.Watch(ctx, c, namespace, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.opened++
	})
	if err != nil {
		return nil, err
	}
	w.watch = stream
	go w.run()
	return w, nil
}

func (w *witness) stop() { w.watch.Stop() }

func (w *witness) run() {
	for e := range w.watch.ResultChan() {
		now := time.Now()
		w.mu.Lock()
		if d, ok := e.Object.(*v1alpha1.Delegation); ok {
			w.see(d, now)
		} else {
			w.failed = apierrors.FromObject(e.Object)
		}
		w.mu.Unlock()
	}
}

func (w *witness) see(d *v1alpha1.Delegation, now time.Time) {
	s := w.seen[d.Name]
	if s == nil {
		return // of an earlier batch
	}
	if d.Status.Phase != s.phase {
		s.phase, s.changed = d.Status.Phase, now
	}
	s.messageID = d.Spec.MessageID
	if d.Status.TaskID != "" && s.bound.IsZero() {
		s.bound = now
	}
	if d.Status.Phase.Finished() && s.finished.IsZero() {
		s.finished = now
	}
}

// create writes one Delegation, which was due at a time.
func (w *witness) create(ctx context.Context, name string, due time.Time) error {
	w.mu.Lock()
	w.seen[name] = &sighting{created: due}
	w.mu.Unlock()
	return w.client.Create(ctx, newDelegation(w.namespace, name))
}

// fill creates n Delegations with so many writers, as fast as they go.
func (w *witness) fill(ctx context.Context, prefix string, n, writers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var busy sync.WaitGroup
	next := 0
	for range writers {
		busy.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				if err := w.create(ctx, fmt.Sprintf("%s-%05d", prefix, i), time.Now()); err != nil {
					cancel(err)
				}
			}
		})
	}
	busy.Wait()
	return context.Cause(ctx)
}

// A stage is what is waited for in a Delegation.
type stage func(*sighting) bool

func isCompleted(s *sighting) bool { return s.phase == v1alpha1.PhaseCompleted }

var errNotReached = errors.New("not all Delegations got that far")

// isSettled also holds for what the contract leaves nothing to try for.
func isSettled(s *sighting) bool { return isCompleted(s) || s.phase == v1alpha1.PhaseUnknown }

// wait until all Delegations have reached a stage. It gives up when none was the next to do so for a time.
func (w *witness) wait(ctx context.Context, reached stage, patience time.Duration) error {
	for most, since := -1, time.Now(); ; {
		have, all, phases, failed := w.progress(reached)
		if have == all {
			return nil
		}
		if have > most {
			most, since = have, time.Now()
		}
		if failed != nil {
			return fmt.Errorf("watching %s: %w", w.namespace, failed)
		}
		if time.Since(since) > patience {
			return fmt.Errorf("%w: %d of %d, none for %s; phases: %v", errNotReached, have, all, patience, phases)
		}
		if err := lab.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (w *witness) progress(reached stage) (have, all int, phases map[v1alpha1.Phase]int, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	phases = map[v1alpha1.Phase]int{}
	for _, s := range w.seen {
		phases[s.phase]++
		if reached(s) {
			have++
		}
	}
	return have, len(w.seen), phases, w.failed
}

// broken counts how often the watch ended and was begun anew.
func (w *witness) broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened - 1
}

// sightings are all that there are, with the times at which the agent had their messages.
func (w *witness) sightings(ctx context.Context, a *lab.Agent) ([]sighting, error) {
	var receipts []receipt
	if err := a.Ask(ctx, receiptsPath, 0, &receipts); err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for _, r := range receipts {
		at[r.MessageID] = r.At
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []sighting
	for name, s := range w.seen {
		if s.received = at[s.messageID]; s.received.IsZero() && isCompleted(s) {
			return nil, fmt.Errorf("%s is Completed, and its agent does not know the message %q", name, s.messageID)
		}
		out = append(out, *s)
	}
	return out, nil
}

// latencies from creation on.
type latencies struct{ received, bound, finished []time.Duration }

func measureLatencies(all []sighting) latencies {
	var l latencies
	for _, s := range all {
		l.received = append(l.received, s.received.Sub(s.created))
		l.bound = append(l.bound, s.bound.Sub(s.created))
		l.finished = append(l.finished, s.finished.Sub(s.created))
	}
	return l
}
