// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"sync"
	"time"
)

// renewalsPerLease is how often a lease is extended in its own length: one lost sign of life, or two, do
// not make a living process look dead.
const renewalsPerLease = 3

// Ticket is a row held open by this process. Its lease is extended in the background until the ticket
// is ended by Bind, Release or Leave. It is safe for concurrent use.
type Ticket struct {
	table *Table
	claim Claim

	ctx  context.Context // of the renewals
	stop context.CancelFunc

	renewing sync.Mutex // held during a renewal's write

	mu    sync.Mutex
	until time.Time // the lease is over then, by our clock
	ended bool
	timer *time.Timer
}

func (t *Table) newTicket(claim Claim) *Ticket {
	k := &Ticket{table: t, claim: claim, until: claim.Now.Add(claim.Lease)}
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(claim.Lease/renewalsPerLease, k.renew)
	return k
}

// Key is the message's.
func (k *Ticket) Key() Key { return k.claim.Key }

// Held reports whether the lease is not over by our clock: until then no other process gets the row. It
// has to be asked right before the bytes of a copy leave, since a process can be paused at any point.
// It is false once the ticket was ended.
func (k *Ticket) Held() bool {
	now := k.table.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	// The monotonic clock stands still while a machine sleeps, and the wall clock may be set back: the
	// lease has to be good by both.
	return !k.ended && now.Before(k.until) && now.Round(0).Before(k.until.Round(0))
}

// Bind records the outcome; see [Store] for its errors. After an error of the store's the ticket is still
// open and may be bound again; it is ended by success, ErrBound and ErrNoRow. An ended ticket can be
// bound too: an outcome that becomes known late is worth recording, and the first one wins. ctx should
// not end with the client's: the outcome is there whether the client is or not.
func (k *Ticket) Bind(ctx context.Context, outcome Binding) error {
	err := k.table.store.Bind(ctx, k.claim.Key, outcome)
	if err == nil || errors.Is(err, ErrBound) || errors.Is(err, ErrNoRow) {
		k.end()
	}
	return err
}

// Release forgets the message, where it is certain that nothing was made of it. It ends the ticket. It
// returns ErrNotHeld when the row was taken over in between, ErrBound when an outcome was recorded, and
// the store's errors, after which the next copy finds the row abandoned once its lease is over.
func (k *Ticket) Release(ctx context.Context) error {
	k.end()
	k.drain()
	return k.table.store.Release(ctx, k.claim.Key, k.claim.Owner)
}

// Leave ends the ticket with the outcome open, and gives the lease up at once, so that the next copy
// finds the row abandoned. It does nothing to an ended ticket, so that it can be deferred.
func (k *Ticket) Leave() {
	if !k.end() {
		return
	}
	k.drain()
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	claim := k.claim
	claim.Now, claim.Lease = k.table.now(), 0
	if _, err := k.table.store.Hold(ctx, claim); err != nil { // the lease ends by itself a little later
		k.table.logger.WarnContext(ctx, "deduplication lease not given up", "messageId", claim.Key.MessageID, "error", err)
	}
}

// lapse ends the ticket with the outcome open and lets the lease run out: what was begun may go on for
// some time.
func (k *Ticket) lapse() { k.end() }

// end stops the renewals. It reports whether the ticket was open.
func (k *Ticket) end() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return false
	}
	k.ended = true
	k.timer.Stop()
	k.stop()
	return true
}

// drain waits for a renewal that was under way when the ticket ended, so that it can't extend the lease
// after it was given up. The renewal's context is done: it doesn't take long.
func (k *Ticket) drain() {
	k.renewing.Lock()
	defer k.renewing.Unlock()
}

// renew extends the lease and comes again, until the ticket is ended or the row is somebody else's.
func (k *Ticket) renew() {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	ctx, cancel := context.WithTimeout(k.ctx, k.claim.Lease)
	defer cancel()
	// Our lease counts from before the call and the store's from within it, so ours is over first.
	claim := k.claim
	claim.Now = k.table.now()
	held, err := k.table.store.Hold(ctx, claim)

	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ended:
		return
	case err != nil:
		k.table.logger.WarnContext(ctx, "deduplication lease not extended", "messageId", claim.Key.MessageID, "error", err)
	case !held: // taken over, bound by a late answer, or gone: no longer ours in any case
		k.until = time.Time{}
		k.table.logger.WarnContext(ctx, "deduplication row is not held any more", "messageId", claim.Key.MessageID)
		return
	default:
		k.until = claim.Now.Add(claim.Lease)
	}
	k.timer.Reset(k.claim.Lease / renewalsPerLease)
}
