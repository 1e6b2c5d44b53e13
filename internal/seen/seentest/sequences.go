// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seentest

import (
	"context"
	"errors"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/seen"
)

var errHandler = errors.New("the handler failed")

// effect is what a delivery does to the handler.
type effect int

const (
	runs  effect = iota // it is called and succeeds
	fails               // it is called and fails
	skips               // it is not called, and the delivery succeeds
)

// delivery is one message that comes.
type delivery struct {
	id string
	// before is what happens to the store before it comes.
	before func(*testing.T, seen.Store, *Clock)
	effect effect
}

// sequence is deliveries in order to one handler behind one store. The first six are the conformance cases of the
// meta.id contract for consumers.
type sequence struct {
	name       string
	deliveries []delivery
}

var sequences = []sequence{
	{"a copy is skipped", []delivery{{id: "a"}, {id: "a", effect: skips}}},
	{"each further copy is skipped", []delivery{{id: "a"}, {id: "a", effect: skips}, {id: "a", effect: skips}, {id: "a", effect: skips}}},
	{"each id runs", []delivery{{id: "a"}, {id: "b"}, {id: "c"}}},
	{"a failure is not remembered", []delivery{{id: "a", effect: fails}, {id: "a", effect: fails}, {id: "a"}, {id: "a", effect: skips}}},
	{"no id: each runs", []delivery{{}, {}}},
	{"a wanted replay runs", []delivery{{id: "a"}, {id: "a", effect: skips}, {id: "a", before: forget("a")}, {id: "a", effect: skips}}},
	{"no id: nothing is remembered", []delivery{{}, {effect: fails}, {id: "a"}, {}}},
	{"one failure touches no other id", []delivery{{id: "a"}, {id: "b", effect: fails}, {id: "a", effect: skips}, {id: "b"}}},
	{"a copy after the id's age runs", []delivery{{id: "a"}, {id: "a", before: later, effect: runs}, {id: "a", effect: skips}}},
}

func forget(id string) func(*testing.T, seen.Store, *Clock) {
	return func(t *testing.T, s seen.Store, _ *Clock) { mustForget(t, s, id) }
}

func later(_ *testing.T, _ seen.Store, clock *Clock) { clock.Advance(Age) }

func (s *sequence) play(t *testing.T, store seen.Store, clock *Clock) {
	t.Helper()
	var (
		called  bool
		outcome error
	)
	handle := seen.Wrap(store, func(d delivery) string { return d.id }, func(context.Context, delivery) error {
		called = true
		return outcome
	})
	for i, d := range s.deliveries {
		if d.before != nil {
			d.before(t, store, clock)
		}
		called, outcome = false, nil
		if d.effect == fails {
			outcome = errHandler
		}
		err := handle(t.Context(), d)
		if called != (d.effect != skips) || !errors.Is(err, outcome) {
			t.Errorf("delivery %d of %q: handler called: %t, error %v; want called: %t, error %v", i, d.id, called, err, d.effect != skips, outcome)
		}
	}
}

// twoCopiesAtOnce shows what the set is not: a lock on what is being processed.
func twoCopiesAtOnce(t *testing.T, store seen.Store, _ *Clock) {
	const copies = 2
	inside, proceed, ended := make(chan struct{}, copies), make(chan struct{}), make(chan error, copies)
	handle := seen.Wrap(store, func(id string) string { return id }, func(context.Context, string) error {
		inside <- struct{}{}
		<-proceed
		return nil
	})
	for range copies {
		go func() { ended <- handle(t.Context(), "a") }()
	}
	for range copies {
		select {
		case <-inside:
		case err := <-ended:
			t.Fatalf("a copy ended with %v while none was processed", err)
		}
	}
	close(proceed)
	for range copies {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	requireSeen(t, store, "a", true)
}
