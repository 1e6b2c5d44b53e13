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
	// Bodies counts the different bodies that came under the messageId.
	Bodies int `json:"bodies"`
}

// ledger counts messages for the life of the process.
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

// made notes a task that a message made.
func (l *ledger) made(ctx context.Context, messageID string, id a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(dedup.Key{Principal: dedup.Principal(ctx), MessageID: messageID})
	e.record.Accepted++
	e.record.TaskIDs = append(e.record.TaskIDs, id)
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

// countedTasks tells the ledger of every new task. It sits right at the store, inside deduplication, so
// that it counts tasks and not what anybody says about them.
type countedTasks struct {
	taskstore.Store
	ledger *ledger
}

// Create implements [taskstore.Store]. The agent's tasks start with the message that made them.
func (c *countedTasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	version, err := c.Store.Create(ctx, task)
	if err == nil && len(task.History) > 0 {
		c.ledger.made(ctx, task.History[0].ID, task.ID)
	}
	return version, err
}
