// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// listed is a task of an agent.
type listed struct {
	id, context, state, timestamp string
	// history is what the listing shows, got what GetTask shows.
	history, got []string
	artifact     string
}

func (l listed) json(history []string, artifact bool) string {
	var messages []string
	for _, id := range history {
		messages = append(messages, fmt.Sprintf(`{"messageId":%q,"role":"ROLE_USER","parts":[]}`, id))
	}
	state, extra := l.state, ""
	if state == "" {
		state = "TASK_STATE_WORKING"
	}
	if artifact && l.artifact != "" {
		extra = fmt.Sprintf(`,"artifacts":[{"artifactId":"a","parts":[{"text":%q}]}]`, l.artifact)
	}
	return fmt.Sprintf(`{"id":%q,"contextId":%q,"status":{"state":%q,"timestamp":%q},"history":[%s]%s}`,
		l.id, l.context, state, l.timestamp, strings.Join(messages, ","), extra)
}

// library is an agent with a listing. Its pages are small, whatever was asked for.
type library struct {
	mu    sync.Mutex
	tasks []listed
	// page is how many tasks one page has; before is told the number of each ListTasks call and may change the tasks.
	page   int
	before func(l *library, n int)
	// filters says that the agent heeds the contextId.
	filters bool
	// override, where it is not empty, answers a method with this body.
	override map[string]string
	calls    map[string]int
	params   []listParams
}

type listParams struct {
	ID            string `json:"id"`
	ContextID     string `json:"contextId"`
	PageToken     string `json:"pageToken"`
	PageSize      int    `json:"pageSize"`
	HistoryLength int    `json:"historyLength"`
	After         string `json:"statusTimestampAfter"`
}

func (l *library) open(t *testing.T) *agent {
	t.Helper()
	l.calls = map[string]int{}
	return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
		l.mu.Lock()
		defer l.mu.Unlock()
		var p listParams
		if err := json.Unmarshal(c.Params, &p); err != nil {
			t.Error(err)
		}
		l.calls[c.Method]++
		l.params = append(l.params, p)
		w.Header().Set("Content-Type", "application/json")
		body := l.override[c.Method]
		switch {
		case body != "":
		case c.Method == "ListTasks":
			body = resultBody(l.list(p))
		default:
			body = l.get(p.ID)
		}
		if _, err := w.Write([]byte(withID(body, c.ID))); err != nil {
			t.Error(err)
		}
	})
}

func (l *library) list(p listParams) string {
	if l.before != nil {
		l.before(l, l.calls["ListTasks"])
	}
	var shown []listed
	for _, task := range l.tasks {
		if !l.filters || p.ContextID == "" || task.context == p.ContextID {
			shown = append(shown, task)
		}
	}
	from, _ := strconv.Atoi(p.PageToken)
	from = min(from, len(shown))
	to := min(from+max(l.page, 1), len(shown))
	var out []string
	for _, task := range shown[from:to] {
		out = append(out, task.json(task.history, false))
	}
	next := ""
	if to < len(shown) {
		next = strconv.Itoa(to)
	}
	return fmt.Sprintf(`{"tasks":[%s],"nextPageToken":%q,"pageSize":%d,"totalSize":%d}`, strings.Join(out, ","), next, l.page, len(shown))
}

func (l *library) get(id string) string {
	for _, task := range l.tasks {
		if task.id == id {
			history := task.got
			if history == nil {
				history = task.history
			}
			return resultBody(task.json(history, true))
		}
	}
	return errorBody(`{"code":-32001,"message":"no"}`)
}

// others are tasks that do not have the message.
func others(n int) []listed {
	var list []listed
	for i := range n {
		list = append(list, listed{id: fmt.Sprintf("o-%03d", i), context: "c-1", history: []string{fmt.Sprintf("m-o%d", i)}})
	}
	return list
}

func TestFind(t *testing.T) {
	query := outbox.Query{MessageID: "m-71", ContextID: "c-1"}
	mine := listed{id: "t-1", context: "c-1", history: []string{"m-71", "r-1"}}
	unsupported := func(body string) *library { return &library{override: map[string]string{"ListTasks": body}} }
	cases := []struct {
		name    string
		library *library
		query   outbox.Query
		outcome outbox.Outcome
		reason  string
		task    string
		// lists and gets are how many calls it takes.
		lists, gets int
	}{
		{"Accepted: on the first page", &library{tasks: []listed{mine}, filters: true}, query, outbox.Accepted, "", "t-1", 1, 1},
		{"Accepted: on the last page", &library{tasks: append(others(6), mine), page: 2, filters: true}, query, outbox.Accepted, "", "t-1", 4, 1},
		{"Accepted: without a context", &library{tasks: append(others(1), mine), page: 5}, outbox.Query{MessageID: "m-71"}, outbox.Accepted, "", "t-1", 1, 1},
		{"Accepted: the history is in GetTask only", &library{tasks: append(others(1), listed{id: "t-1", context: "c-1", got: []string{"m-71"}}), page: 5},
			query, outbox.Accepted, "", "t-1", 2, 1},
		{"Accepted: the filter is ignored", &library{tasks: []listed{{id: "x", context: "c-9", history: []string{"m-71"}}, mine}, page: 1},
			query, outbox.Accepted, "", "t-1", 2, 1},
		{"Absent: there is no task", &library{filters: true}, query, outbox.Absent, remote.ReasonMessageNotFound, "", 2, 0},
		{"Absent: no task has the message", &library{tasks: others(5), page: 2}, query, outbox.Absent, remote.ReasonMessageNotFound, "", 6, 0},
		{"Absent: it is in another context only", &library{tasks: []listed{{id: "x", context: "c-9", history: []string{"m-71"}}}, page: 5},
			query, outbox.Absent, remote.ReasonMessageNotFound, "", 2, 0},
		{"Absent: a task of the context shows no history", &library{tasks: append(others(2), listed{id: "b", context: "c-1"}), page: 5},
			query, outbox.Absent, remote.ReasonHistoryMissing, "", 2, 1},
		{"Absent: a task of another context shows no history", &library{tasks: append(others(2), listed{id: "b", context: "c-9"}), page: 5},
			query, outbox.Absent, remote.ReasonMessageNotFound, "", 2, 0},
		{"Absent: all tasks show their history to GetTask only", &library{tasks: blind(50), page: 100}, query,
			outbox.Absent, remote.ReasonMessageNotFound, "", 2, 50},
		{"Absent: more tasks without history than are asked for", &library{tasks: blind(60), page: 100}, query,
			outbox.Absent, remote.ReasonHistoryMissing, "", 2, 50},
		{"Refused: no such method", unsupported(errorBody(`{"code":-32601,"message":"no"}`)), query, outbox.Refused, remote.ReasonLookupUnsupported, "", 1, 0},
		{"Refused: unsupported", unsupported(errorBody(`{"code":-32004,"message":"no"}`)), query, outbox.Refused, remote.ReasonLookupUnsupported, "", 1, 0},
		{"Refused: to a caller without a name", unsupported(errorBody(`{"code":-31401,"message":"no"}`)), query,
			outbox.Refused, remote.ReasonLookupUnsupported, "", 1, 0},
		{"Refused: a parameter", unsupported(errorBody(`{"code":-32602,"message":"no"}`)), query, outbox.Refused, "InvalidParams", "", 1, 0},
		{"Ambiguous: internal error", unsupported(errorBody(`{"code":-32603,"message":"no"}`)), query, outbox.Ambiguous, "InternalError", "", 1, 0},
		{"Ambiguous: the listing is a list", unsupported(resultBody(`[]`)), query, outbox.Ambiguous, remote.ReasonInvalidResponse, "", 1, 0},
		{"Ambiguous: a task without an id", unsupported(resultBody(`{"tasks":[{}],"nextPageToken":""}`)), query,
			outbox.Ambiguous, remote.ReasonEmptyTask, "", 1, 0},
		{"Ambiguous: the pages lead in a circle", unsupported(resultBody(`{"tasks":[],"nextPageToken":"again"}`)), query,
			outbox.Ambiguous, remote.ReasonListingEndless, "", 2, 0},
		{"Ambiguous: the pages never end", &library{tasks: others(150), page: 1}, query, outbox.Ambiguous, remote.ReasonListingEndless, "", 100, 0},
		{"Absent: tasks is null", unsupported(resultBody(`{"tasks":null}`)), query, outbox.Absent, remote.ReasonMessageNotFound, "", 2, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ex := connect(t, c.library.open(t)).Find(t.Context(), c.query)
			expectTask(t, ex, c.outcome, c.reason)
			if ex.Task != nil && ex.Task.ID != c.task {
				t.Errorf("task %s, want %s", ex.Task.ID, c.task)
			}
			if lists, gets := c.library.calls["ListTasks"], c.library.calls["GetTask"]; lists != c.lists || gets != c.gets {
				t.Errorf("%d ListTasks and %d GetTask, want %d and %d", lists, gets, c.lists, c.gets)
			}
		})
	}
}

// blind are tasks that show their history to GetTask only.
func blind(n int) []listed {
	var list []listed
	for i := range n {
		list = append(list, listed{id: fmt.Sprintf("b-%03d", i), context: "c-1", got: []string{"m-b"}})
	}
	return list
}
