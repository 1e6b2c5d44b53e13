// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A question is in the status; its answer goes to the same task, and both objects follow it to the end.
func TestAnswer(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("q").MessageID("m-71").Build())
	q := s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	if q.Status.Question == "" || q.Status.Interruptions != 1 || harness.Condition(q, v1alpha1.ConditionInputRequired).Status != "True" {
		t.Errorf("the question is not in the status: %s", harness.Describe(q))
	}
	s.Create(s.Answer("a", "q", "approve by Ada").MessageID("m-72").Build())
	for _, name := range []string{"a", "q"} {
		d := s.AwaitPhase(name, v1alpha1.PhaseCompleted)
		if d.Status.TaskID != q.Status.TaskID || d.Status.Question != "" {
			t.Errorf("%s", harness.Describe(d))
		}
	}
	if by := s.Get("q").Status.AnsweredBy; by == nil || by.Name != "a" || by.Interruption != 1 {
		t.Errorf("answeredBy = %+v", by)
	}
	agent.Require("m-71", 1, 1)
	agent.Require("m-72", 1, 0)
}

// Of two answers to one question exactly one is sent; the other waits and says why.
func TestTwoAnswers(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=2s")
	s.StartManager()
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("q").MessageID("m-71").Build())
	s.Create(s.Answer("a1", "q", "approve").MessageID("m-a1").Build(), s.Answer("a2", "q", "reject").MessageID("m-a2").Build())
	s.AwaitPhase("q", v1alpha1.PhaseCompleted)
	// A copy of the one that was sent may be sent again by the other manager: the agent deduplicates.
	first, second := agent.Record("m-a1"), agent.Record("m-a2")
	if (first.Received > 0) == (second.Received > 0) {
		t.Errorf("exactly one answer is to be sent: %s; %s", first, second)
	}
	won, lost := "a1", "a2"
	if second.Received > 0 {
		won, lost = lost, won
	}
	s.AwaitPhase(won, v1alpha1.PhaseCompleted)
	d := s.AwaitPhase(lost, v1alpha1.PhaseRejected)
	requireTaskTerminal(t, d)
}

func requireTaskTerminal(t *testing.T, d *v1alpha1.Delegation) {
	t.Helper()
	if ready := harness.Ready(d); ready.Reason != outbox.ReasonTaskTerminal || !strings.Contains(ready.Message, "refines") {
		t.Errorf("%s", harness.Describe(d))
	}
}

// An unclear answer brings another question, and the next answer in line goes.
func TestSecondQuestion(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("q").MessageID("m-71").Build())
	s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	s.Create(s.Answer("a1", "q", "perhaps").MessageID("m-a1").Build())
	s.Await("q", "to ask again", func(d *v1alpha1.Delegation) bool { return d.Status.Interruptions == 2 })
	s.Create(s.Answer("a2", "a1", "approve").MessageID("m-a2").Build())
	for _, name := range []string{"q", "a1", "a2"} {
		s.AwaitPhase(name, v1alpha1.PhaseCompleted)
	}
	agent.Require("m-a1", 1, 0)
	agent.Require("m-a2", 1, 0)
}

// An older answer that is let go while a younger one has the question, and was turned away once, waits for it.
func TestOlderAnswerComesLate(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=0s")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("q").MessageID("m-1").Build())
	s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	s.Create(s.Answer("old", "q", "approve").MessageID("m-old").With(func(spec *v1alpha1.DelegationSpec) { spec.Suspend = true }).Build())
	s.AwaitReason("old", "Suspended")
	s.Create(s.Answer("young", "q", "approve").MessageID("m-young").Build())
	s.Await("young", "to be turned away", func(d *v1alpha1.Delegation) bool { return d.Status.Attempts == 1 })
	s.RunRemedy("old")
	s.AwaitPhase("young", v1alpha1.PhaseCompleted)
	s.AwaitPhase("old", v1alpha1.PhaseRejected)
	agent.Require("m-old", 0, 0)
}

// A target at another agent is refused before anything goes there.
func TestAnswerToAnotherAgentsTask(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, other := harness.StartAgent(t), harness.StartAgent(t)
	s.StartManager()
	elsewhere := s.RemoteAgent(other.URL).Build()
	elsewhere.Name = "elsewhere"
	s.Create(s.RemoteAgent(agent.URL).Build(), elsewhere, s.Question("q").MessageID("m-1").Build())
	s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	s.Create(s.Answer("a", "q", "approve").Agent("elsewhere").MessageID("m-2").Build(),
		s.Answer("x", "y", "approve").Build(), s.Answer("y", "x", "approve").Build())
	s.AwaitReason("a", "AgentMismatch")
	s.AwaitReason("x", "TargetIsItself")
	other.Require("m-2", 0, 0)
	if by := s.Get("q").Status.AnsweredBy; by != nil {
		t.Errorf("answeredBy = %+v", by)
	}
}

// m-90 of the worked example: a message to a finished task is never sent.
func TestAnswerToAFinishedTask(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("done").MessageID("m-71").Build())
	s.AwaitPhase("done", v1alpha1.PhaseCompleted)
	s.Create(s.Answer("late", "done", "and the fees?").MessageID("m-90").Build())
	requireTaskTerminal(t, s.AwaitPhase("late", v1alpha1.PhaseRejected))
	agent.Require("m-90", 0, 0)
}

// When the task ends behind the operator's back the agent says so, and it reads the same.
func TestAnswerThatComesTooLate(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	// The first answer is lost, so that the second shows the task when it asks; after that nobody looks at it.
	agent := harness.StartAgent(t, "--lose-responses=1")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Poll(10*time.Minute, 10*time.Minute).Build(), s.Question("q").MessageID("m-71").Build())
	q := s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	agent.CancelTask(q.Status.TaskID)
	s.Create(s.Answer("late", "q", "approve").Build())
	requireTaskTerminal(t, s.AwaitPhase("late", v1alpha1.PhaseRejected))
}

// The answer to a question gets lost on the way back: the task tells that it has it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, c.flags...)
			relay := harness.StartRelay(t, agent.URL, nil)
			s.StartManager()
			s.Create(c.remoteAgent(s, relay.URL), s.Question("q").MessageID("m-71").Build())
			s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
			relay.LoseAnswers(1)
			s.Create(s.Answer("a", "q", "approve").MessageID("m-72").Build())
			d := s.Await("a", "to be recovered", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == c.phase })
			if d.Status.RecoveredBy != c.by {
				t.Errorf("recoveredBy = %q; want %q", d.Status.RecoveredBy, c.by)
			}
			agent.Require("m-72", c.received, 0)
			s.AwaitPhase("q", v1alpha1.PhaseCompleted)
		})
	}
}

// A refinement is a new task in the same context, which refers to the old one.
func TestRefinement(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("first").MessageID("m-71").Build())
	s.Create(s.Refinement("revised", "first", "leave out bank fees").MessageID("m-91").Build())
	first, revised := s.AwaitPhase("first", v1alpha1.PhaseCompleted), s.AwaitPhase("revised", v1alpha1.PhaseCompleted)
	if revised.Status.TaskID == first.Status.TaskID || revised.Status.ContextID != first.Status.ContextID {
		t.Errorf("%s\n%s", harness.Describe(first), harness.Describe(revised))
	}
	agent.Require("m-91", 1, 1)
}

// An agent may answer without a task.
func TestDirectReply(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	d := s.Answer("ping", "nobody", "ping").With(func(spec *v1alpha1.DelegationSpec) { spec.Continues = nil }).Build()
	s.Create(s.RemoteAgent(agent.URL).Build(), d)
	if d := s.AwaitPhase("ping", v1alpha1.PhaseCompleted); d.Status.Reply == "" || d.Status.TaskID != "" {
		t.Errorf("%s", harness.Describe(d))
	}
}

// Two objects with one messageId: the older goes, the other is refused before anything is sent.
func TestMessageIDInUse(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("first").MessageID("m-71").Build())
	s.AwaitPhase("first", v1alpha1.PhaseCompleted)
	s.Create(s.Reconciliation("second").MessageID("m-71").Build())
	if d := s.AwaitPhase("second", v1alpha1.PhaseRejected); harness.Ready(d).Reason != "MessageIdInUse" {
		t.Errorf("%s", harness.Describe(d))
	}
	agent.Require("m-71", 1, 1)
}

// Deleted and applied again, as in a cluster that is rebuilt from Git, a message finds its task, with any agent that
// keeps history.
func TestAppliedAgain(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	s.StartManager()
	object := s.Reconciliation("d").MessageID("m-71").ContextID("c-1").With(func(spec *v1alpha1.DelegationSpec) {
		spec.DeletionPolicy = v1alpha1.DeletionOrphan
	})
	s.Create(s.RemoteAgent(agent.URL).Build(), object.Build())
	first := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	s.Delete(first)
	s.AwaitGone(first)
	s.Create(object.Build())
	again := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if again.Status.TaskID != first.Status.TaskID || again.Status.RecoveredBy != v1alpha1.RecoveredByLookup {
		t.Errorf("%s", harness.Describe(again))
	}
	agent.Require("m-71", 1, 1)
}
