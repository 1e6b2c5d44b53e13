// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func resolutionRows() []row {
	decided := func(action v1alpha1.ResolutionAction, task string) *world {
		w := unknownFor(time.Second)
		w.Delegation.Spec.Resolution = &v1alpha1.Resolution{Action: action, TaskID: task}
		return w
	}
	adopting := func(history ...string) *world {
		w := decided(v1alpha1.ResolutionAdopt, "t-5a").task(CallGet, "t-5a", v1alpha1.TaskStateWorking, start)
		w.Result.TaskID, w.Result.Task.History = "t-5a", history
		return w
	}
	again := decided(v1alpha1.ResolutionResend, "")
	again.Delegation.Status = Next(again.Input).(Record).Status
	again.journalled(2).at(time.Hour)
	again.Delegation.Status.Phase, again.Delegation.Status.Attempts = v1alpha1.PhaseUnknown, 2
	another := func(attempt int32) *world {
		w := decided(v1alpha1.ResolutionResend, "")
		w.Delegation.Status = Next(w.Input).(Record).Status
		w.journalled(2).at(time.Hour)
		w.Delegation.Status.Phase, w.Delegation.Status.Attempts = v1alpha1.PhaseUnknown, 2
		w.Delegation.Spec.Resolution.Attempt = attempt
		return w
	}
	resending := func(after time.Duration) *world {
		w := unknownFor(0)
		w.Delegation.Status = newWorld().recorded(1, Ambiguous).Delegation.Status
		w.Delegation.Spec.OnUnknown = v1alpha1.UnknownResend
		return w.at(after).result(CallFind, Absent)
	}
	spent := newWorld().lookup(v1alpha1.LookupNone).recorded(6, Ambiguous).at(time.Hour)
	spent.Delegation.Spec.OnUnknown = v1alpha1.UnknownResend
	return []row{
		{name: "a task is adopted when it holds the message", world: adopting("m-71"), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: recovered(v1alpha1.RecoveredByResolution)},
		{name: "or shows no history", world: adopting(), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "and not when it holds others", world: adopting("m-1"), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonResolutionRefused},
		{name: "it is looked at first", world: decided(v1alpha1.ResolutionAdopt, "t-5a"), want: Ask{}, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "a resend goes once more", world: decided(v1alpha1.ResolutionResend, ""), want: Send{}, writes: 1, phase: v1alpha1.PhaseSending, reason: "Resending", check: sends(2)},
		{name: "and not a third time", world: again, want: Ask{}, phase: v1alpha1.PhaseUnknown, reason: "Resending"},
		{name: "unless the decision is about the second", world: another(2), want: Send{}, writes: 1, phase: v1alpha1.PhaseSending, reason: "Resending", check: sends(3)},
		{name: "one about an earlier attempt is not carried out", world: another(1), want: Ask{}, phase: v1alpha1.PhaseUnknown, reason: "Resending"},
		{name: "nor one about an attempt that there was not", world: another(3), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonResolutionRefused, check: names(`"action":"Resend","attempt":2`)},
		{name: "what a refused adoption left in the spec is taken out by the next command", world: refusedAdoption(), want: Ask{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown, check: names(`"action":"Resend","taskId":null`, `"action":"Abandon","taskId":null`)},
		{name: "abandoned it is over", world: decided(v1alpha1.ResolutionAbandon, ""), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonAbandoned},
		{name: "with onUnknown Resend it waits a while", world: resending(3 * time.Second), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "with onUnknown Resend it ends Unknown after so many", world: spent, want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "with onUnknown Resend it goes again by itself", world: resending(time.Hour), want: Send{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: sends(2)},
	}
}

func duplicateRows() []row {
	bound := func() *world { return newWorld().deduplicating().journalled(2) }
	two := bound().task(CallSend, "t-5a", v1alpha1.TaskStateWorking, start)
	two.Result.Attempt, two.Result.Others = 2, []string{"t-5b", "t-5a"}
	late := newWorld().bound(v1alpha1.TaskStateWorking).task(CallSend, "t-5b", v1alpha1.TaskStateWorking, start)
	canceled := newWorld().bound(v1alpha1.TaskStateCompleted)
	canceled.Delegation.Status.Duplicates = []v1alpha1.DuplicateTask{{TaskID: "t-5b"}}
	canceled.result(CallCancel, Accepted).Result.TaskID = "t-5b"
	stubborn := newWorld().bound(v1alpha1.TaskStateWorking)
	stubborn.Delegation.Status.Duplicates = []v1alpha1.DuplicateTask{{TaskID: "t-5b"}}
	stubborn.result(CallCancel, Ambiguous).Result.TaskID = "t-5b"
	asks := func(t *testing.T, a Action, s *v1alpha1.DelegationStatus) {
		if ask, ok := a.(Ask); ok && (ask.Call != CallCancel || ask.TaskID != "t-5b" || s.TaskID != "t-5a") {
			t.Errorf("asks %+v with task %s", ask, s.TaskID)
		}
	}
	return []row{
		{name: "a second task of the message is canceled, the first stays", world: two, want: Ask{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: asks},
		{name: "one that a late answer brings too", world: late, want: Ask{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: asks},
		{name: "one that can't be canceled does not keep the first from being followed", world: stubborn, want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "once", world: canceled, want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
	}
}

func asksFor(call Call) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if ask, ok := a.(Ask); ok && ask.Call != call {
			t.Errorf("asks for %s, want %s", ask.Call, call)
		}
	}
}

// refusedAdoption becomes Unknown with the taskId of an earlier decision in its spec.
func refusedAdoption() *world {
	w := newWorld().lookup(v1alpha1.LookupNone).recorded(1, Ambiguous).at(time.Hour)
	w.Delegation.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionAdopt, TaskID: "t-5b"}
	return w
}

// refusedCopyRows are copies that an agent refused although it may have taken the first.
func refusedCopyRows() []row {
	refused := func(lookup v1alpha1.LookupMode, reason string) *world {
		w := newWorld().lookup(lookup).deduplicating().recorded(1, Ambiguous).journalled(2).result(CallSend, Refused).attempt(2)
		w.Result.Reason = reason
		return w
	}
	return []row{
		{name: "a refused copy does not end the message", world: refused(v1alpha1.LookupBestEffort, "BadRequest"), want: Ask{}, writes: 2, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: asksFor(CallFind)},
		{name: "where the agent can't be asked it is Unknown", world: refused(v1alpha1.LookupNone, "BadRequest").at(time.Hour), want: Wait{}, writes: 2, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown, check: delivered(metav1.ConditionUnknown)},
		{name: "an agent that has another body under the id does", world: refused(v1alpha1.LookupBestEffort, ReasonDigestMismatch), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: ReasonDigestMismatch},
	}
}

// foundRows are tasks that the lookup before the first attempt found.
func foundRows() []row {
	found := func(state v1alpha1.TaskState) *world { return newWorld().task(CallFind, "t-5a", state, start) }
	protects := func(want bool) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
		return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
			w := found(s.State)
			if record, ok := Next(w.Input).(Record); !ok || record.Protects != want {
				t.Errorf("%+v; want Protects %t", record, want)
			}
		}
	}
	return []row{
		{name: "a task that was there before is kept from being left behind", world: found(v1alpha1.TaskStateWorking), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: protects(true)},
		{name: "one that is done needs no such thing", world: found(v1alpha1.TaskStateCompleted), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed", check: protects(false)},
	}
}
