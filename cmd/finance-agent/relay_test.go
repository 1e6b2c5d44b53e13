// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look into the agent's files

	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
)

// point is where around a posting the agent dies.
type point int

const (
	notSent     point = iota // the ledger doesn't get the request
	answerLost               // the ledger gets it, the agent doesn't get the answer
	notRecorded              // the agent gets the answer and can't record it
	recorded                 // the agent has recorded it
)

func (p point) String() string {
	return [...]string{"not sent", "answer lost", "answered, not recorded", "recorded"}[p]
}

// crash kills the agent once, at the posting of a step.
type crash struct {
	step int
	at   point
}

func (c crash) String() string { return fmt.Sprintf("step %d %s", c.step, c.at) }

// relay stands between the agent and a real ledger, and carries out crashes.
type relay struct {
	t      testing.TB
	URL    string
	ledger http.Handler
	store  ledgerapi.Store
	kill   func() // ends the agent of the moment with SIGKILL, and waits for its end

	mu      sync.Mutex
	crashes []crash
	held    map[int]*held
	tasks   string // the agent's file
}

// held is a posting that has left the agent and doesn't come to the ledger yet.
type held struct{ arrived, release chan struct{} }

func startRelay(t testing.TB, dataDir string, crashes ...crash) *relay {
	t.Helper()
	store, err := ledgerapi.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, ledger: ledgerapi.Handler(store), store: store, crashes: crashes,
		held: map[int]*held{}, tasks: filepath.Join(dataDir, "tasks.db")}
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = store.Close()
	})
	r.URL = server.URL
	return r
}

func newHeld() *held { return &held{arrived: make(chan struct{}), release: make(chan struct{})} }

// hold keeps the next posting of a step on its way until it is released, or the test has ended.
func (r *relay) hold(step int, h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[step] = h
}

// pending are the crashes that have not taken place.
func (r *relay) pending() []crash {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.crashes
}

func (r *relay) takeHeld(step int) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[step]
	delete(r.held, step)
	return h
}

// ServeHTTP implements http.Handler. A request on its way arrives, whatever became of its sender.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req = req.WithContext(context.WithoutCancel(req.Context()))
	_, number, _ := strings.Cut(req.Header.Get(ledgerapi.KeyHeader), ":step:")
	step, _ := strconv.Atoi(number)
	if h := r.takeHeld(step); h != nil {
		close(h.arrived)
		select {
		case <-h.release:
		case <-r.t.Context().Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.crashes) == 0 || r.crashes[0].step != step {
		r.ledger.ServeHTTP(w, req)
		return
	}
	at := r.crashes[0].at
	r.crashes = r.crashes[1:]
	switch at {
	case notSent:
		r.kill()
		panic(http.ErrAbortHandler)
	case answerLost:
		r.ledger.ServeHTTP(httptest.NewRecorder(), req)
		r.kill()
		panic(http.ErrAbortHandler)
	case notRecorded:
		unlock := r.lockTasks()
		r.answer(w, req)
		r.kill()
		unlock()
	case recorded:
		r.answer(w, req)
		r.awaitRecorded(step)
		r.kill()
	}
}

// answer sends the whole answer, which the agent has before the handler returns.
func (r *relay) answer(w http.ResponseWriter, req *http.Request) {
	answer := httptest.NewRecorder()
	r.ledger.ServeHTTP(answer, req)
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	_ = http.NewResponseController(w).Flush()
}

func (r *relay) openTasks(options string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+r.tasks+"?_pragma=busy_timeout(10000)"+options)
	if err != nil {
		r.t.Error(err)
	}
	return db
}

// lockTasks keeps the agent from writing to its file.
func (r *relay) lockTasks() (unlock func()) {
	db := r.openTasks("&_txlock=immediate")
	tx, err := db.BeginTx(context.WithoutCancel(r.t.Context()), nil)
	if err != nil {
		r.t.Errorf("locking the agent's file: %v", err)
		return func() {}
	}
	return func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
}

func (r *relay) awaitRecorded(step int) {
	db := r.openTasks("&_pragma=query_only(1)")
	defer func() { _ = db.Close() }()
	for state := ""; state != "done"; time.Sleep(time.Millisecond) {
		err := db.QueryRowContext(r.t.Context(), "SELECT state FROM steps WHERE number = ?", step).Scan(&state)
		if err != nil {
			r.t.Errorf("reading the steps: %v", err)
			return
		}
	}
}

// postings are the ledger's, by their steps; each has to be the only one under its key.
func (r *relay) postings() map[int]ledgerapi.Record {
	r.t.Helper()
	all, err := r.store.List(context.WithoutCancel(r.t.Context()), "")
	if err != nil {
		r.t.Fatal(err)
	}
	bySteps := map[int]ledgerapi.Record{}
	for _, record := range all {
		_, number, _ := strings.Cut(record.Key, ":step:")
		step, err := strconv.Atoi(number)
		if _, twice := bySteps[step]; twice || err != nil {
			r.t.Errorf("posting %+v: step %d, %v", record, step, err)
		}
		bySteps[step] = record
	}
	return bySteps
}
