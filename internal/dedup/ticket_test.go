// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// An owner that was paused for longer than its lease knows it, and its late answer still counts.
func TestPausedOwner(t *testing.T) {
	store, clock := dedup.NewMemory(), newClock()
	at := table(store, dedup.WithClock(clock.Now), dedup.WithLease(15*time.Minute))
	ticket := first(t, at)
	clock.pass(15*time.Minute - time.Millisecond)
	if !ticket.Held() {
		t.Error("not held within the lease")
	}
	wantClaimErr(t, at, "d", dedup.ErrInProgress)
	clock.pass(time.Millisecond)
	if ticket.Held() {
		t.Error("held when the lease is over")
	}
	later := abandoned(t, at)
	if !later.Held() || ticket.Held() {
		t.Error("held by the wrong one")
	}
	if err := ticket.Bind(t.Context(), dedup.Binding{TaskID: "t-1"}); err != nil {
		t.Errorf("late answer: %v", err)
	}
	if err := later.Bind(t.Context(), dedup.Binding{TaskID: "t-2"}); !errors.Is(err, dedup.ErrBound) {
		t.Errorf("another answer after it: %v", err)
	}
	if later.Held() {
		t.Error("held although the row is bound")
	}
	wantKnown(t, at, dedup.Binding{TaskID: "t-1"})
}

// The lease is extended in the background, and not any more when its process stops doing so. Renewals come
// in real time; the lease is over by the test's clock, so that a slow machine loses nothing.
func TestLeaseIsExtended(t *testing.T) {
	const lease = 30 * time.Millisecond
	counted, clock := &countingStore{Store: dedup.NewMemory()}, newClock()
	mine := table(counted, dedup.WithLease(lease), dedup.WithClock(clock.Now))
	theirs := table(counted.Store, dedup.WithClock(clock.Now))
	ticket := first(t, mine)
	for range 5 {
		clock.pass(lease - time.Microsecond)
		wantClaimErr(t, theirs, "d", dedup.ErrInProgress)
		if !ticket.Held() {
			t.Fatal("not held while it is extended")
		}
		// The second renewal from here begins when the first, by the clock as it is now, is complete.
		n := counted.holds.Load()
		until(t, "renewals", func() bool { return counted.holds.Load() >= n+2 })
	}
	counted.failing.Store(true) // as if the database were gone
	clock.pass(lease)
	until(t, "lease over", func() bool { return !ticket.Held() })
	counted.failing.Store(false)
	until(t, "lease extended again, since nobody took over", ticket.Held)
	ticket.Leave()
	abandoned(t, theirs)
	n := counted.holds.Load()
	time.Sleep(2 * lease) // six renewals' time
	if more := counted.holds.Load() - n; more != 0 {
		t.Errorf("%d holds after the ticket was left", more)
	}
}

// An owner whose row was taken over learns it with its next sign of life, and stops giving them.
func TestDispossessedOwnerLearnsIt(t *testing.T) {
	const lease = 300 * time.Millisecond
	store, clock := dedup.NewMemory(), newClock()
	mine := table(store, dedup.WithLease(lease), dedup.WithClock(clock.Now))
	ticket := first(t, mine)
	ahead := table(store, dedup.WithClock(func() time.Time { return clock.Now().Add(2 * lease) }))
	v, err := ahead.Claim(t.Context(), m71, "d")
	if err != nil || v.Abandoned == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	until(t, "owner knows", func() bool { return !ticket.Held() }) // its own clock stands still
	ticket.Leave()
	if !v.Abandoned.Held() {
		t.Error("the one that took over lost the row")
	}
	wantClaimErr(t, mine, "d", dedup.ErrInProgress)
}

// countingStore can be told to fail.
type countingStore struct {
	dedup.Store
	failing atomic.Bool
	holds   atomic.Int32
}

var errDown = errors.New("database is down")

func (s *countingStore) Hold(ctx context.Context, claim dedup.Claim) (bool, error) {
	s.holds.Add(1)
	if s.failing.Load() {
		return false, errDown
	}
	return s.Store.Hold(ctx, claim)
}
