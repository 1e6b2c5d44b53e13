// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestWritesPerDelegation counts what the operator writes for a message that nothing goes wrong with, and that it writes
// and asks nothing once the Delegation has finished.
func TestWritesPerDelegation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		agent func(t *testing.T) string
		// poll is the time between two looks at the task.
		poll time.Duration
		want map[harness.Write]int
	}{
		{
			name: "a task: journal, bind, finish",
			// The task is done before the first look at it, so that no state in between is seen and written.
			agent: func(t *testing.T) string { return harness.StartAgent(t, "--delay=300ms").URL },
			// A look more may follow until the end is recorded, which takes a busy machine a while.
			poll: 3 * time.Second,
			want: map[harness.Write]int{harness.AmendDelegation: 1, harness.UpdateStatus: 2},
		},
		{
			name:  "a task that has ended in the first answer: journal, finish",
			agent: func(t *testing.T) string { return harness.StartInstantAgent(t, harness.AnswerCompletedTask) },
			poll:  200 * time.Millisecond,
			want:  map[harness.Write]int{harness.AmendDelegation: 1, harness.UpdateStatus: 1},
		},
		{
			name:  "a reply without a task: journal, finish",
			agent: func(t *testing.T) string { return harness.StartInstantAgent(t, harness.AnswerMessage) },
			poll:  200 * time.Millisecond,
			want:  map[harness.Write]int{harness.AmendDelegation: 1, harness.UpdateStatus: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			relay := harness.StartRelay(t, c.agent(t), nil)
			proxy := s.StartAPIProxy()
			s.StartManagerBehind(proxy)
			s.Create(s.RemoteAgent(relay.URL).Poll(c.poll, c.poll).Build())
			s.AwaitAgentReady(harness.AgentName)
			s.Create(s.Reconciliation("d").MessageID("m-1").Build())
			s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			// The write is seen at the API server before the proxy has counted it.
			harness.Eventually(t, 5*time.Second, fmt.Sprintf("the writes %v", c.want), func(context.Context) (bool, string) {
				return maps.Equal(proxy.DelegationWrites(), c.want), fmt.Sprint(proxy.Writes())
			})
			requireQuiet(t, proxy, relay)
		})
	}
}

// requireQuiet requires that nothing is written and no agent called for a while. Events may still follow, since they are
// sent behind the work.
func requireQuiet(t *testing.T, proxy *harness.APIProxy, relay *harness.Relay) {
	t.Helper()
	writes, calls := proxy.DelegationWrites(), relay.Calls()
	harness.Throughout(t, 3*time.Second, "nothing is written or asked", func(context.Context) (bool, string) {
		w, c := proxy.DelegationWrites(), relay.Calls()
		return maps.Equal(w, writes) && maps.Equal(c, calls), fmt.Sprintf("writes %v after %v, calls %v after %v", w, writes, c, calls)
	})
}

// A task that is looked at and has not changed costs no write.
func TestNoWritePerLook(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	relay := harness.StartRelay(t, agent.URL, nil)
	proxy := s.StartAPIProxy()
	s.StartManagerBehind(proxy)
	s.Create(s.RemoteAgent(relay.URL).Poll(100*time.Millisecond, 100*time.Millisecond).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	// The first look may bring news; those after it can't.
	awaitLooks(t, relay, 2)
	before := proxy.DelegationWrites()
	awaitLooks(t, relay, 12)
	if after := proxy.DelegationWrites(); !maps.Equal(before, after) {
		t.Errorf("writes to Delegations: %v; before ten looks at a task that did not change: %v", after, before)
	}
}

func awaitLooks(t *testing.T, relay *harness.Relay, n int) {
	t.Helper()
	harness.Eventually(t, harness.Patience, fmt.Sprintf("%d looks at the task", n), func(context.Context) (bool, string) {
		calls := relay.Calls()
		return calls["GetTask"] >= n, fmt.Sprint(calls)
	})
}

// A finished Delegation costs nothing when a new process reads it, nor when its agent changes.
func TestAFinishedDelegationIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	first := s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	first.Stop()
	version := s.Get("d").ResourceVersion

	relay := harness.StartRelay(t, agent.URL, nil)
	proxy := s.StartAPIProxy()
	s.StartManagerBehind(proxy)
	s.Kubectl("patch", "remoteagent", harness.AgentName, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"cardURL":%q}}`, relay.URL))
	s.AwaitAgentReady(harness.AgentName)
	// That this one is delivered shows that the manager had the time to see the other.
	s.Create(s.Reconciliation("next").MessageID("m-2").Build())
	s.AwaitPhase("next", v1alpha1.PhaseCompleted)
	requireQuiet(t, proxy, relay)
	if got := s.Get("d").ResourceVersion; got != version {
		t.Errorf("the finished Delegation was written: resourceVersion %s, was %s", got, version)
	}
	agent.Require("m-1", 1, 1)
}

// The right to send ends while a message waits for its turn at a busy agent: it does not go.
func TestRightToSendEndsInTheQueue(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay-response=6s")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).With(func(r *v1alpha1.RemoteAgentSpec) { r.Delivery.MaxInFlight = 1 }).Build(), s.Reconciliation("first").Build())
	s.AwaitJournal("first")
	late := s.Reconciliation("late").With(func(d *v1alpha1.DelegationSpec) { d.DeliveryDeadline.Duration = 3 * time.Second }).Build()
	s.Create(late)
	s.AwaitPhase("late", v1alpha1.PhaseUndelivered)
	s.AwaitPhase("first", v1alpha1.PhaseCompleted)
	agent.Require(string(late.UID), 0, 0)
}
