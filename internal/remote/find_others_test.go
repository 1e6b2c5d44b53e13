// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"slices"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Every further task that the agent made of the message is named, from the oldest to the youngest, on whatever page it is.
func TestFindNamesTheOthers(t *testing.T) {
	at := func(id, second string, history ...string) listed {
		return listed{id: id, context: "c-1", history: history, timestamp: "2026-09-01T12:00:" + second + "Z"}
	}
	hidden := func(l listed) listed {
		l.history, l.got = nil, l.history
		return l
	}
	foreign := at("t-x", "00", "m-71")
	foreign.context = "c-9"
	for _, c := range []struct {
		name   string
		tasks  []listed
		first  string
		others []string
	}{
		{"one task", []listed{at("t-a", "00", "m-71")}, "t-a", nil},
		{"on three pages", []listed{at("t-c", "09", "m-71"), at("t-b", "05", "m-71"), at("t-a", "00", "m-71")}, "t-a", []string{"t-b", "t-c"}},
		{"among others", []listed{at("t-b", "05", "m-71", "r-1"), at("t-n", "02", "m-70"), at("t-a", "00", "m-1", "m-71")}, "t-a", []string{"t-b"}},
		{"one of them in another context", []listed{at("t-a", "05", "m-71"), foreign}, "t-a", nil},
		{"the same one twice", []listed{at("t-a", "05", "m-71"), at("t-a", "05", "m-71")}, "t-a", nil},
		{"in histories that only GetTask shows", []listed{hidden(at("t-c", "09", "m-71")), hidden(at("t-n", "01", "m-9")), hidden(at("t-a", "00", "m-71"))},
			"t-a", []string{"t-c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ex := connect(t, (&library{tasks: c.tasks, page: 1}).open(t)).Find(t.Context(), wanted)
			expectTask(t, ex, outbox.Accepted, "")
			if ex.Task.ID != c.first || !slices.Equal(ex.Others, c.others) || (ex.Detail != "") != (c.others != nil) {
				t.Errorf("%s and %v, %q; want %s and %v", ex.Task.ID, ex.Others, ex.Detail, c.first, c.others)
			}
		})
	}
}

// One task that can't be read does not hide the ones that were.
func TestFindNamesTheOthersAsFarAsTheyCanBeRead(t *testing.T) {
	l := &library{tasks: []listed{{id: "a", context: "c-1", got: []string{"m-71"}}, {id: "b", context: "c-1"}}, page: 9}
	ex := connect(t, l.open(t)).Find(t.Context(), wanted)
	expectTask(t, ex, outbox.Accepted, "")
	if ex.Task.ID != "a" || ex.Others != nil {
		t.Errorf("%+v", ex)
	}
}

// Without a context the listing is asked for what changed since; with one the context says more.
func TestFindAsksSince(t *testing.T) {
	zone := time.FixedZone("", 7200)
	after := time.Date(2026, 9, 1, 14, 0, 0, 987654321, zone)
	for _, c := range []struct {
		name string
		q    outbox.Query
		want string
	}{
		{"no context", outbox.Query{MessageID: "m-71", After: after}, "2026-09-01T12:00:00Z"},
		{"no context and no time", outbox.Query{MessageID: "m-71"}, ""},
		{"a context", outbox.Query{MessageID: "m-71", ContextID: "c-1", After: after}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &library{tasks: others(3), page: 2}
			expect(t, connect(t, l.open(t)).Find(t.Context(), c.q), outbox.Absent, remote.ReasonMessageNotFound)
			for i, p := range l.params {
				if p.After != c.want {
					t.Errorf("page %d: statusTimestampAfter %q, want %q", i, p.After, c.want)
				}
			}
		})
	}
}

// A server that ignores the filter shows its whole past. What is too old to hold the message needs no look, and what shows
// the message is taken although it is.
func TestFindSinceLeavesOutThePast(t *testing.T) {
	q := outbox.Query{MessageID: "m-71", After: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	past := listed{id: "past", context: "c-9", timestamp: "2026-09-01T11:59:59Z"}
	l := &library{tasks: append(others(1), past), page: 9}
	expect(t, connect(t, l.open(t)).Find(t.Context(), q), outbox.Absent, remote.ReasonMessageNotFound)
	if l.calls["GetTask"] != 0 {
		t.Errorf("%d looks at a task of the past", l.calls["GetTask"])
	}
	past.history = []string{"m-71"}
	ex := connect(t, (&library{tasks: []listed{past}, page: 9}).open(t)).Find(t.Context(), q)
	expectTask(t, ex, outbox.Accepted, "")
	undated := listed{id: "undated", context: "c-9"}
	l = &library{tasks: []listed{undated}, page: 9}
	expect(t, connect(t, l.open(t)).Find(t.Context(), q), outbox.Absent, remote.ReasonHistoryMissing)
}
