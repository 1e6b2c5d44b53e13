// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var m71 = dedup.Key{Principal: "orchestrator", MessageID: "m-71"}

// clock is moved by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// table is a table on store that says nothing, and whose renewals come no sooner than minutes of real time.
func table(store dedup.Store, options ...dedup.Option) *dedup.Table {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	return dedup.NewTable(store, append([]dedup.Option{dedup.WithLogger(quiet), dedup.WithLease(time.Hour)}, options...)...)
}

func first(t *testing.T, table *dedup.Table) *dedup.Ticket {
	t.Helper()
	v, err := table.Claim(t.Context(), m71, "d")
	if err != nil || v.First == nil || v.Abandoned != nil || v.Known != nil {
		t.Fatalf("verdict %+v, %v, want first", v, err)
	}
	return v.First
}

func abandoned(t *testing.T, table *dedup.Table) *dedup.Ticket {
	t.Helper()
	v, err := table.Claim(t.Context(), m71, "d")
	if err != nil || v.Abandoned == nil || v.First != nil || v.Known != nil {
		t.Fatalf("verdict %+v, %v, want abandoned", v, err)
	}
	return v.Abandoned
}

func wantClaimErr(t *testing.T, table *dedup.Table, digest string, want error) {
	t.Helper()
	if v, err := table.Claim(t.Context(), m71, digest); !errors.Is(err, want) {
		t.Fatalf("verdict %+v, %v, want %v", v, err, want)
	}
}

func wantKnown(t *testing.T, table *dedup.Table, want dedup.Binding) {
	t.Helper()
	v, err := table.Claim(t.Context(), m71, "d")
	if err != nil || v.Known == nil || v.First != nil || v.Abandoned != nil || !v.Known.Equal(want) {
		t.Fatalf("verdict %+v, %v, want %+v known", v, err, want)
	}
}

func TestVerdicts(t *testing.T) {
	store := dedup.NewMemory()
	mine, theirs := table(store), table(store)
	ticket := first(t, mine)
	if !ticket.Held() || ticket.Key() != m71 {
		t.Errorf("a fresh ticket of %v is not held", ticket.Key())
	}
	for _, table := range []*dedup.Table{mine, theirs} { // another copy in the same process is another copy
		wantClaimErr(t, table, "d", dedup.ErrInProgress)
		wantClaimErr(t, table, "e", dedup.ErrMismatch)
	}
	outcome := dedup.Binding{TaskID: "t-1"}
	if err := ticket.Bind(t.Context(), outcome); err != nil {
		t.Fatal(err)
	}
	if ticket.Held() {
		t.Error("a ticket is held after its row was bound")
	}
	for _, table := range []*dedup.Table{mine, theirs} {
		wantKnown(t, table, outcome)
		wantClaimErr(t, table, "e", dedup.ErrMismatch)
	}
	ticket.Leave() // as a deferred call does
	wantKnown(t, theirs, outcome)
	if err := ticket.Release(t.Context()); !errors.Is(err, dedup.ErrBound) {
		t.Errorf("Release of a bound row: %v", err)
	}
}

func TestLeftRowIsAbandonedAtOnce(t *testing.T) {
	store := dedup.NewMemory()
	mine, theirs := table(store), table(store)
	for _, next := range []*dedup.Table{mine, theirs} {
		ticket := first(t, mine)
		ticket.Leave()
		if ticket.Held() {
			t.Error("a ticket is held after it was left")
		}
		later := abandoned(t, next)
		wantClaimErr(t, mine, "d", dedup.ErrInProgress) // the one that looks it up holds it
		wantClaimErr(t, mine, "e", dedup.ErrMismatch)
		ticket.Leave() // twice is once: the other's lease is not given up
		wantClaimErr(t, mine, "d", dedup.ErrInProgress)
		if err := ticket.Release(t.Context()); !errors.Is(err, dedup.ErrNotHeld) {
			t.Errorf("Release by the one that left: %v", err)
		}
		if err := later.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestReleasedRowIsFirstAgain(t *testing.T) {
	table := table(dedup.NewMemory())
	for range 2 {
		ticket := first(t, table)
		if err := ticket.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ticket.Held() {
			t.Error("a ticket is held after its release")
		}
	}
}

// lostInsert writes the row and loses the answer.
type lostInsert struct{ dedup.Store }

func (s lostInsert) Insert(ctx context.Context, claim dedup.Claim) (dedup.Row, bool, error) {
	if _, _, err := s.Store.Insert(ctx, claim); err != nil {
		return dedup.Row{}, false, err
	}
	return dedup.Row{}, false, errDown
}

// A copy that was turned away because the table's answer was lost must not keep later ones out.
func TestInsertWhoseAnswerIsLost(t *testing.T) {
	store := dedup.NewMemory()
	wantClaimErr(t, table(lostInsert{store}), "d", errDown)
	until(t, "row withdrawn", func() bool { return store.Len() == 0 })
}

// The client's leaving does not cut off the write that decides.
func TestClientThatLeavesDuringTheClaim(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	v, err := table(hangingUp{dedup.NewMemory(), hangUp}).Claim(ctx, m71, "d")
	if err != nil || v.First == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	v.First.Leave()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	store := dedup.NewMemory()
	if _, err := table(store).Claim(done, m71, "d"); !errors.Is(err, context.Canceled) || store.Len() != 0 {
		t.Errorf("claim for a client that is gone: %v, %d rows", err, store.Len())
	}
}

type hangingUp struct {
	dedup.Store
	hangUp context.CancelFunc
}

func (s hangingUp) Insert(ctx context.Context, claim dedup.Claim) (dedup.Row, bool, error) {
	s.hangUp()
	return s.Store.Insert(ctx, claim)
}

func TestRetentionOfATable(t *testing.T) {
	clock := newClock()
	wantClaimErr(t, table(dedup.NewMemory(), dedup.WithRetention(0)), "d", dedup.ErrRetention)
	// A lease that would outlive the row is cut.
	short := table(dedup.NewMemory(), dedup.WithRetention(time.Minute), dedup.WithLease(time.Hour), dedup.WithClock(clock.Now))
	ticket := first(t, short)
	clock.pass(time.Minute - time.Millisecond)
	if !ticket.Held() {
		t.Error("not held within the retention")
	}
	clock.pass(time.Millisecond)
	if ticket.Held() {
		t.Error("held after the retention")
	}
	first(t, short)
	// And no lease at all is the usual one.
	first(t, table(dedup.NewMemory(), dedup.WithLease(0)))
}

func TestSweep(t *testing.T) {
	store, clock := dedup.NewMemory(), newClock()
	at := table(store, dedup.WithClock(clock.Now), dedup.WithRetention(time.Hour))
	for i := range 1200 { // more than one step's
		key := dedup.Key{MessageID: fmt.Sprint("m-", i)}
		v, err := at.Claim(t.Context(), key, "d")
		if err != nil {
			t.Fatal(err)
		}
		if err := v.First.Bind(t.Context(), dedup.Binding{TaskID: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		at.Sweep(ctx, time.Millisecond)
	}()
	clock.pass(time.Hour)
	until(t, "expired rows removed", func() bool { return store.Len() == 0 })
	first(t, at)
	stop()
	<-swept
	if store.Len() != 1 {
		t.Error("a live row was removed")
	}
}
