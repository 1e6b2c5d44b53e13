// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// The agent speaks A2A 1.0's JSON-RPC by itself: the SDK's store sorts all tasks for each listing, and the bench would
// measure that.
const (
	rpcPath     = "/a2a"
	openPath    = "/bench/open"
	changePath  = "/bench/change"
	callsPath   = "/bench/calls"
	methodGet   = "GetTask"
	methodList  = "ListTasks"
	maxPageSize = 100
	// openedWithin is the time in which the tasks began, up to now.
	openedWithin = 10 * time.Minute
)

// change is one task's change of state.
type change struct {
	Task      int       `json:"task"`
	Timestamp time.Time `json:"timestamp"`
}

// agent holds tasks that stay under way.
type agent struct {
	mu    sync.Mutex
	tasks []task
	// log has all changes in the order of time; of one task the last counts.
	log   []change
	next  int
	calls map[string]int
}

type task struct {
	state v1alpha1.TaskState
	at    time.Time
}

// serveAgent runs the agent until ctx ends, and writes its URL to standard output.
func serveAgent(ctx context.Context) error {
	a := &agent{calls: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+rpcPath, a.rpc)
	mux.HandleFunc("POST "+openPath, a.control(a.open))
	mux.HandleFunc("POST "+changePath, a.control(a.change))
	mux.HandleFunc("POST "+callsPath, a.control(func(int) any { return maps.Clone(a.calls) }))
	return lab.Serve(ctx, mux)
}

// control answers the bench, which says how many.
func (a *agent) control(do func(n int) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n")) // none is zero
		a.mu.Lock()
		out := do(n)
		a.mu.Unlock()
		lab.Answer(w, out)
	}
}

// open makes so many tasks, all of them at work, which began one after the other.
func (a *agent) open(n int) any {
	a.tasks, a.log, a.next = make([]task, n), nil, 0
	first := time.Now().Add(-openedWithin)
	for i := range a.tasks {
		a.set(i, v1alpha1.TaskStateWorking, first.Add(openedWithin*time.Duration(i)/time.Duration(n)))
	}
	return a.log
}

// change moves so many tasks on, one after the other.
func (a *agent) change(n int) any {
	for range n {
		next := v1alpha1.TaskStateInputRequired
		if a.tasks[a.next].state == next {
			next = v1alpha1.TaskStateWorking
		}
		a.set(a.next, next, time.Now())
		a.next = (a.next + 1) % len(a.tasks)
	}
	return a.log[len(a.log)-n:]
}

func (a *agent) set(i int, state v1alpha1.TaskState, at time.Time) {
	// The API server keeps microseconds.
	at = at.UTC().Truncate(time.Microsecond)
	a.tasks[i] = task{state, at}
	a.log = append(a.log, change{i, at})
}

// rpc answers GetTask (A2A 1.0, section 3.1.3) and ListTasks (section 3.1.4).
func (a *agent) rpc(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ID        string    `json:"id"`
			After     time.Time `json:"statusTimestampAfter"`
			PageSize  int       `json:"pageSize"`
			PageToken string    `json:"pageToken"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := map[string]any{"jsonrpc": "2.0", "id": call.ID}
	a.mu.Lock()
	a.calls[call.Method]++
	i, known := taskNumber(call.Params.ID)
	switch {
	case call.Method == methodGet && known && i < len(a.tasks):
		out["result"] = a.shown(i)
	case call.Method == methodGet:
		out["error"] = map[string]any{"code": -32001, "message": "task not found"}
	case call.Method == methodList:
		out["result"] = a.list(call.Params.After, call.Params.PageSize, call.Params.PageToken)
	default:
		out["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	a.mu.Unlock()
	lab.Answer(w, out)
}

// list returns a page of what changed, the newest first. The token is the place in the log.
func (a *agent) list(after time.Time, size int, token string) any {
	if size < 1 || size > maxPageSize {
		size = maxPageSize
	}
	from := len(a.log)
	if n, err := strconv.Atoi(token); err == nil && n < from {
		from = n
	}
	first := sort.Search(len(a.log), func(i int) bool { return !a.log[i].Timestamp.Before(after) })
	shown := []any{}
	for _, c := range slices.Backward(a.log[first:max(from, first)]) {
		if len(shown) == size {
			return map[string]any{"tasks": shown, "nextPageToken": strconv.Itoa(from), "pageSize": size, "totalSize": len(a.log) - first}
		}
		from--
		if a.tasks[c.Task].at.Equal(c.Timestamp) {
			shown = append(shown, a.shown(c.Task))
		}
	}
	return map[string]any{"tasks": shown, "nextPageToken": "", "pageSize": size, "totalSize": len(a.log) - first}
}

func (a *agent) shown(i int) any {
	return map[string]any{
		"id": taskID(i), "contextId": contextID(i),
		"status": map[string]any{"state": a.tasks[i].state, "timestamp": a.tasks[i].at.Format(time.RFC3339Nano)},
	}
}

func taskID(i int) string    { return fmt.Sprintf("task-%05d", i) }
func contextID(i int) string { return fmt.Sprintf("context-%05d", i) }

func taskNumber(id string) (int, bool) {
	var i int
	_, err := fmt.Sscanf(id, "task-%d", &i)
	return i, err == nil && i >= 0
}
