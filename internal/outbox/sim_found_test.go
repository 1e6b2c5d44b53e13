// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// TestFoundBySimulation has what the simulation found: each row broke a promise once.
func TestFoundBySimulation(t *testing.T) {
	for _, rows := range [][]row{foundOutcomes(), foundDeadlines(), foundAnswers(), foundTasks(), foundJournals(), foundStale()} {
		for _, r := range rows {
			t.Run(r.name, r.run)
		}
	}
}

func edited(w *world, change func(*v1alpha1.Delegation)) *world {
	change(w.Delegation)
	return w
}

// expiring has its deliveryDeadline a time after start.
func expiring(w *world, after time.Duration) *world {
	return edited(w, func(d *v1alpha1.Delegation) {
		d.CreationTimestamp, d.Spec.DeliveryDeadline.Duration = metav1.Time{Time: start}, after
	})
}

func (w *world) reason(text string) *world {
	w.Result.Reason = text
	return w
}

func foundOutcomes() []row {
	lost := newWorld().journalledBy("other", 1).result(CallSend, NotSent)
	deleted := newWorld().journalledBy("other", 1).result(CallSend, NotSent).deleted(0)
	// Another replica has noted the attempt before its own answer came.
	noted := newWorld().recorded(1, Ambiguous).result(CallSend, Refused)
	held := newWorld().journalledBy("other", 1)
	held.Delegation.Status = v1alpha1.DelegationStatus{Phase: v1alpha1.PhasePending, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Reason: "AgentNotFound"}}}
	held.Agent.Problem = &Problem{Reason: "AgentNotFound", Message: "create it"}
	changed := newWorld().deduplicating().recorded(1, NotSent).journalledBy("other", 2)
	changed.Body.Digest = "sha256:other"
	refused := newWorld().deduplicating().recorded(1, Ambiguous).journalled(2).result(CallSend, Refused).reason(ReasonDigestMismatch).attempt(2)
	refused.Delegation.Status = Next(refused.Input).(Record).Status
	named := func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if r, ok := a.(Release); ok && r.Event == nil {
			t.Error("what is left behind is not named in an Event")
		}
	}
	return []row{
		{name: "a journal write that failed says nothing of the attempt that another process journalled", world: lost, want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "nor does it let a deletion go", world: deleted, want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "an answer is recorded although another replica noted the attempt as open", world: noted, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "RefusedReason"},
		{name: "an open attempt without its agent is not said to be undelivered", world: held, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: "AgentNotFound", check: delivered(metav1.ConditionUnknown)},
		{name: "nor is one whose source changed", world: changed, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonMessageSourceChanged, check: delivered(metav1.ConditionUnknown)},
		{name: "refused with an earlier attempt open, it is named when it is let go", world: refused.deleted(0), want: Release{}, phase: v1alpha1.PhaseRejected, reason: ReasonDigestMismatch, check: named},
		{name: "how a search fails is written once", world: unreachable().result(CallFind, Ambiguous).reason("HTTP502"), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonAgentUnreachable},
		{name: "and a replica that can search does not contradict one that can't", world: unreachable().result(CallFind, Absent), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonAgentUnreachable},
	}
}

// unreachable has it on record that a search failed.
func unreachable() *world {
	w := newWorld().recorded(1, Ambiguous).result(CallFind, NotSent)
	w.Delegation.Status = Next(w.Input).(Record).Status
	return w
}

func foundDeadlines() []row {
	resent := expiring(unknownFor(time.Second), time.Minute)
	resent.Delegation.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionResend}
	source := expiring(newWorld().recorded(1, NotSent), time.Hour).at(time.Minute)
	source.Body.Digest = "sha256:other"
	queued := edited(expiring(minted(), time.Hour), func(d *v1alpha1.Delegation) { d.Spec.NotAfter = &metav1.Time{Time: start.Add(time.Minute)} })
	forgotten := expiring(newWorld().deduplicating().recorded(1, Ambiguous), time.Hour).at(3 * time.Second)
	forgotten.Agent.Retention = 10 * time.Minute
	progress := newWorld().deduplicating().recorded(1, InProgress).at(time.Hour)
	progress.Agent.Retention = 10 * time.Minute
	begins := func(by time.Duration) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
		return func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
			if s, ok := a.(Send); ok && !s.Until.Equal(start.Add(by)) {
				t.Errorf("it may begin until start+%s, want start+%s", s.Until.Sub(start), by)
			}
		}
	}
	return []row{
		{name: "a person's resend goes after the deliveryDeadline too", world: resent, want: Send{}, writes: 1, phase: v1alpha1.PhaseSending, reason: "Resending", check: sends(2)},
		{name: "an identical message does not go after the deliveryDeadline", world: expiring(newWorld().deduplicating().recorded(1, Ambiguous), 5*time.Second).at(10 * time.Second), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(timeout)},
		{name: "a search that goes on past the deliveryDeadline waits for its turn", world: expiring(newWorld().recorded(1, Ambiguous), 5*time.Second).at(6*time.Second).result(CallFind, Absent), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(9 * time.Second)},
		{name: "a changed source is decided on at the deliveryDeadline", world: source, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonMessageSourceChanged, check: waits(time.Hour)},
		{name: "a first attempt has to begin before notAfter, however long it queues", world: queued, want: Send{}, check: begins(time.Minute)},
		{name: "an identical message while the agent remembers the first", world: forgotten, want: Send{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: begins(10*time.Minute - timeout)},
		{name: "what was in progress is not sent again to an agent that has forgotten it", world: progress, want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
	}
}

func foundAnswers() []row {
	const input = v1alpha1.TaskStateInputRequired
	refused := func(state v1alpha1.TaskState, n int32) *world {
		w := answer(input).claimed().recorded(1, NotSent).journalled(n).result(CallSend, Refused).attempt(n)
		w.Delegation.Status.Attempts = n - 1
		w.Result.Task = &Task{ID: "t-5a", State: state}
		return w
	}
	open := answer(input).claimed().deduplicating().recorded(1, Ambiguous).journalled(2).result(CallSend, Refused).attempt(2)
	open.Result.Task = &Task{ID: "t-5a", State: v1alpha1.TaskStateWorking}
	bound := answer(input).bound(v1alpha1.TaskStateWorking).deleted(0)
	bound.claimed()
	seen := answer(v1alpha1.TaskStateWorking).bound(v1alpha1.TaskStateWorking).deleted(0)
	seen.claimed()
	open.Agent.Retention = time.Hour
	under := answer(input).claimed().journalledBy("other", 1).deleted(0)
	orphan := edited(answer(input).claimed().journalledBy("other", 1).deleted(0), func(d *v1alpha1.Delegation) { d.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })
	again := answer(input).claimed().lookup(v1alpha1.LookupNone).recorded(1, Ambiguous)
	again.Delegation.Status.Resolution = &v1alpha1.ResolutionStatus{Action: v1alpha1.ResolutionResend, Attempt: 1}
	again.Related.Root.Status.Interruptions = 2
	return []row{
		{name: "refused for now with an earlier attempt open, it is not said to be unsent", world: open, want: Wait{}, writes: 2, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "an agent that asks and refuses is tried again", world: refused(input, 9), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: ReasonTaskBusy},
		{name: "and not for ever", world: refused(input, 10), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "RefusedReason"},
		{name: "a deleted answer that is open keeps its claim until its outcome is found", world: under, want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "whatever its deletionPolicy", world: orphan, want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "one that was taken keeps it while the question shows", world: bound, want: Wait{}, phase: v1alpha1.PhaseWorking, reason: "Working", check: waits(releaseAfter)},
		{name: "and goes when the question is gone", world: seen, want: Release{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "one more copy of an answer takes the question that is asked now", world: again, want: Claim{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
	}
}

func foundTasks() []row {
	cancel := func(w *world) *world { return edited(w, func(d *v1alpha1.Delegation) { d.Spec.Cancel = true }) }
	other := cancel(newWorld().bound(v1alpha1.TaskStateWorking)).result(CallCancel, Accepted)
	other.Result.TaskID = "t-5b"
	gone := newWorld().bound(v1alpha1.TaskStateWorking).deleted(0).result(CallCancel, Accepted)
	gone.Result.TaskID = "t-5b"
	lost := cancel(newWorld().bound(v1alpha1.TaskStateWorking)).result(CallCancel, Refused)
	lost.Delegation.Status = Next(lost.Input).(Record).Status
	lost.at(time.Hour).result(CallGet, Absent)
	lost.Result.Since = lost.Now.Add(-time.Minute)
	back := newWorld().bound(v1alpha1.TaskStateWorking).at(time.Hour)
	back.Agent.Problem = &Problem{Reason: "AgentNotFound", Message: "create it"}
	back.Delegation.Status = Next(back.Input).(Record).Status
	back.Agent.Problem = nil
	failing := newWorld().bound(v1alpha1.TaskStateWorking).at(time.Hour).result(CallGet, NotSent)
	failing.Result.Since = failing.Now.Add(-time.Minute)
	failing.Delegation.Status = Next(failing.Input).(Record).Status
	failing.Result.Reason = "HTTP502"
	return []row{
		{name: "the cancellation of a second task is not that of the first", world: other, want: Ask{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling},
		{name: "nor does it let a deletion go", world: gone, want: Ask{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "a task that can't be canceled may be lost as any other", world: lost, want: Wait{}, writes: 1, phase: v1alpha1.PhaseFailed, reason: ReasonTaskNotFound},
		{name: "an agent that is back is no problem any more", world: back, want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "how a look fails is written once", world: failing, want: Follow{}, phase: v1alpha1.PhaseWorking, reason: ReasonAgentUnreachable},
	}
}

func foundJournals() []row {
	dropped := func(w *world) *world {
		delete(w.Delegation.Annotations, v1alpha1.AttemptAnnotation)
		return w
	}
	old := newWorld().deduplicating().recorded(1, Ambiguous)
	old.Delegation.Status.FirstAttemptTime = &metav1.Time{Time: start.Add(-time.Hour)}
	old.Agent.Retention = 30 * time.Minute
	moved := newWorld().lookup(v1alpha1.LookupAuthoritative).recorded(1, Ambiguous)
	a, _ := Journalled(moved.Delegation)
	a.Number, a.Elsewhere = 2, true
	if err := a.Annotate(moved.Delegation); err != nil {
		panic(err)
	}
	again := newWorld().lookup(v1alpha1.LookupNone).recorded(1, Ambiguous).at(timeout)
	again.Delegation.Spec.OnUnknown = v1alpha1.UnknownResend
	again.Agent.Endpoint = "endpoint-2"
	elsewhere := func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if s, ok := a.(Send); ok && !s.Attempt.Elsewhere {
			t.Error("the journal forgets that the first copy went elsewhere")
		}
	}
	return []row{
		{name: "a journal that was dropped may have had one attempt more than is on record", world: dropped(newWorld().recorded(1, NotSent)).at(time.Hour), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "and what the agent remembers counts from the first attempt", world: dropped(old).at(time.Minute), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "a copy that goes to another endpoint than an open one is marked", world: again, want: Send{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: elsewhere},
		{name: "and an authority that was not asked then proves nothing", world: moved.at(timeout+settle).result(CallFind, Absent), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
	}
}

// foundStale are decisions on an object that is older than what this process did to it. The model in docs/model has them
// as STALE_OWN.
func foundStale() []row {
	behind := newWorld().result(CallSend, Ambiguous)
	behind.Delegation.Spec.MessageID = "m-71"
	behind.Agent.Lookup = v1alpha1.LookupNone
	replaced := newWorld().lookup(v1alpha1.LookupNone).journalled(1).result(CallSend, NotSent).reason(ReasonJournalWriteFailed)
	replaced.Result.Journal = start.Add(time.Second)
	own := newWorld().journalled(1).result(CallSend, NotSent).reason(ReasonJournalWriteFailed)
	foreign := newWorld().deduplicating().journalledBy("other", 1)
	return []row{
		{name: "what was sent is not sent again on an object that does not show it", world: behind, want: Wait{}},
		{name: "a journal that was not written proves nothing of another of the same number", world: replaced, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "one that was written after all permitted nothing", world: own, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonJournalWriteFailed, check: delivered(metav1.ConditionFalse)},
		{name: "an attempt of another process is given its time, noted or not", world: foreign, want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
	}
}
