// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// Deleting a Delegation whose task is under way cancels the task, and then the object goes.
func TestDeletionCancelsTheTask(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Delete(d)
	s.AwaitGone(d)
	if state := agent.TaskState(d.Status.TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s; want it canceled", state)
	}
}

// A task that was found by its messageId is canceled like one that this object made. Its RemoteAgent waits for that.
func TestDeletionOfATaskThatWasFound(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	first := s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) { d.DeletionPolicy = v1alpha1.DeletionOrphan }).Build()
	ra := s.RemoteAgent(agent.URL).Build()
	s.Create(ra, first)
	task := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" }).Status.TaskID
	s.Delete(first)
	s.AwaitGone(first)
	s.Create(s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to find its task", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Delete(ra)
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReconciling, "InUse")
	s.Delete(d)
	s.AwaitGone(d)
	s.AwaitGone(ra)
	if state := agent.TaskState(task); d.Status.TaskID != task || state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("found task %s instead of %s, which is in state %s; want it canceled", d.Status.TaskID, task, state)
	}
	agent.Require("m-1", 1, 1)
}

// Whatever order a namespace's objects go in, the task is canceled: with the credentials that were read before.
func TestDeletionAfterTheSecretIsGone(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right", "--delay=10m")
	s.StartManager()
	secret, ra := s.Secret("credentials", map[string]string{"token": "right"}), s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build()
	s.Create(secret, ra, s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Delete(ra)
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReconciling, "InUse")
	s.Delete(secret)
	s.Delete(d)
	s.AwaitGone(d)
	s.AwaitGone(ra)
	agent.Token = "right"
	if state := agent.TaskState(d.Status.TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s; want it canceled", state)
	}
}

// Deleting a Delegation whose task has ended asks the agent for nothing.
func TestDeletionOfAFinishedDelegation(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	relay := harness.StartRelay(t, agent.URL, nil)
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	s.Delete(d)
	s.AwaitGone(d)
	if n := relay.Calls()["CancelTask"]; n != 0 {
		t.Errorf("%d calls of CancelTask for a task that has ended", n)
	}
}

// What was never sent has nothing to be settled.
func TestDeletionBeforeSending(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	s.StartManager()
	s.Create(s.Reconciliation("d").Agent("nobody").Build())
	d := s.AwaitReason("d", "AgentNotFound")
	s.Delete(d)
	s.AwaitGone(d)
}

// What certainly did not arrive has nothing to be settled either.
func TestDeletionOfWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	s.StartManager()
	s.Create(s.RemoteAgent("").Endpoint("http://"+harness.FreeAddress(t)+"/a2a").Build(), s.Reconciliation("d").Build())
	d := s.AwaitReason("d", "ConnectionFailed")
	s.Delete(d)
	s.AwaitGone(d)
}

// Deleting a Delegation whose answer was lost first finds the task, and then cancels it.
func TestDeletionFindsTheTaskFirst(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=10m", "--delay-response=3s")
	manager := s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	agent.AwaitReceived("m-1", 1)
	manager.Kill()
	d := s.Get("d")
	s.Delete(d)
	s.StartManager()
	s.AwaitGone(d)
	harness.Eventually(t, harness.Patience, "the task to be made", func(context.Context) (bool, string) {
		r := agent.Record("m-1")
		return r.Accepted == 1, r.String()
	})
	if state := agent.TaskState(agent.Record("m-1").TaskIDs[0]); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s; want it canceled", state)
	}
	agent.Require("m-1", 1, 1)
}

// While the agent is away the object stays, and says why and until when. The agent is asked from time to time, and the
// object goes when it is back.
func TestDeletionWhileTheAgentIsAway(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	address := harness.FreeAddress(t)
	agent := harness.StartAgent(t, "--delay=10m", "--listen", address)
	relay := harness.StartRelay(t, agent.URL, nil)
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	agent.Kill()
	s.Delete(d)
	waiting := s.AwaitReason("d", outbox.ReasonAgentUnreachable)
	requireNamed(t, v1alpha1.ConditionReady, harness.Ready(waiting).Message, []string{d.Status.TaskID, "until"})
	before := relay.Calls()["CancelTask"]
	s.Remains("d", 3*time.Second, "to wait for the agent", func(d *v1alpha1.Delegation) bool {
		return d.DeletionTimestamp != nil && harness.Ready(d).Reason == outbox.ReasonAgentUnreachable
	})
	if n := relay.Calls()["CancelTask"] - before; n > 1 {
		t.Errorf("%d calls of CancelTask in 3 seconds to an agent that is away", n)
	}
	// It comes back without its memory, and denies the task.
	harness.StartAgent(t, "--listen", address)
	s.AwaitGone(d)
}
