// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

const (
	// RPCPath is where the instant agent takes calls.
	RPCPath = "/a2a"
	// TalliesPath is where the bench asks for its Tallies.
	TalliesPath = "/bench/tallies"
)

// Tallies are what the instant agent has seen since its start.
type Tallies struct {
	// Messages are those with different ids; Copies, those that came once more.
	Messages, Copies int
	// Looks are calls of GetTask.
	Looks int
}

// instantAgent speaks A2A 1.0's JSON-RPC, deduplicates nothing and lists nothing. A message becomes a task at work, which is
// completed when it is looked at: a Delegation has all its phases, and the agent adds little to the times of the operator.
type instantAgent struct {
	mu   sync.Mutex
	seen map[string]bool
	Tallies
}

// ServeInstantAgent runs the agent until ctx ends, and writes its URL to standard output.
func ServeInstantAgent(ctx context.Context) error {
	a := &instantAgent{seen: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+RPCPath, a.rpc)
	mux.HandleFunc("POST "+TalliesPath, func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		Answer(w, a.Tallies)
	})
	return Serve(ctx, mux)
}

// rpc answers SendMessage (A2A 1.0, section 3.1.1) and GetTask (section 3.1.3).
func (a *instantAgent) rpc(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ID      string `json:"id"`
			Message struct {
				MessageID string `json:"messageId"`
				ContextID string `json:"contextId"`
			} `json:"message"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := map[string]any{"jsonrpc": "2.0", "id": call.ID}
	switch call.Method {
	case "SendMessage":
		a.take(call.Params.Message.MessageID)
		out["result"] = map[string]any{"task": task(call.Params.Message.MessageID, v1alpha1.TaskStateWorking)}
	case "GetTask":
		a.look()
		out["result"] = task(call.Params.ID, v1alpha1.TaskStateCompleted)
	default:
		out["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	Answer(w, out)
}

func (a *instantAgent) take(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[message] {
		a.Copies++
		return
	}
	a.seen[message] = true
	a.Messages++
}

func (a *instantAgent) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Looks++
}

// task has the id of its message, and the context that the operator mints for that.
func task(message string, state v1alpha1.TaskState) any {
	return map[string]any{
		"id": message, "contextId": "c-" + message,
		"status": map[string]any{"state": state, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)},
	}
}
