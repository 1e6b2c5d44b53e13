// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestLife(t *testing.T) {
	for _, rows := range [][]row{continuationRows(), answerRows(), refinementRows(), rivalRows(), endRows(), resolutionRows(), duplicateRows(), foundRows(), refusedCopyRows()} {
		for _, r := range rows {
			t.Run(r.name, r.run)
		}
	}
}

// root is a Delegation whose task is in a state.
func root(state v1alpha1.TaskState) *v1alpha1.Delegation {
	w := newWorld()
	w.Delegation.Name, w.Delegation.UID = "root", "uid-root"
	w.bound(state)
	return w.Delegation
}

// answer is a Delegation that continues a task in a state, minted so that it is not looked up first.
func answer(state v1alpha1.TaskState) *world {
	w := minted()
	w.Delegation.Spec.ContextID = ""
	w.Delegation.Spec.Continues = &v1alpha1.DelegationReference{Name: "root"}
	w.Related.Root = root(state)
	return w
}

func (w *world) claimedBy(holder *v1alpha1.Delegation, interruption int32) *world {
	w.Related.Root.Status.AnsweredBy = &v1alpha1.Claim{Name: holder.Name, UID: holder.UID, Interruption: interruption}
	w.Related.Holder = holder
	return w
}

func (w *world) claimed() *world { return w.claimedBy(w.Delegation, 1) }

// rivalAnswer is another answer to the same question.
func rivalAnswer(phase v1alpha1.Phase, task string) *v1alpha1.Delegation {
	return &v1alpha1.Delegation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "other", UID: "uid-other"},
		Status:     v1alpha1.DelegationStatus{Phase: phase, TaskID: task},
	}
}

func names(parts ...string) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
		ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		for _, part := range parts {
			if ready == nil || !strings.Contains(ready.Message, part) {
				t.Errorf("the message does not name %q: %+v", part, ready)
			}
		}
	}
}

func continuationRows() []row {
	const input = v1alpha1.TaskStateInputRequired
	missing := answer(input)
	missing.Related.Root = nil
	other := answer(input)
	other.Delegation.Spec.ContextID = "c-other"
	ahead := answer(input)
	ahead.Related.Ahead = "older"
	mine := answer(input).claimed()
	mine.Related.Ahead = "older"
	circle := answer(input)
	circle.Related.Root, circle.Related.Circle = nil, true
	foreign := answer(input)
	foreign.Related.Root.Spec.AgentRef.Name = "elsewhere"
	eager := answer(v1alpha1.TaskStateWorking)
	eager.Agent.TakesWhileWorking = true
	asksAgain := answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseWorking, "t-5a"), 1)
	asksAgain.Related.Root.Status.Interruptions = 2
	unknown := answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseUnknown, ""), 1)
	unknown.Related.Root.Status.Interruptions = 2
	gone := answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseSending, ""), 1)
	gone.Related.Holder = nil
	abandoned := rivalAnswer(v1alpha1.PhaseUnknown, "")
	abandoned.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	envelope := func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if s, ok := a.(Send); ok && (s.Envelope.TaskID != "t-5a" || s.Envelope.ContextID != "c-recon-09" || s.Attempt.Task != "t-5a" || s.Attempt.Before == nil) {
			t.Errorf("the answer goes out as %+v %+v", s.Envelope, s.Attempt)
		}
	}
	pending := func(name string, w *world, reason string) row {
		return row{name: name, world: w, want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: reason}
	}
	return []row{
		{name: "an answer claims the question", world: answer(input), want: Claim{}},
		{name: "and is sent with the task and its context", world: answer(input).claimed(), want: Send{}, check: envelope},
		{name: "credentials asked for are a question too", world: answer(v1alpha1.TaskStateAuthRequired), want: Claim{}},
		pending("without its target it waits", missing, "TargetNotFound"),
		pending("until the task asks it waits", answer(v1alpha1.TaskStateWorking), "TargetNotAsking"),
		{name: "where the agent takes it, it goes at once", world: eager, want: Send{}},
		pending("of two answers the older goes first", ahead, "OlderAnswerFirst"),
		pending("a question that another answers is left to it", answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseSending, ""), 1), "AnsweredByAnother"),
		pending("also when its outcome is unknown and the agent asks again", unknown, "AnsweredByAnother"),
		{name: "a claim whose holder is gone is void", world: gone, want: Claim{}},
		{name: "and one whose holder ended without an answer", world: answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseRejected, ""), 1), want: Claim{}},
		{name: "or that a person gave up", world: answer(input).claimedBy(abandoned, 1), want: Claim{}},
		pending("one that the agent replied to stands", answer(input).claimedBy(rivalAnswer(v1alpha1.PhaseCompleted, ""), 1), "AnsweredByAnother"),
		{name: "a further question is free again", world: asksAgain, want: Claim{}},
		{name: "an answer to a task that is done is never sent", world: answer(v1alpha1.TaskStateCompleted), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: ReasonTaskTerminal, check: names("refines", "kubectl delete delegation -n books reconcile")},
		{name: "who has the question goes, however old another is", world: mine, want: Send{}},
		{name: "one that leads back to itself has no task", world: circle, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "TargetIsItself", check: names("spec.continues")},
		{name: "another agent knows nothing of the task", world: foreign, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "AgentMismatch", check: names("spec.agentRef", "agentRef: {name: elsewhere}")},
		{name: "nor one in another conversation", world: other, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "ContextMismatch"},
	}
}

func answerRows() []row {
	const input = v1alpha1.TaskStateInputRequired
	sent := func() *world {
		w := answer(input).claimed().journalled(1)
		a, _ := Journalled(w.Delegation)
		before := start.Truncate(time.Microsecond)
		a.Task, a.Before = "t-5a", &before
		if err := a.Annotate(w.Delegation); err != nil {
			panic(err)
		}
		return w
	}
	lost := func() *world {
		w := sent().result(CallSend, Ambiguous)
		w.Delegation.Status = Next(w.Input).(Record).Status
		w.Result = nil
		return w
	}
	taken := lost().task(CallGet, "t-5a", v1alpha1.TaskStateWorking, start.Add(time.Second))
	taken.Result.Task.History = []string{"m-71", "uid-1"}
	refused := func(state v1alpha1.TaskState) *world {
		w := sent().result(CallSend, Refused)
		w.Result.Task = &Task{ID: "t-5a", State: state}
		return w
	}
	late := timeout + settle
	return []row{
		{name: "of a lost answer the task is asked", world: lost(), want: Ask{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "whose history tells", world: taken, want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: recovered(v1alpha1.RecoveredByLookup)},
		{name: "a task that asks the same question has not taken it", world: lost().at(late).task(CallGet, "t-5a", input, start), want: Send{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: sends(2)},
		{name: "which is not believed before it settled", world: lost().at(time.Second).task(CallGet, "t-5a", input, start), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "a task that moved on proves nothing", world: lost().at(late).task(CallGet, "t-5a", v1alpha1.TaskStateWorking, start.Add(time.Minute)), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "refused by a task that is done it ends", world: refused(v1alpha1.TaskStateCompleted), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: ReasonTaskTerminal, check: names("refines")},
		{name: "refused by a task at work it is tried again", world: refused(v1alpha1.TaskStateWorking), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: ReasonTaskBusy},
	}
}

func refinementRows() []row {
	refining := func(states ...v1alpha1.TaskState) *world {
		w := minted()
		w.Delegation.Spec.ContextID = ""
		for _, state := range states {
			w.Delegation.Spec.Refines = append(w.Delegation.Spec.Refines, v1alpha1.DelegationReference{Name: "root"})
			w.Related.Refined = append(w.Related.Refined, root(state))
		}
		return w
	}
	missing := refining(v1alpha1.TaskStateCompleted)
	foreign := refining(v1alpha1.TaskStateCompleted, v1alpha1.TaskStateCompleted)
	foreign.Related.Refined[1].Spec.AgentRef.Name = "elsewhere"
	lost := refining(v1alpha1.TaskStateWorking)
	lost.Related.Refined[0].Status.Phase = v1alpha1.PhaseFailed
	missing.Related.Refined[0] = nil
	envelope := func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if s, ok := a.(Send); ok && (s.Envelope.TaskID != "" || s.Envelope.ContextID != "c-recon-09" || !slices.Equal(s.Attempt.References, []string{"t-5a", "t-5a"})) {
			t.Errorf("the refinement goes out as %+v %+v", s.Envelope, s.Attempt)
		}
	}
	return []row{
		{name: "a refinement refers to finished tasks", world: refining(v1alpha1.TaskStateCompleted, v1alpha1.TaskStateFailed), want: Send{}, check: envelope},
		{name: "it waits for all of them", world: refining(v1alpha1.TaskStateCompleted, v1alpha1.TaskStateWorking), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: "TargetNotFinished"},
		{name: "one that was lost at the agent can't be referred to", world: lost, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "NoTask"},
		{name: "all have to be at its own agent", world: foreign, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "AgentMismatch"},
		{name: "and for one that is not there", world: missing, want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: "TargetNotFound"},
	}
}

func rivalRows() []row {
	rival := func(after time.Duration, change func(*v1alpha1.Delegation)) *world {
		w := newWorld().result(CallFind, Absent)
		w.Delegation.CreationTimestamp = metav1.Time{Time: start}
		other := w.Delegation.DeepCopy()
		other.UID, other.Name, other.CreationTimestamp = "uid-0", "other", metav1.Time{Time: start.Add(after)}
		if change != nil {
			change(other)
		}
		w.Related.SameMessage = []*v1alpha1.Delegation{other}
		return w
	}
	sent := func(d *v1alpha1.Delegation) { d.Status.Attempts = 1 }
	never := func(d *v1alpha1.Delegation) {
		d.Status.Phase = v1alpha1.PhaseUndelivered
		d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse}}
	}
	tie := rival(0, func(d *v1alpha1.Delegation) { d.UID = "uid-2" })
	context := newWorld().result(CallFind, Absent)
	other := context.Delegation.DeepCopy()
	other.UID, other.Namespace, other.CreationTimestamp = "uid-0", "elsewhere", metav1.Time{Time: start.Add(-time.Hour)}
	context.Delegation.CreationTimestamp = metav1.Time{Time: start}
	context.Related.SameContext = []*v1alpha1.Delegation{other}
	inUse := func(name string, w *world, reason string) row {
		return row{name: name, world: w, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: reason}
	}
	return []row{
		inUse("a messageId of an older Delegation is refused", rival(-time.Hour, nil), "MessageIdInUse"),
		inUse("and one that was sent, however young", rival(time.Hour, sent), "MessageIdInUse"),
		{name: "the older goes", world: rival(time.Hour, nil), want: Send{}},
		{name: "one that was never sent and never will be is no rival", world: rival(-time.Hour, never), want: Send{}},
		{name: "two of one second look at each other first", world: tie, want: Wait{}},
		inUse("a contextId of another namespace is refused", context, "ContextIdInUse"),
	}
}
