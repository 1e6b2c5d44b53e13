// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// send sends one message and expects one artifact, or none.
func send(text, artifact string) func(*testing.T, *bench) string {
	return func(t *testing.T, b *bench) string {
		what, _, _ := strings.Cut("send-"+text, " ")
		b.space.Create(b.message(what, direct, text).Build())
		d := b.ended(what)
		requireArtifact(t, d, artifact)
		return b.outcome(d)
	}
}

func requireArtifact(t *testing.T, d *v1alpha1.Delegation, text string) {
	t.Helper()
	got := d.Status.Artifacts
	if text == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 || got[0].ArtifactID != "answer" || got[0].Name != "answer.txt" || got[0].Text != text {
		t.Errorf("artifacts of %s are %+v; want one with the text %q", d.Name, got, text)
	}
}

func directReply(t *testing.T, b *bench) string {
	b.space.Create(b.message("reply", direct, "reply").Build())
	d := b.ended("reply")
	if d.Status.Reply != "pong" || d.Status.TaskID != "" {
		t.Errorf("reply %q, task %q; want the reply pong and no task", d.Status.Reply, d.Status.TaskID)
	}
	return b.outcome(d)
}

// ask sends a question's cause and waits for the question.
func (b *bench) ask(t *testing.T, what, suffix string) *v1alpha1.Delegation {
	t.Helper()
	b.space.Create(b.message(what, suffix, "ask").Build())
	q := b.space.AwaitPhase(b.name(what), v1alpha1.PhaseInputRequired)
	if q.Status.Question != "Which month?" {
		t.Errorf("the question is %q", q.Status.Question)
	}
	return q
}

// answer answers the question and waits until both objects have ended.
func (b *bench) answer(t *testing.T, what, target, suffix string) string {
	t.Helper()
	b.space.Create(b.to(b.space.Answer(b.name(what), b.name(target), "June"), what, suffix).Build())
	a, q := b.ended(what), b.ended(target)
	requireArtifact(t, q, "The answer is: June")
	if a.Status.TaskID != q.Status.TaskID {
		t.Errorf("the answer went to task %s, and the question is of %s", a.Status.TaskID, q.Status.TaskID)
	}
	return b.outcome(q) + "; " + b.outcome(a)
}

func questionAndAnswer(t *testing.T, b *bench) string {
	b.ask(t, "ask", direct)
	return b.answer(t, "answer", "ask", direct)
}

// lostAnswer loses the agent's response to the answer: the task tells that it has it.
func lostAnswer(t *testing.T, b *bench) string {
	b.ask(t, "ask2", lossy)
	return b.answer(t, "lost-answer", "ask2", lossy)
}

func refine(t *testing.T, b *bench) string {
	b.space.Create(b.message("first", direct, "complete").Build(),
		b.to(b.space.Refinement(b.name("second"), b.name("first"), "complete"), "second", direct).Build())
	first, second := b.ended("first"), b.ended("second")
	if first.Status.TaskID == second.Status.TaskID || first.Status.ContextID != second.Status.ContextID {
		t.Errorf("want two tasks in one context:\n%s\n%s", harness.Describe(first), harness.Describe(second))
	}
	return b.outcome(first) + "; " + b.outcome(second)
}

func cancelTask(_ *testing.T, b *bench) string {
	b.space.Create(b.message("cancel", direct, "work 600000").Build())
	b.space.AwaitPhase(b.name("cancel"), v1alpha1.PhaseWorking)
	b.space.Kubectl("patch", "delegation", b.name("cancel"), "--type=merge", "--patch", `{"spec":{"cancel":true}}`)
	return b.outcome(b.ended("cancel"))
}

// lostResponse loses the first response to a message: the task is found by the message in its history, where tasks are
// listed.
func lostResponse(t *testing.T, b *bench) string {
	b.space.Create(b.message("lost-send", lossy, "work 300").Build())
	d := b.ended("lost-send")
	if d.Status.Phase == v1alpha1.PhaseUnknown {
		return b.outcome(d)
	}
	requireArtifact(t, d, "42")
	if made := b.agent.Record(d.Spec.MessageID).TaskIDs; len(made) != 1 || made[0] != d.Status.TaskID {
		t.Errorf("the agent made %q of the message; the Delegation has %q", made, d.Status.TaskID)
	}
	return b.outcome(d)
}

func throw(_ *testing.T, b *bench) string {
	b.space.Create(b.message("throw", hasty, "throw").Build())
	return b.outcome(b.ended("throw"))
}
