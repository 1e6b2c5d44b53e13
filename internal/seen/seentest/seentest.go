// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seentest holds the behaviour that every seen.Store has to show, alone and behind seen.Wrap, so that each
// implementation runs the same tests.
package seentest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/seen"
)

// Age is how long the stores under test have to remember an id.
const Age = time.Hour

// Clock is a clock that only tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows some time.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)} }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Open returns an empty store that remembers for Age by the clock, has room for 1000 ids, and is closed with the test.
type Open func(t *testing.T, clock *Clock) seen.Store

// Run runs the conformance tests against stores that open returns, one for every test.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, seen.Store, *Clock){
		"an id is seen once remembered":  rememberedIsSeen,
		"ids do not run together":        idsDoNotRunTogether,
		"forgetting":                     forgetting,
		"age":                            age,
		"a new beginning":                newBeginning,
		"a done context changes nothing": doneContext,
		"many at once":                   manyAtOnce,
		"two copies at once both run":    twoCopiesAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			clock := NewClock()
			test(t, open(t, clock), clock)
		})
	}
	for _, s := range sequences {
		t.Run(s.name, func(t *testing.T) {
			clock := NewClock()
			s.play(t, open(t, clock), clock)
		})
	}
}

func requireSeen(t *testing.T, s seen.Store, id string, want bool) {
	t.Helper()
	got, err := s.Seen(t.Context(), id)
	if err != nil || got != want {
		t.Errorf("Seen(%.20q) = %t, %v; want %t", id, got, err, want)
	}
}

func mustRemember(t *testing.T, s seen.Store, id string) {
	t.Helper()
	if err := s.Remember(t.Context(), id); err != nil {
		t.Fatalf("Remember(%.20q): %v", id, err)
	}
}

func mustForget(t *testing.T, s seen.Store, id string) {
	t.Helper()
	if err := s.Forget(t.Context(), id); err != nil {
		t.Fatalf("Forget(%.20q): %v", id, err)
	}
}

func rememberedIsSeen(t *testing.T, s seen.Store, _ *Clock) {
	for range 2 { // looking changes nothing
		requireSeen(t, s, "a", false)
	}
	for range 2 { // and remembering twice is remembering
		mustRemember(t, s, "a")
		requireSeen(t, s, "a", true)
	}
}

func idsDoNotRunTogether(t *testing.T, s seen.Store, _ *Clock) {
	long := strings.Repeat("x", 1<<20)
	ids := []string{
		"f1e2d3c4-b5a6-4789-90ab-cdef01234567", "F1E2D3C4-B5A6-4789-90AB-CDEF01234567", "a", "a ", " a", "A", "ä", "a\u0308",
		"a\x00", "a\x00b", "\xff\xfe", "a'--", "%", "_", long, long + "y",
	}
	for _, id := range ids {
		requireSeen(t, s, id, false)
		mustRemember(t, s, id)
	}
	for _, id := range ids {
		requireSeen(t, s, id, true)
	}
}

func forgetting(t *testing.T, s seen.Store, _ *Clock) {
	mustForget(t, s, "a") // was never there
	mustRemember(t, s, "a")
	mustRemember(t, s, "b")
	mustForget(t, s, "a")
	requireSeen(t, s, "a", false)
	requireSeen(t, s, "b", true)
	mustRemember(t, s, "a")
	requireSeen(t, s, "a", true)
}

func age(t *testing.T, s seen.Store, clock *Clock) {
	mustRemember(t, s, "a")
	clock.Advance(Age - time.Millisecond)
	requireSeen(t, s, "a", true)
	clock.Advance(time.Millisecond)
	requireSeen(t, s, "a", false)
	mustRemember(t, s, "a")
	requireSeen(t, s, "a", true)
}

func newBeginning(t *testing.T, s seen.Store, clock *Clock) {
	mustRemember(t, s, "a")
	clock.Advance(Age / 2)
	mustRemember(t, s, "a")
	clock.Advance(Age / 2)
	requireSeen(t, s, "a", true)
	clock.Advance(Age / 2)
	requireSeen(t, s, "a", false)
}

func doneContext(t *testing.T, s seen.Store, _ *Clock) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	mustRemember(t, s, "a")
	_, err := s.Seen(done, "a")
	for call, err := range map[string]error{"Seen": err, "Remember": s.Remember(done, "b"), "Forget": s.Forget(done, "a")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v; want %v", call, err, context.Canceled)
		}
	}
	requireSeen(t, s, "a", true)
	requireSeen(t, s, "b", false)
}

func manyAtOnce(t *testing.T, s seen.Store, _ *Clock) {
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			own := fmt.Sprint("own ", i)
			for range 8 {
				for _, id := range []string{"shared", own} {
					if err := s.Remember(t.Context(), id); err != nil {
						t.Errorf("Remember: %v", err)
					}
					if known, err := s.Seen(t.Context(), id); !known || err != nil {
						t.Errorf("Seen(%q) = %t, %v after Remember", id, known, err)
					}
				}
			}
			if err := s.Forget(t.Context(), own); err != nil {
				t.Errorf("Forget: %v", err)
			}
		})
	}
	group.Wait()
	requireSeen(t, s, "shared", true)
	requireSeen(t, s, "own 3", false)
}
