// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// result is the part of an answer that both bindings share.
type result struct {
	Task struct {
		ID      string
		History []struct{ MessageID string }
	}
	Message struct{ MessageID string }
	Error   struct {
		Code    int
		Message string
		Data    []map[string]any
		Details []map[string]any
	}
}

// read takes the envelope and the event off an answer.
func (r reply) read(t *testing.T) result {
	t.Helper()
	text := r.body
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		events := r.events()
		if len(events) == 0 {
			t.Fatalf("stream without events: %q", text)
		}
		text = events[0]
	}
	var envelope struct {
		Result json.RawMessage
		result
	}
	if err := json.Unmarshal([]byte(text), &envelope); err != nil {
		t.Fatalf("answer %d %q: %v", r.status, text, err)
	}
	if envelope.Result == nil {
		return envelope.result
	}
	var inner result
	if err := json.Unmarshal(envelope.Result, &inner); err != nil {
		t.Fatal(err)
	}
	return inner
}

// events are the data of a stream's events.
func (r reply) events() (list []string) {
	for line := range strings.Lines(r.body) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			list = append(list, strings.TrimSpace(data))
		}
	}
	return list
}

// reason is that of the deduplicator in an error's details.
func (r reply) reason(t *testing.T) string {
	t.Helper()
	failed := r.read(t).Error
	for _, d := range append(failed.Data, failed.Details...) {
		if d["domain"] == dedup.ReasonDomain {
			reason, _ := d["reason"].(string)
			return reason
		}
	}
	return ""
}

// task is the id of the task in an answer; the test ends where there is none.
func (r reply) task(t *testing.T) string {
	t.Helper()
	id := r.read(t).Task.ID
	if id == "" {
		t.Fatalf("no task in the answer %d %s", r.status, r.body)
	}
	return id
}
