// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// The agent speaks A2A 1.0's JSON-RPC by itself: an SDK's server would be what the bench measures.
const (
	rpcPath      = "/a2a"
	echoPath     = "/bench/echo"
	receiptsPath = "/bench/receipts"
	countsPath   = "/bench/counts"
	releasePath  = "/bench/release"
	maxPageSize  = 100
)

// agentOptions say how the agent behaves.
type agentOptions struct {
	// work is how long a task takes after its message came.
	work time.Duration
	// deduplicates has a messageId that was seen before answered with its task.
	deduplicates bool
	// holds keeps the answers to messages back until it is released.
	holds bool
}

func (o agentOptions) start(ctx context.Context) (*lab.Agent, error) {
	return lab.StartAgent(ctx, agentCommand, "-work="+o.work.String(), "-deduplicates="+strconv.FormatBool(o.deduplicates), "-holds="+strconv.FormatBool(o.holds))
}

// receipt is when a message came first.
type receipt struct {
	MessageID string    `json:"messageId"`
	At        time.Time `json:"at"`
}

// counts are what the agent has seen since it began.
type counts struct {
	// Sends are all messages that came, Messages those with different ids, and Tasks what was made of them.
	Sends    int `json:"sends"`
	Messages int `json:"messages"`
	Tasks    int `json:"tasks"`
	// Holding are the answers that are kept back.
	Holding int `json:"holding"`
}

type agent struct {
	agentOptions
	release  chan struct{}
	released sync.Once

	mu    sync.Mutex
	tasks []*task
	// byMessage has the first task of each message, byContext the tasks of each context.
	byMessage map[string]*task
	byContext map[string][]*task
	// log has all changes in the order of time; of one task the last counts.
	log      []change
	receipts []receipt
	counts   counts
}

// serveAgent runs the agent until ctx ends, and writes its URL to standard output.
func serveAgent(ctx context.Context, args []string) error {
	a := &agent{release: make(chan struct{}), byMessage: map[string]*task{}, byContext: map[string][]*task{}}
	f := flag.NewFlagSet(agentCommand, flag.ContinueOnError)
	f.DurationVar(&a.work, "work", 0, "how long a task takes")
	f.BoolVar(&a.deduplicates, "deduplicates", false, "answer a messageId that was seen before with its task")
	f.BoolVar(&a.holds, "holds", false, "keep the answers to messages back until "+releasePath)
	if err := f.Parse(args); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+rpcPath, a.rpc)
	mux.HandleFunc("POST "+echoPath, a.control(func() any { return nil }))
	mux.HandleFunc("POST "+receiptsPath, a.control(a.takeReceipts))
	mux.HandleFunc("POST "+countsPath, a.control(func() any { return a.counts }))
	mux.HandleFunc("POST "+releasePath, a.control(func() any { a.released.Do(func() { close(a.release) }); return nil }))
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

// takeReceipts returns those since the last time.
func (a *agent) takeReceipts() any {
	out := a.receipts
	a.receipts = nil
	return out
}

type rpcCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Message struct {
			MessageID string `json:"messageId"`
			ContextID string `json:"contextId"`
		} `json:"message"`
		ID            string    `json:"id"`
		ContextID     string    `json:"contextId"`
		After         time.Time `json:"statusTimestampAfter"`
		PageSize      int       `json:"pageSize"`
		PageToken     string    `json:"pageToken"`
		HistoryLength int       `json:"historyLength"`
	} `json:"params"`
}

// rpc answers SendMessage, GetTask and ListTasks (A2A 1.0, sections 3.1.1, 3.1.3 and 3.1.4).
func (a *agent) rpc(w http.ResponseWriter, r *http.Request) {
	came := time.Now()
	var call rpcCall
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := map[string]any{"jsonrpc": "2.0", "id": call.ID}
	switch p := call.Params; call.Method {
	case "SendMessage":
		out["result"] = map[string]any{"task": a.send(p.Message.MessageID, p.Message.ContextID, came)}
		if !a.hold(r.Context()) {
			return
		}
	case "GetTask":
		if found := a.get(p.ID, p.HistoryLength > 0); found != nil {
			out["result"] = found
		} else {
			out["error"] = map[string]any{"code": -32001, "message": "task not found"}
		}
	case "ListTasks":
		out["result"] = a.list(&call)
	default:
		out["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	lab.Answer(w, out)
}

// hold keeps an answer back, where the agent does. It reports whether the answer is to be given.
func (a *agent) hold(ctx context.Context) bool {
	if !a.holds {
		return true
	}
	a.mu.Lock()
	a.counts.Holding++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.counts.Holding--
		a.mu.Unlock()
	}()
	select {
	case <-a.release:
		return true
	case <-ctx.Done():
		return false
	}
}
