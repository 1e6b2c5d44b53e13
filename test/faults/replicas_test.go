// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestReplicas lets three managers without leader election work on the same Delegations, with each tenth answer lost.
func TestReplicas(t *testing.T) {
	count := 60
	if *full {
		count = 500
	}
	agents := newAgents(t)
	send := &flows[0]
	t.Run("contracts", func(t *testing.T) {
		for _, c := range []contract{contracts[0], contracts[3]} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := cluster.Space(t)
				agent := agents.of(send, c)
				relay := harness.StartRelay(t, agent.URL, nil, losing(10))
				for range 3 {
					s.StartManager()
				}
				s.Create(s.RemoteAgent(relay.URL).AttemptTimeout(attemptTimeout).Poll(poll, poll).Lookup(c.lookup, settle).With(func(ra *v1alpha1.RemoteAgentSpec) {
					ra.Delivery.RequestsPerSecond = 1000
				}).Build())
				for i := range count {
					s.Create(s.Reconciliation(fmt.Sprintf("d%d", i)).MessageID(fmt.Sprintf("%s.d%d", s.Namespace, i)).Build())
				}
				results.add(fmt.Sprintf("three managers, %d Delegations/%s", count, c.name), judgeMany(t, s, agent, c, count))
			})
		}
	})
}

// losing drops each n-th answer to a message.
func losing(n int32) harness.Around {
	var messages atomic.Int32
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if method, ok := agentCall(nil)(r); !ok || method != agentSite(harness.SendMessage) || messages.Add(1)%n != 0 {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

// judgeMany waits for the end of many Delegations and holds them against the agent's ledger.
func judgeMany(t *testing.T, s *harness.Space, agent *harness.Agent, c contract, count int) row {
	t.Helper()
	out, open := row{}, map[int]bool{}
	for i := range count {
		d := s.AwaitWithin(4*time.Minute, fmt.Sprintf("d%d", i), "to come to an end", func(d *v1alpha1.Delegation) bool {
			return d.Status.Phase.Finished() || d.Status.Phase == v1alpha1.PhaseUnknown
		})
		switch {
		case d.Status.Phase == v1alpha1.PhaseUnknown && c.guesses:
			out.unknown++
			open[i] = true
		case d.Status.Phase != v1alpha1.PhaseCompleted:
			out.lost++
			t.Errorf("%s", harness.Describe(d))
		}
	}
	ledger := agent.Ledger()
	for i := range count {
		record := ledger[fmt.Sprintf("%s.d%d", s.Namespace, i)]
		out.tasks += record.Accepted
		out.duplicates += max(0, record.Accepted-1)
		if record.Accepted > 1 || record.Bodies > 1 || (!c.deduplicates && record.Received > 1) {
			t.Errorf("%s", record)
		}
		// A manager that is held up between its journal and its send, past the attempt's time, sends nothing any more: another
		// says Unknown, and a person decides.
		if record.Received == 0 && !open[i] {
			out.lost++
			t.Errorf("d%d was never sent", i)
		}
	}
	return out
}

// TestStoppedLeader stops the leader between its journal write and its send, past its lease and the attempt's deadline.
// Another leads meanwhile; what the first finds when it goes on is that its right to send is over.
func TestStoppedLeader(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	var first *harness.Process
	stopped := make(chan struct{})
	var once atomic.Bool
	proxy := s.StartAPIProxy(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			whole := httptest.NewRecorder()
			if site, ok := apiCall(r); !ok || site != "API PATCH delegations" || !once.CompareAndSwap(false, true) {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(whole, r)
			first.Pause()
			close(stopped)
			w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
			w.WriteHeader(whole.Code)
			_, _ = w.Write(whole.Body.Bytes())
		})
	})
	elect := []string{"--leader-elect", "--leader-election-namespace", harness.OperatorNamespace}
	first = s.StartManagerBehind(proxy, elect...)
	s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(attemptTimeout).Lookup(v1alpha1.LookupNone, settle).Build())
	s.AwaitAgentReady(harness.AgentName)
	s.Create(s.Reconciliation("d").MessageID("m-1").Build())
	harness.AwaitClosed(t, stopped, "the leader to be stopped")
	s.StartManager(elect...)
	began := time.Now()
	s.AwaitWithin(time.Minute, "d", "to be decided on by the second leader", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseUnknown })
	t.Logf("the second leader took over after %s", time.Since(began).Round(time.Second))
	first.Resume()
	first.AwaitEnd(harness.Patience)
	agent.Require("m-1", 0, 0)
}
