package dedup

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// DefaultRetention is how long a row is kept where nobody asks for another time: longer than the three
// days that a careful client keeps repeating an unanswered message.
const DefaultRetention = 72 * time.Hour

// Errors of a [Store], to be matched with errors.Is.
var (
	// ErrNoRow says that there is no row under the key: never inserted, released or evicted.
	ErrNoRow = errors.New("dedup: no such row")
	// ErrBound says that the row already has an outcome, which no later call may change or remove.
	ErrBound = errors.New("dedup: row is bound")
	// ErrRetention says that a retention of zero or less was asked for, which would protect nothing.
	ErrRetention = errors.New("dedup: retention must be positive")
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

// Row is what a [Store] knows of one message.
type Row struct {
	// Digest is the [Digest] of the first copy's body.
	Digest string
	// Binding is the first copy's outcome; its zero value while that copy is still running.
	Binding Binding
	// Expires is the time from which on the row counts as absent.
	Expires time.Time
}

// Store is the table. Implementations are safe for concurrent use, by several processes where they
// share one table. Every call returns the context's error, and changes nothing, when the context is
// already done. The package storetest holds the behaviour that every implementation has to show.
type Store interface {
	// Insert claims key for the caller: it adds a row with the digest that expires at now+ttl, unless a
	// row that has not expired at now is there. inserted says which; row is the one now in the table.
	// Of any number of concurrent calls with one key at most one is told inserted. The decision must
	// be one conditional write: a look-up followed by an insert lets two copies of a message through.
	// It returns ErrRetention for a ttl of zero or less.
	Insert(ctx context.Context, key Key, digest string, now time.Time, ttl time.Duration) (row Row, inserted bool, err error)

	// Bind records the outcome of the first copy. Binding the same outcome again does nothing; another
	// one gives ErrBound and changes nothing, since repeats may have been answered with the first.
	// It returns ErrNoRow when the row is gone.
	Bind(ctx context.Context, key Key, outcome Binding) error

	// Release removes a row that is not bound, after a first copy that was refused. It returns ErrBound,
	// and keeps the row, when an outcome was recorded, and nil when there is no row.
	Release(ctx context.Context, key Key) error
}
