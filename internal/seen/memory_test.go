// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/seen"
	"github.com/delegation-dev/delegation-operator/internal/seen/seentest"
)

const room = 1000

func newMemory(t *testing.T, clock *seentest.Clock) *seen.Memory {
	t.Helper()
	m, err := seen.NewMemory(room, seentest.Age, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemory(t *testing.T) {
	seentest.Run(t, func(t *testing.T, clock *seentest.Clock) seen.Store { return newMemory(t, clock) })
}

func TestMemoryMakesRoom(t *testing.T) {
	m := newMemory(t, seentest.NewClock())
	for i := range room {
		remember(t, m, strconv.Itoa(i))
	}
	remember(t, m, "0") // now 1 is the oldest
	remember(t, m, "new")
	for id, want := range map[string]bool{"0": true, "1": false, "2": true, "new": true} {
		if got, _ := m.Seen(t.Context(), id); got != want {
			t.Errorf("Seen(%q) = %t; want %t", id, got, want)
		}
	}
	if m.Len() != room {
		t.Errorf("%d ids are held; want %d", m.Len(), room)
	}
}

// What is too old goes away, also when nobody asks for it.
func TestMemoryShrinks(t *testing.T) {
	clock := seentest.NewClock()
	m := newMemory(t, clock)
	for i := range room {
		remember(t, m, strconv.Itoa(i))
	}
	clock.Advance(seentest.Age)
	remember(t, m, "new")
	if m.Len() != 1 {
		t.Errorf("%d ids are held; want 1", m.Len())
	}
}

func TestMemoryBounds(t *testing.T) {
	for _, c := range []struct {
		entries int
		age     time.Duration
		want    error
	}{{0, time.Hour, seen.ErrEntries}, {-1, time.Hour, seen.ErrEntries}, {1, 0, seen.ErrAge}, {1, -time.Second, seen.ErrAge}} {
		if _, err := seen.NewMemory(c.entries, c.age, time.Now); !errors.Is(err, c.want) {
			t.Errorf("NewMemory(%d, %s): error %v; want %v", c.entries, c.age, err, c.want)
		}
	}
}

func remember(t *testing.T, s seen.Store, id string) {
	t.Helper()
	if err := s.Remember(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
