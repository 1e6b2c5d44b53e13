// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// record is what the agent saw and did of one message. The members are those of the finance agent's ledger, and executed and
// subscribed.
type record struct {
	MessageID string `json:"messageId"`
	Principal string `json:"principal"`
	// Received counts the requests that carried the message; Bodies, the different ones among them.
	Received int `json:"received"`
	Bodies   int `json:"bodies"`
	// Executed counts the executions. Accepted are those that made a task, TaskIDs; Continued, those that went on with one;
	// Replied, those that answered without.
	Executed  int          `json:"executed"`
	Accepted  int          `json:"accepted"`
	TaskIDs   []a2a.TaskID `json:"taskIds"`
	Continued int          `json:"continued"`
	Replied   int          `json:"replied"`
	// Subscribed counts the streams that were asked for of the tasks that the message made.
	Subscribed int `json:"subscribed"`
}

// ledger counts messages for the life of the process, whatever transport they come by.
type ledger struct {
	a2asrv.PassthroughCallInterceptor

	mu      sync.Mutex
	order   []string
	records map[string]*record
	bodies  map[string]map[string]bool
}

func newLedger() *ledger {
	return &ledger{records: map[string]*record{}, bodies: map[string]map[string]bool{}}
}

// note changes a message's record.
func (l *ledger) note(messageID string, change func(*record)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, known := l.records[messageID]
	if !known {
		r = &record{MessageID: messageID, TaskIDs: []a2a.TaskID{}}
		l.records[messageID], l.bodies[messageID] = r, map[string]bool{}
		l.order = append(l.order, messageID)
	}
	change(r)
}

// Before implements a2asrv.CallInterceptor: it counts the requests.
func (l *ledger) Before(ctx context.Context, _ *a2asrv.CallContext, req *a2asrv.Request) (context.Context, any, error) {
	var err error
	switch call := req.Payload.(type) {
	case *a2a.SendMessageRequest:
		err = l.received(call.Message)
	case *a2a.SubscribeToTaskRequest:
		l.subscribed(call.ID)
	}
	return ctx, nil, err
}

func (l *ledger) received(message *a2a.Message) error {
	if message == nil || message.ID == "" {
		return nil
	}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	l.note(message.ID, func(r *record) {
		r.Received++
		l.bodies[r.MessageID][string(body)] = true
		r.Bodies = len(l.bodies[r.MessageID])
	})
	return nil
}

func (l *ledger) subscribed(task a2a.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if slices.Contains(r.TaskIDs, task) {
			r.Subscribed++
		}
	}
}

// ServeHTTP writes the records in the order in which their messages were first seen.
func (l *ledger) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	records := make([]record, 0, len(l.order))
	for _, id := range l.order {
		r := *l.records[id]
		r.TaskIDs = slices.Clone(r.TaskIDs)
		records = append(records, r)
	}
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(records) // the client went away
}
