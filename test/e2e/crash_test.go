// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// The agent has the message and its answer is on the way when the manager dies.
func TestCrashBetweenJournalAndAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, append([]string{"--delay-response=2s"}, c.flags...)...)
			manager := s.StartManager()
			s.Create(c.remoteAgent(s, agent.URL), s.Reconciliation("d").MessageID("m-1").Build())
			agent.AwaitReceived("m-1", 1)
			manager.Kill()
			if d := s.Get("d"); d.Status.TaskID != "" {
				t.Fatalf("the answer came before the crash: %s", harness.Describe(d))
			}
			s.StartManager()
			c.requireRecovered(t, s, agent, "d", "m-1")
		})
	}
}

// The message is on the wire and not yet with the agent when the manager dies, and arrives after the next one has begun
// to find out what became of it.
func TestCrashBeforeTheMessageArrives(t *testing.T) {
	t.Parallel()
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, c.flags...)
			relay := harness.StartRelay(t, agent.URL, nil)
			held := relay.Hold()
			manager := s.StartManager()
			s.Create(c.remoteAgent(s, relay.URL), s.Reconciliation("d").MessageID("m-1").Build())
			harness.AwaitClosed(t, held.Arrived, "the message to be on the wire")
			manager.Kill()
			agent.Require("m-1", 0, 0)
			s.StartManager()
			s.Await("d", "to be looked into by the next manager", func(d *v1alpha1.Delegation) bool { return d.Status.Phase != "" })
			held.Forward(t)
			c.requireRecovered(t, s, agent, "d", "m-1")
		})
	}
}

// The same with nothing in between: the agent's kernel takes the message while the agent itself is stopped.
func TestCrashWhileTheAgentIsStopped(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	manager := s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Lookup(v1alpha1.LookupNone, shortSettle).Build())
	s.AwaitAgentReady(harness.AgentName)
	agent.Pause()
	s.Create(s.Reconciliation("d").MessageID("m-1").Build())
	s.AwaitJournal("d")
	manager.Kill()
	agent.Resume()
	s.StartManager()
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	// Whether the first copy left before the crash is a matter of microseconds; that there is one task is not.
	if r := agent.Record("m-1"); r.Accepted != 1 || r.Bodies != 1 || r.TaskIDs[0] != d.Status.TaskID {
		t.Errorf("%s; the Delegation has task %q", r, d.Status.TaskID)
	}
	if d.Status.RecoveredBy != v1alpha1.RecoveredByReplay {
		t.Errorf("recoveredBy = %q", d.Status.RecoveredBy)
	}
}

// The attempt is in the API server, the manager does not know and dies: nothing has been sent. What that looks like to the
// next manager is the same as above, and so is what it may do.
func TestCrashBetweenJournalAndSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		flags  []string
		lookup v1alpha1.LookupMode
		phase  v1alpha1.Phase
		by     v1alpha1.Recovery
		sent   int
	}{
		{name: "deduplication: sent again", lookup: v1alpha1.LookupBestEffort,
			phase: v1alpha1.PhaseCompleted, by: v1alpha1.RecoveredByReplay, sent: 1},
		{name: "authoritative lookup: shown not to be there, and sent", flags: []string{"--dedup=false"}, lookup: v1alpha1.LookupAuthoritative,
			phase: v1alpha1.PhaseCompleted, sent: 1},
		{name: "lookup that proves nothing: unknown", flags: []string{"--dedup=false"}, lookup: v1alpha1.LookupBestEffort,
			phase: v1alpha1.PhaseUnknown},
		{name: "no lookup: unknown", flags: []string{"--dedup=false"}, lookup: v1alpha1.LookupNone,
			phase: v1alpha1.PhaseUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, c.flags...)
			proxy := s.StartAPIProxy()
			journalled := proxy.KeepBack(harness.AmendDelegation)
			manager := s.StartManagerBehind(proxy)
			s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(shortAttempt).Lookup(c.lookup, shortSettle).Build())
			s.Create(s.Reconciliation("d").MessageID("m-1").Build())
			harness.AwaitClosed(t, journalled, "the attempt to be journalled")
			manager.Kill()
			agent.Require("m-1", 0, 0)
			s.AwaitJournal("d")
			s.StartManager()
			if d := s.AwaitPhase("d", c.phase); d.Status.RecoveredBy != c.by {
				t.Errorf("recoveredBy = %q; want %q", d.Status.RecoveredBy, c.by)
			}
			if c.phase == v1alpha1.PhaseUnknown {
				s.Remains("d", 2*time.Second, "to stay Unknown", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == c.phase })
			}
			agent.Require("m-1", c.sent, c.sent)
		})
	}
}

// A manager that is told to end while a message is out waits for the answer and records it.
func TestShutdownWhileAMessageIsOut(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay-response=3s", "--dedup=false")
	manager := s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	agent.AwaitReceived("m-1", 1)
	if d := s.Get("d"); d.Status.TaskID != "" {
		t.Fatalf("the answer came before the shutdown: %s", harness.Describe(d))
	}
	manager.Stop()
	d := s.Get("d")
	if d.Status.TaskID == "" || d.Status.RecoveredBy != "" || d.Status.Attempts != 1 {
		t.Errorf("after the shutdown: %s; want it bound by its first attempt", harness.Describe(d))
	}
	agent.Require("m-1", 1, 1)
}
