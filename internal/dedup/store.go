// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Errors of a [Store], to be matched with errors.Is.
var (
	// ErrNoRow says that there is no row under the key: never inserted, released or removed.
	ErrNoRow = errors.New("dedup: no such row")
	// ErrBound says that the row already has an outcome, which no later call may change or remove.
	ErrBound = errors.New("dedup: row is bound")
	// ErrNotHeld says that the row is another owner's by now: its lease was over, and it was taken over.
	ErrNotHeld = errors.New("dedup: row is held by another owner")
	// ErrRetention says that a retention of zero or less was asked for, which would protect nothing, or
	// one shorter than the lease, so that the row would expire under its owner.
	ErrRetention = errors.New("dedup: retention must be positive, and not shorter than the lease")
	// ErrLease says that a negative lease was asked for.
	ErrLease = errors.New("dedup: lease must not be negative")
	// ErrOutcome says that an outcome names neither a task nor a reply, or both.
	ErrOutcome = errors.New("dedup: outcome must be a task or a reply")
)

// Key names one message. Message ids are chosen by clients, so they are unique per caller only.
type Key struct {
	// Principal is the authenticated caller's name; empty for callers that are not authenticated.
	Principal string
	// MessageID is the message's own id (A2A 1.0, section 4.1.4).
	MessageID string
}

// Binding is the outcome of the first copy of a message: a task or a direct reply, never both.
// The zero Binding means that the outcome is not known yet.
type Binding struct {
	// TaskID is the task the message made or continued.
	TaskID a2a.TaskID
	// Reply is the JSON of the Message an agent answered with instead of making a task. A store keeps
	// it as it is and does not look inside.
	Reply json.RawMessage
}

// Known reports whether b names an outcome.
func (b Binding) Known() bool { return b.TaskID != "" || len(b.Reply) > 0 }

// Equal reports whether a and b are the same outcome.
func (b Binding) Equal(other Binding) bool {
	return b.TaskID == other.TaskID && string(b.Reply) == string(other.Reply)
}

// Check returns ErrOutcome for what no row may be bound to.
func (b Binding) Check() error {
	if (b.TaskID != "") == (len(b.Reply) > 0) {
		return ErrOutcome
	}
	return nil
}

// Claim says who runs the first copy of a message, and until when it is believed to live.
type Claim struct {
	Key Key
	// Digest is the [Digest] of this copy's body.
	Digest string
	// Owner names the claim. It is unique to it, so that a process that dies, and a copy that was given
	// up, can't be mistaken for the one that is running.
	Owner string
	// Now is the time of the call by the owner's clock.
	Now time.Time
	// Retention is how long the row is kept: it expires at Now+Retention. Not shorter than Lease.
	Retention time.Duration
	// Lease is how long the owner is believed to live without another sign: until Now+Lease.
	// Zero gives the row up.
	Lease time.Duration
}

// Check returns ErrRetention or ErrLease for a claim that no store takes.
func (c Claim) Check() error {
	switch {
	case c.Lease < 0:
		return ErrLease
	case c.Retention <= 0, c.Retention < c.Lease:
		return ErrRetention
	}
	return nil
}

// Row is what a [Store] knows of one message.
type Row struct {
	// Digest is the [Digest] of the first copy's body.
	Digest string
	// Binding is the first copy's outcome; its zero value while that is open.
	Binding Binding
	// Owner is the claim that holds the row while its outcome is open.
	Owner string
	// Lease is the time from which on the owner counts as gone.
	Lease time.Time
	// Expires is the time from which on the row counts as absent.
	Expires time.Time
}

// Store is the table. Implementations are safe for concurrent use, by several processes where they
// share one table. Every call returns the context's error, and changes nothing, when the context is
// already done. The package storetest holds the behaviour that every implementation has to show.
//
// A store that is shared by several machines may take a clock of its own, which they share as well, in
// the place of Claim.Now. A row's times are by that clock then, to be compared by the store alone.
type Store interface {
	// Insert adds a row for the claim, unless one that has not expired is there. inserted says which;
	// row is the one now in the table. Of any number of concurrent calls with one key at most one is
	// told inserted. The decision must be one conditional write: a look-up followed by an insert lets
	// two copies of a message through. It returns the errors of [Claim.Check].
	Insert(ctx context.Context, claim Claim) (row Row, inserted bool, err error)

	// Hold makes, or keeps, the claim's owner the owner of an open row with the claim's digest, where
	// that row is the owner's already or its lease is over. Then the lease ends at Now+Lease, and the
	// row expires no earlier than Now+Retention. held is false, and nothing is changed, for a row that
	// somebody else holds, that is bound, has another digest, or is gone. Of several owners that want
	// to take over one row at most one is told held: this too is one conditional write.
	// It returns the errors of [Claim.Check].
	Hold(ctx context.Context, claim Claim) (held bool, err error)

	// Bind records the outcome of the first copy, whoever owns the row. Binding the same outcome again
	// does nothing; another one gives ErrBound and changes nothing, since repeats may have been
	// answered with the first. It returns ErrNoRow when the row is gone, and ErrOutcome.
	Bind(ctx context.Context, key Key, outcome Binding) error

	// Release removes the owner's open row, after a first copy that was refused. It returns nil when
	// there is no row, and keeps the row and returns ErrBound when an outcome was recorded, ErrNotHeld
	// when the row is another owner's.
	Release(ctx context.Context, key Key, owner string) error

	// Expire removes rows that expired by now, at most limit of them, and says how many.
	Expire(ctx context.Context, now time.Time, limit int) (removed int, err error)
}
