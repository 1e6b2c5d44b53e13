// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	// One process is two agents: one that answers at once, and one that takes slowAnswer.
	promptPath = "/prompt"
	slowPath   = "/slow"
	slowAnswer = time.Second

	callsPath    = "/bench/calls"
	receiptsPath = "/bench/receipts"
)

// receipts are when the agents got what, by the first part's text.
type receipts map[string]time.Time

// agent speaks A2A 1.0's JSON-RPC. Each message becomes a task that is done.
type agent struct {
	mu    sync.Mutex
	calls int
	got   receipts
}

// serveAgent runs the agents until ctx ends, and writes their URL to standard output.
func serveAgent(ctx context.Context) error {
	a := &agent{got: receipts{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+promptPath, a.rpc(0))
	mux.HandleFunc("POST "+slowPath, a.rpc(slowAnswer))
	mux.HandleFunc("POST "+callsPath, a.control(func() any { return a.calls }))
	mux.HandleFunc("POST "+receiptsPath, a.control(func() any {
		got := a.got
		a.got = receipts{}
		return got
	}))
	return lab.Serve(ctx, mux)
}

// control answers the bench.
func (a *agent) control(do func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		out := do()
		a.mu.Unlock()
		lab.Answer(w, out)
	}
}

// rpc answers SendMessage (A2A 1.0, section 3.1.1), and no other method: there is nothing to look at in a task that is done.
func (a *agent) rpc(takes time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Message struct {
					ContextID string `json:"contextId"`
					Parts     []struct {
						Text string `json:"text"`
					} `json:"parts"`
				} `json:"message"`
			} `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out := map[string]any{"jsonrpc": "2.0", "id": call.ID}
		if message := call.Params.Message; call.Method == "SendMessage" && len(message.Parts) > 0 {
			n := a.note(message.Parts[0].Text)
			if lab.Pause(r.Context(), takes) != nil {
				return // the caller is gone
			}
			out["result"] = map[string]any{"task": taskOf(n, message.ContextID)}
		} else {
			a.note("")
			out["error"] = map[string]any{"code": -32601, "message": "method not found"}
		}
		lab.Answer(w, out)
	}
}

// note counts a call, and returns its number.
func (a *agent) note(text string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	if text != "" {
		a.got[text] = time.Now()
	}
	return a.calls
}

func taskOf(n int, contextID string) any {
	return map[string]any{
		"id": "task-" + strconv.Itoa(n), "contextId": contextID,
		"status": map[string]any{
			"state": v1alpha1.TaskStateCompleted, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
			"message": map[string]any{"messageId": "r-" + strconv.Itoa(n), "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "all accounts are reconciled"}}},
		},
		"artifacts": []any{map[string]any{"artifactId": "report", "name": "report.txt", "parts": []any{map[string]any{"text": artifactText, "mediaType": "text/plain"}}}},
	}
}
