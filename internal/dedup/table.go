// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// DefaultRetention is how long a row is kept where nobody asks for another time: longer than the
	// three days that a careful client keeps repeating an unanswered message.
	DefaultRetention = 72 * time.Hour

	// DefaultLease is how long a process that holds a row is believed to live without a sign of life.
	// It gives three signs in that time.
	DefaultLease = 15 * time.Second

	// sweepStep bounds one removal of expired rows, so that no other write waits long for it.
	sweepStep = 500

	// settleTimeout bounds the writes for which no caller waits.
	settleTimeout = 5 * time.Second
)

// Table decides what becomes of a copy of a message. It is safe for concurrent use; several tables, also
// in several processes, may share one store.
type Table struct {
	store     Store
	retention time.Duration
	lease     time.Duration
	now       func() time.Time
	logger    *slog.Logger
	process   string
	claims    atomic.Uint64
}

// Option changes how a [Table] works, and a [Handler] around one.
type Option func(*Table)

// WithRetention sets how long a message is remembered, counted from the last time somebody held its row
// open; [DefaultRetention] otherwise. With a retention of zero or less every claim fails with ErrRetention.
func WithRetention(d time.Duration) Option { return func(t *Table) { t.retention = d } }

// WithLease sets how long a process that holds a row is believed to live without a sign of life;
// [DefaultLease] otherwise, and for zero or less. It is cut to the retention.
func WithLease(d time.Duration) Option { return func(t *Table) { t.lease = d } }

// WithClock replaces the clock that rows and leases end by, where the store has none of its own.
func WithClock(now func() time.Time) Option { return func(t *Table) { t.now = now } }

// WithLogger sets where failures go that no caller waits for; [slog.Default] otherwise.
func WithLogger(logger *slog.Logger) Option { return func(t *Table) { t.logger = logger } }

// NewTable returns the decision over the rows of store.
func NewTable(store Store, options ...Option) *Table {
	t := newTable(store)
	for _, option := range options {
		option(t)
	}
	return t
}

func newTable(store Store) *Table {
	return &Table{
		store: store, retention: DefaultRetention, lease: DefaultLease,
		now: time.Now, logger: slog.Default(), process: uuid.NewString(),
	}
}

// Verdict is what becomes of one copy of a message. Exactly one member is set.
type Verdict struct {
	// First says that this copy is the first: forward or execute it.
	First *Ticket
	// Abandoned says that the first copy ended, or its process did, with its outcome open, and that
	// this copy holds the row now. A task may exist: look for it, and don't forward blindly.
	Abandoned *Ticket
	// Known is the first copy's outcome: answer with it.
	Known *Binding
}

// Claim decides about a copy of the message key with the given [Digest]. It returns ErrMismatch when the
// first copy had another one, ErrInProgress while somebody holds the row, and the errors of the store,
// after which the copy must not be processed, since nothing would protect it.
//
// A ticket in the verdict has to be ended by one of its methods.
func (t *Table) Claim(ctx context.Context, key Key, digest string) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	// The client's leaving must not cut off a write whose result we need: a row that nobody knows to be
	// his would keep later copies out for the length of a lease.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	claim := t.newClaim(key, digest)
	row, inserted, err := t.store.Insert(ctx, claim)
	switch {
	case err != nil:
		go t.withdraw(claim)
		return Verdict{}, fmt.Errorf("dedup: claim: %w", err)
	case inserted:
		return Verdict{First: t.newTicket(claim)}, nil
	case row.Digest != digest:
		return Verdict{}, ErrMismatch
	case row.Binding.Known():
		return Verdict{Known: &row.Binding}, nil
	}
	return t.takeOver(ctx, claim)
}

// takeOver lets the store alone judge whether the lease is over: its clock may be another than ours.
func (t *Table) takeOver(ctx context.Context, claim Claim) (Verdict, error) {
	claim.Now = t.now()
	held, err := t.store.Hold(ctx, claim)
	switch {
	case err != nil:
		return Verdict{}, fmt.Errorf("dedup: take over: %w", err)
	case !held:
		return Verdict{}, ErrInProgress
	}
	return Verdict{Abandoned: t.newTicket(claim)}, nil
}

// withdraw removes the row of an insert that failed, in case it was written all the same: its copy was
// certainly not processed. Where this fails too, the row is abandoned when its lease is over.
func (t *Table) withdraw(claim Claim) {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err := t.store.Release(ctx, claim.Key, claim.Owner); err != nil && !errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrBound) {
		t.logger.WarnContext(ctx, "deduplication row may be left behind by a failed insert", "messageId", claim.Key.MessageID, "error", err)
	}
}

func (t *Table) newClaim(key Key, digest string) Claim {
	lease := t.lease
	if lease <= 0 {
		lease = DefaultLease
	}
	if t.retention > 0 {
		lease = min(lease, t.retention)
	}
	return Claim{
		Key: key, Digest: digest, Owner: t.process + "/" + strconv.FormatUint(t.claims.Add(1), 10),
		Now: t.now(), Retention: t.retention, Lease: lease,
	}
}

// Sweep removes expired rows until ctx is done: at once, and then again and again after the given time
// (a minute for zero or less). One removal takes a bounded number of rows; more follow while there are any.
// Failures are logged; the next round tries again. Rows count as absent from their expiry on in any case.
func (t *Table) Sweep(ctx context.Context, every time.Duration) {
	if every <= 0 {
		every = time.Minute
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if removed, err := t.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			t.logger.WarnContext(ctx, "expired deduplication rows not removed", "removed", removed, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (t *Table) sweepOnce(ctx context.Context) (total int, err error) {
	for {
		removed, err := t.store.Expire(ctx, t.now(), sweepStep)
		total += removed
		if err != nil || removed < sweepStep {
			return total, err
		}
	}
}
