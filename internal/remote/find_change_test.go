// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

var wanted = outbox.Query{MessageID: "m-71", ContextID: "c-1"}

// A listing that never comes to rest proves no absence.
func TestFindAmbiguousWhereTheListingKeepsChanging(t *testing.T) {
	l := &library{tasks: others(3), page: 10, before: func(l *library, n int) {
		l.tasks = append(l.tasks, listed{id: fmt.Sprintf("new-%d", n), context: "c-1", history: []string{"m-x"}})
	}}
	expect(t, connect(t, l.open(t)).Find(t.Context(), wanted), outbox.Ambiguous, remote.ReasonListingChanged)
	if l.calls["ListTasks"] != 4 {
		t.Errorf("%d passes", l.calls["ListTasks"])
	}
}

// One that comes to rest does, after two equal passes.
func TestFindAbsentOnceTheListingIsAtRest(t *testing.T) {
	l := &library{tasks: others(3), page: 10, before: func(l *library, n int) {
		if n == 2 {
			l.tasks = l.tasks[1:]
		}
	}}
	expect(t, connect(t, l.open(t)).Find(t.Context(), wanted), outbox.Absent, remote.ReasonMessageNotFound)
	if l.calls["ListTasks"] != 3 {
		t.Errorf("%d passes", l.calls["ListTasks"])
	}
}

// The task moves to the front, as updated tasks do, while the reader is between two pages: the first pass misses it.
func TestFindAcceptedAlthoughThePagesShifted(t *testing.T) {
	l := &library{tasks: append(others(4), listed{id: "t-1", context: "c-1", history: []string{"m-71"}}), page: 2}
	l.before = func(l *library, n int) {
		if n == 2 {
			last := len(l.tasks) - 1
			l.tasks = append([]listed{l.tasks[last]}, l.tasks[:last]...)
		}
	}
	ex := connect(t, l.open(t)).Find(t.Context(), wanted)
	expectTask(t, ex, outbox.Accepted, "")
	if l.calls["ListTasks"] <= 3 {
		t.Error("the first pass found it: the test shows nothing")
	}
}

// Of two tasks with the message the oldest is taken, whatever the order of the listing.
func TestFindTakesTheOldestOfSeveral(t *testing.T) {
	tasks := []listed{
		{id: "t-b", context: "c-1", history: []string{"m-71"}, timestamp: "2026-09-01T12:00:05Z"},
		{id: "t-a", context: "c-1", history: []string{"m-71"}, timestamp: "2026-09-01T12:00:00Z"},
		{id: "t-c", context: "c-1", history: []string{"m-71"}, timestamp: "2026-09-01T12:00:00Z"},
	}
	for range 2 {
		l := &library{tasks: slices.Clone(tasks), page: 1}
		ex := connect(t, l.open(t)).Find(t.Context(), wanted)
		expectTask(t, ex, outbox.Accepted, "")
		if ex.Task.ID != "t-a" || ex.Detail == "" {
			t.Errorf("%s, %q", ex.Task.ID, ex.Detail)
		}
		slices.Reverse(tasks)
	}
}

// The listing leaves artifacts out, and a task that has ended is not looked at again: it has to come with them.
func TestFindBringsTheArtifacts(t *testing.T) {
	done := listed{id: "t-1", context: "c-1", state: "TASK_STATE_COMPLETED", history: []string{"m-71"}, artifact: "the report"}
	l := &library{tasks: []listed{done}}
	ex := connect(t, l.open(t)).Find(t.Context(), wanted)
	expectTask(t, ex, outbox.Accepted, "")
	if len(ex.Task.Artifacts) != 1 || string(ex.Task.Artifacts[0].Parts[0].Content) != "the report" {
		t.Errorf("%+v", ex.Task.Artifacts)
	}

	for name, c := range map[string]struct {
		state, answer string
		outcome       outbox.Outcome
		reason        string
	}{
		"ended, unreadable for now": {"TASK_STATE_COMPLETED", errorBody(`{"code":-32603,"message":"no"}`), outbox.Ambiguous, "InternalError"},
		"ended, never readable":     {"TASK_STATE_COMPLETED", errorBody(`{"code":-32601,"message":"no"}`), outbox.Accepted, ""},
		"under way":                 {"TASK_STATE_WORKING", errorBody(`{"code":-32603,"message":"no"}`), outbox.Accepted, ""},
	} {
		done.state = c.state
		l := &library{tasks: []listed{done}, override: map[string]string{"GetTask": c.answer}}
		t.Run(name, func(t *testing.T) {
			expectTask(t, connect(t, l.open(t)).Find(t.Context(), wanted), c.outcome, c.reason)
		})
	}
}

// What stands in the way of a look at a task without history stands in the way of "not found".
func TestFindProvesNothingWhereATaskCantBeRead(t *testing.T) {
	l := &library{tasks: []listed{{id: "b", context: "c-1"}}, override: map[string]string{"GetTask": errorBody(`{"code":-32603,"message":"no"}`)}}
	expect(t, connect(t, l.open(t)).Find(t.Context(), wanted), outbox.Ambiguous, "InternalError")
	l = &library{tasks: []listed{{id: "b", context: "c-1"}}, override: map[string]string{"GetTask": errorBody(`{"code":-32601,"message":"no"}`)}}
	expect(t, connect(t, l.open(t)).Find(t.Context(), wanted), outbox.Absent, remote.ReasonHistoryMissing)
}

func TestFindUnauthorized(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		ex := connect(t, answering(status, nil, "")(t)).Find(t.Context(), wanted)
		if ex.Outcome != outbox.Unauthorized {
			t.Errorf("HTTP %d: %+v", status, ex)
		}
	}
}

// The listing is asked for with history, in the largest pages, and each page with the token of the one before.
func TestFindAsks(t *testing.T) {
	l := &library{tasks: others(3), page: 2}
	_ = connect(t, l.open(t)).Find(t.Context(), wanted)
	for i, token := range []string{"", "2", "", "2"} {
		if p := l.params[i]; p.ContextID != "c-1" || p.PageSize != 100 || p.HistoryLength < 100 || p.PageToken != token {
			t.Errorf("page %d: %+v", i, p)
		}
	}
}
