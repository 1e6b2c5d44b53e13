package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// Record is what the agent saw of one message, as GET /admin/ledger shows it. Tests hold a client's claims
// against it.
type Record struct {
	MessageID string `json:"messageId"`
	// Principal is the authenticated sender; empty for anonymous ones.
	Principal string `json:"principal"`
	// Received counts the HTTP requests that carried the message, refused and rejected ones included, but
	// not those without valid credentials.
	Received int `json:"received"`
	// Accepted counts the tasks the message made. More than one is a duplicate.
	Accepted int `json:"accepted"`
	// TaskIDs are these tasks, in the order of their making.
	TaskIDs []a2a.TaskID `json:"taskIds"`
	// Continued counts how often a task that waited went on with the message. More than one is a duplicate.
	Continued int `json:"continued"`
	// Replied counts the direct replies to the message. More than one is a duplicate.
	Replied int `json:"replied"`
	// Bodies counts the different bodies that came under the messageId.
	Bodies int `json:"bodies"`
}

// ledger counts messages for the life of the process. It has nothing to do with the ledger that reconciliations post to.
type ledger struct {
	mu      sync.Mutex
	order   []dedup.Key
	entries map[dedup.Key]*ledgerEntry
}

type ledgerEntry struct {
	record  Record
	digests map[string]bool
}

func newLedger() *ledger { return &ledger{entries: make(map[dedup.Key]*ledgerEntry)} }

// entry returns the message's entry; the caller holds the lock.
func (l *ledger) entry(key dedup.Key) *ledgerEntry {
	e, ok := l.entries[key]
	if !ok {
		e = &ledgerEntry{
			record:  Record{MessageID: key.MessageID, Principal: key.Principal, TaskIDs: []a2a.TaskID{}},
			digests: make(map[string]bool),
		}
		l.entries[key] = e
		l.order = append(l.order, key)
	}
	return e
}

func (l *ledger) received(s *send) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(s.key)
	e.record.Received++
	e.digests[s.digest] = true
	e.record.Bodies = len(e.digests)
}

// note enters into a message's record what the agent did with it.
func (l *ledger) note(ctx context.Context, messageID string, enter func(*Record)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	enter(&l.entry(dedup.Key{Principal: dedup.Principal(ctx), MessageID: messageID}).record)
}

// ServeHTTP writes the records in the order in which their messages were first seen.
func (l *ledger) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	records := make([]Record, 0, len(l.order))
	for _, key := range l.order {
		record := l.entries[key].record
		record.TaskIDs = slices.Clone(record.TaskIDs)
		records = append(records, record)
	}
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(records) // the client went away
}

// countedTasks tells the ledger of every message that a task was made by or goes on with. It sits right at
// the store, inside deduplication, so that it counts what was done and not what anybody says about it.
type countedTasks struct {
	taskstore.Store
	ledger *ledger
}

// Create implements [taskstore.Store]. The agent's tasks start with the message that made them.
func (c *countedTasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	version, err := c.Store.Create(ctx, task)
	if err == nil && len(task.History) > 0 {
		c.ledger.note(ctx, task.History[0].ID, func(r *Record) {
			r.Accepted++
			r.TaskIDs = append(r.TaskIDs, task.ID)
		})
	}
	return version, err
}

// Update implements [taskstore.Store]. The agent takes a message in by setting the whole task, with the
// message as the last one said, and sets it whole at no other time.
func (c *countedTasks) Update(ctx context.Context, update *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	version, err := c.Store.Update(ctx, update)
	if _, whole := update.Event.(*a2a.Task); err == nil && whole {
		if said := update.Task.History; len(said) > 0 {
			c.ledger.note(ctx, said[len(said)-1].ID, func(r *Record) { r.Continued++ })
		}
	}
	return version, err
}
