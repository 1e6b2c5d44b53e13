// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

type task struct {
	number             int
	context, messageID string
	state              v1alpha1.TaskState
	at                 time.Time
}

type change struct {
	task *task
	at   time.Time
}

// send takes a message and returns its task as it is at the beginning.
func (a *agent) send(messageID, contextID string, came time.Time) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Sends++
	known := a.byMessage[messageID]
	if known != nil && a.deduplicates {
		return known.shown(false)
	}
	t := &task{number: len(a.tasks), context: contextID, messageID: messageID}
	a.tasks = append(a.tasks, t)
	a.counts.Tasks++
	a.byContext[contextID] = append(a.byContext[contextID], t)
	if known == nil {
		a.byMessage[messageID] = t
		a.counts.Messages++
		a.receipts = append(a.receipts, receipt{messageID, came})
	}
	a.set(t, v1alpha1.TaskStateWorking)
	begun := t.shown(false)
	if a.work <= 0 {
		a.set(t, v1alpha1.TaskStateCompleted)
	} else {
		time.AfterFunc(a.work, func() {
			a.mu.Lock()
			a.set(t, v1alpha1.TaskStateCompleted)
			a.mu.Unlock()
		})
	}
	return begun
}

// set moves a task on. No two changes have the same time, and the API server keeps microseconds.
func (a *agent) set(t *task, state v1alpha1.TaskState) {
	at := time.Now().UTC().Truncate(time.Microsecond)
	if n := len(a.log); n > 0 && !at.After(a.log[n-1].at) {
		at = a.log[n-1].at.Add(time.Microsecond)
	}
	t.state, t.at = state, at
	a.log = append(a.log, change{t, at})
}

func (a *agent) get(id string, history bool) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	var i int
	if _, err := fmt.Sscanf(id, taskFormat, &i); err != nil || i < 0 || i >= len(a.tasks) {
		return nil
	}
	return a.tasks[i].shown(history)
}

// list returns a page of what changed, the newest first. The token is the place in the log.
func (a *agent) list(call *rpcCall) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := call.Params
	log := a.log
	if p.ContextID != "" {
		log = logOf(a.byContext[p.ContextID])
	}
	size, from := p.PageSize, len(log)
	if size < 1 || size > maxPageSize {
		size = maxPageSize
	}
	if n, err := strconv.Atoi(p.PageToken); err == nil && n < from {
		from = n
	}
	first := sort.Search(len(log), func(i int) bool { return !log[i].at.Before(p.After) })
	shown, next := []any{}, ""
	for _, c := range slices.Backward(log[first:max(from, first)]) {
		if len(shown) == size {
			next = strconv.Itoa(from)
			break
		}
		from--
		if c.task.at.Equal(c.at) {
			shown = append(shown, c.task.shown(p.HistoryLength > 0))
		}
	}
	return map[string]any{"tasks": shown, "nextPageToken": next, "pageSize": size, "totalSize": len(log) - first}
}

// logOf has the last change of each task, in the order of time.
func logOf(tasks []*task) []change {
	var log []change
	for _, t := range tasks {
		log = append(log, change{t, t.at})
	}
	slices.SortFunc(log, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.task.number, b.task.number)) })
	return log
}

const taskFormat = "task-%d"

func (t *task) shown(history bool) any {
	out := map[string]any{
		"id": fmt.Sprintf(taskFormat, t.number), "contextId": t.context,
		"status": map[string]any{"state": t.state, "timestamp": t.at.Format(time.RFC3339Nano)},
	}
	if history {
		out["history"] = []any{map[string]any{
			"messageId": t.messageID, "contextId": t.context, "role": "ROLE_USER", "parts": []any{map[string]any{"text": messageText}},
		}}
	}
	return out
}
