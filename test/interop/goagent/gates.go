// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// gates hold the tasks that wait to be released.
type gates struct {
	mu   sync.Mutex
	shut map[a2a.TaskID]chan struct{}
}

func newGates() *gates { return &gates{shut: map[a2a.TaskID]chan struct{}{}} }

// add shuts a gate. What it returns closes when the task is released.
func (g *gates) add(task a2a.TaskID) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := make(chan struct{})
	g.shut[task] = gate
	return gate
}

// ServeHTTP releases the task in the path; 404 where none of that id waits.
func (g *gates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	task := a2a.TaskID(r.PathValue("task"))
	g.mu.Lock()
	defer g.mu.Unlock()
	gate, waits := g.shut[task]
	if !waits {
		http.NotFound(w, r)
		return
	}
	close(gate)
	delete(g.shut, task)
	w.WriteHeader(http.StatusNoContent)
}
