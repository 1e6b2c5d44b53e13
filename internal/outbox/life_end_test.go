// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func endRows() []row {
	edit := func(w *world, change func(*v1alpha1.DelegationSpec)) *world {
		change(&w.Delegation.Spec)
		return w
	}
	created := func(w *world) *world {
		w.Delegation.CreationTimestamp = metav1.Time{Time: start}
		return w
	}
	cancel := func(s *v1alpha1.DelegationSpec) { s.Cancel = true }
	deadline := func(s *v1alpha1.DelegationSpec) { s.ActiveDeadlineSeconds = ptr.To[int64](60) }
	delivery := func(s *v1alpha1.DelegationSpec) { s.DeliveryDeadline.Duration = time.Hour }
	ttl := func(s *v1alpha1.DelegationSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](60) }
	notAfter := func(s *v1alpha1.DelegationSpec) { s.NotAfter = &metav1.Time{Time: start} }
	working := func() *world { return newWorld().bound(v1alpha1.TaskStateWorking) }
	asked := edit(working(), cancel)
	asked.Delegation.Status = Next(asked.Input).(Record).Status
	asked.result(CallCancel, Accepted)
	canceling := func() *world {
		w := edit(working(), cancel)
		w.Delegation.Status = Next(w.Input).(Record).Status
		return w
	}
	unanswered := canceling().result(CallCancel, Ambiguous)
	lookedAt := func(after time.Duration) *world {
		w := canceling().task(CallGet, "t-5a", v1alpha1.TaskStateWorking, start)
		return w.at(after)
	}
	ended := canceling().task(CallGet, "t-5a", v1alpha1.TaskStateCompleted, start.Add(time.Second))
	accepted := edit(working(), cancel).result(CallCancel, Accepted)
	accepted.Delegation.Status = Next(accepted.Input).(Record).Status
	accepted.Result = nil
	orphan := edit(working().deleted(0), func(s *v1alpha1.DelegationSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan })
	flying := edit(newWorld().recorded(1, Ambiguous).deleted(0), func(s *v1alpha1.DelegationSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan })
	nowhere := minted()
	nowhere.Agent.Problem = &Problem{Reason: "AgentNotFound", Message: "create it"}
	out := func(after time.Duration) *world {
		w := newWorld().recorded(1, Ambiguous).deleted(0).at(after)
		w.Running = CallSend
		return w
	}
	withoutSource := newWorld().deduplicating().recorded(1, Ambiguous).deleted(0)
	withoutSource.Body.Digest = "sha256:other"
	return []row{
		{name: "deleted with an open attempt that can't be repeated it is looked up", world: withoutSource, want: Ask{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "a deletion waits for a call that is out", world: out(0), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(releaseAfter)},
		{name: "and not for ever", world: out(releaseAfter), want: Release{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "an edit that changes nothing else is noted", world: edited(working(), func(d *v1alpha1.Delegation) { d.Generation++ }), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "suspended it waits", world: edit(minted(), func(s *v1alpha1.DelegationSpec) { s.Suspend = true }), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: "Suspended", check: names(`kubectl patch delegation -n books reconcile --type=merge -p '{"spec":{"suspend":false}}'`)},
		{name: "canceled before it was sent it ends", world: edit(minted(), cancel), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: "CanceledBeforeDelivery"},
		{name: "canceled between attempts it ends", world: edit(newWorld().recorded(1, NotSent), cancel), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: "CanceledBeforeDelivery"},
		{name: "canceled with an open attempt it is recovered first", world: edit(newWorld().recorded(1, Ambiguous), cancel), want: Ask{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "canceled at work the agent is asked", world: edit(working(), cancel), want: Ask{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling},
		{name: "its answer is noted", world: asked, want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonCancelAccepted},
		{name: "and it is not asked again", world: accepted, want: Follow{}, phase: v1alpha1.PhaseWorking, reason: ReasonCancelAccepted},
		{name: "between two requests that are not answered the task is looked at", world: unanswered, want: Ask{}, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling, check: asksFor(CallGet)},
		{name: "and then it is asked again", world: lookedAt(cancelRetry), want: Ask{}, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling, check: asksFor(CallCancel)},
		{name: "but not at once", world: lookedAt(time.Second), want: Wait{}, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling},
		{name: "an end that the look shows counts", world: ended, want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "an agent that will not is noted", world: edit(working(), cancel).result(CallCancel, Refused), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonCancelRefused},
		{name: "a cancel that was asked for is a success", world: edit(working(), cancel).task(CallCancel, "t-5a", v1alpha1.TaskStateCanceled, start.Add(time.Second)), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: "Canceled", check: stalled(false)},
		{name: "one that was not is a failure", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateCanceled, start.Add(time.Second)), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: "Canceled", check: stalled(true)},
		{name: "past its deadline a task is canceled", world: edit(working(), deadline).at(time.Minute), want: Ask{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonCanceling},
		{name: "and the Delegation fails", world: edit(working(), deadline).at(time.Minute).task(CallCancel, "t-5a", v1alpha1.TaskStateCanceled, start.Add(time.Minute)), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: ReasonDeadlineExceeded},
		{name: "also when the agent does not stop", world: edit(working(), deadline).at(3 * time.Minute), want: Wait{}, writes: 1, phase: v1alpha1.PhaseFailed, reason: ReasonDeadlineExceeded},
		{name: "never accepted in its time it is undelivered", world: edit(created(newWorld().recorded(1, NotSent)), delivery).at(time.Hour), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUndelivered, reason: "DeliveryDeadlineExceeded"},
		{name: "of open outcome by then it is unknown", world: edit(created(newWorld().recorded(1, Ambiguous)), delivery).at(time.Hour), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "an old manifest is not sent", world: edit(minted(), notAfter), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUndelivered, reason: "Expired"},
		{name: "also when it waits for something else", world: edit(nowhere, notAfter), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUndelivered, reason: "Expired"},
		{name: "but its task is looked up", world: edit(newWorld(), notAfter), want: Ask{}},
		{name: "a finished one is kept for its time", world: edit(newWorld().bound(v1alpha1.TaskStateCompleted), ttl), want: Wait{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "and then deleted", world: edit(newWorld().bound(v1alpha1.TaskStateCompleted), ttl).at(time.Minute), want: Delete{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "an orphan whose attempt may be under way is kept until that is over", world: flying, want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(timeout)},
		{name: "an orphan is left at work", world: orphan, want: Release{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
	}
}

func stalled(want bool) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
		if got := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled); got != want {
			t.Errorf("Stalled is %t, want %t", got, want)
		}
	}
}
