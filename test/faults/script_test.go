// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// mode is when, around one mutating call, the manager dies.
type mode int

// The modes.
const (
	unharmed mode = iota
	// before: the call is not forwarded.
	before
	// lost: the call is forwarded, and its answer is dropped.
	lost
	// after: the call is forwarded and answered.
	after
)

func (m mode) String() string { return [...]string{"unharmed", "before", "answer lost", "after"}[m] }

// crash kills the manager at its n-th mutating call since it was started, or since the flow began.
type crash struct {
	n    int
	mode mode
}

func (c crash) String() string { return fmt.Sprintf("call %d, %s", c.n, c.mode) }

// script counts the mutating calls of the managers of one run and carries out its crashes, one manager each.
type script struct {
	mu      sync.Mutex
	crashes []crash
	// counting is whether calls count: a manager that is to die, and one that prepares, are not looked at.
	counting bool
	seen     int
	sites    []string
	kill     func()
	crashed  chan struct{}
	// loseAnswers is how many answers of the agent to messages are dropped without a crash.
	loseAnswers int
	calls       int
}

func newScript(crashes []crash) *script {
	return &script{crashes: slices.Clone(crashes), crashed: make(chan struct{}, len(crashes))}
}

// begin starts to count, for a manager that kill ends.
func (s *script) begin(kill func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill, s.seen, s.counting = kill, 0, true
}

// pending reports how many crashes have not taken place.
func (s *script) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.crashes)
}

// record returns the mutating calls that were counted, in order.
func (s *script) record() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sites)
}

// mutations returns how many mutating calls there were, counted or not.
func (s *script) mutations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *script) hit(site string) mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if !s.counting {
		return unharmed
	}
	s.seen++
	s.sites = append(s.sites, site)
	if len(s.crashes) == 0 || s.crashes[0].n != s.seen {
		return unharmed
	}
	m := s.crashes[0].mode
	s.crashes, s.counting = s.crashes[1:], false
	return m
}

func (s *script) loses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loseAnswers == 0 {
		return false
	}
	s.loseAnswers--
	return true
}

// around stands in a proxy and crashes the manager at the calls that name finds to be mutating.
func (s *script) around(name func(*http.Request) (string, bool)) harness.Around {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			site, ok := name(r)
			if !ok {
				next.ServeHTTP(w, r)
				return
			}
			switch s.hit(site) {
			case before:
				s.crash()
				panic(http.ErrAbortHandler)
			case lost:
				next.ServeHTTP(httptest.NewRecorder(), r)
				s.crash()
				panic(http.ErrAbortHandler)
			case after:
				next.ServeHTTP(w, r)
				_ = http.NewResponseController(w).Flush()
				s.crash()
			default:
				if site == agentSite(harness.SendMessage) && s.loses() {
					next.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(w, r)
			}
		})
	}
}

func (s *script) crash() {
	s.kill()
	s.crashed <- struct{}{}
}

// apiCall names a write to the API server. Events are told and forgotten: what the operator does depends on none.
func apiCall(r *http.Request) (string, bool) {
	w, ok := harness.WriteOf(r)
	return "API " + w.Verb + " " + w.Resource, ok && w.Resource != "events"
}

func agentSite(method string) string { return "agent " + method }

// agentCall names a call that changes something at the agent.
func agentCall(t testing.TB) func(*http.Request) (string, bool) {
	return func(r *http.Request) (string, bool) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", false // the manager is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ Method string }
		if len(body) > 0 && json.Unmarshal(body, &call) != nil {
			t.Errorf("not JSON: %.200s", body)
		}
		return agentSite(call.Method), call.Method == harness.SendMessage || strings.HasPrefix(call.Method, "Cancel")
	}
}
