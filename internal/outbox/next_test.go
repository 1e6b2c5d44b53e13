// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// row is one line of the state machine's table.
type row struct {
	name  string
	world *world
	// want is the type of the action that it rests on, after writes status writes.
	want   Action
	writes int
	phase  v1alpha1.Phase
	reason string
	// check looks closer, where that is not enough.
	check func(*testing.T, Action, *v1alpha1.DelegationStatus)
}

func (r row) run(t *testing.T) {
	action, status, writes := settled(t, r.world.Input)
	if reflect.TypeOf(action) != reflect.TypeOf(r.want) {
		t.Errorf("rests on %T %+v, want %T", action, action, r.want)
	}
	if writes != r.writes {
		t.Errorf("%d status writes, want %d", writes, r.writes)
	}
	if status.Phase != r.phase {
		t.Errorf("phase %q, want %q", status.Phase, r.phase)
	}
	reason := ""
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		reason = ready.Reason
	}
	if reason != r.reason {
		t.Errorf("reason %q, want %q", reason, r.reason)
	}
	if r.check != nil {
		r.check(t, action, &status)
	}
}

func TestNext(t *testing.T) {
	for _, rows := range [][]row{unsentRows(), sendRows(), recoveryRows(), boundRows(), deletionRows()} {
		for _, r := range rows {
			t.Run(r.name, r.run)
		}
	}
}

func sends(n int32) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if s, ok := a.(Send); ok && s.Attempt.Number != n {
			t.Errorf("attempt %d, want %d", s.Attempt.Number, n)
		}
	}
}

func waits(d time.Duration) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if w, ok := a.(Wait); ok && !w.Until.Equal(start.Add(d)) {
			t.Errorf("waits until start+%s, want start+%s", w.Until.Sub(start), d)
		}
	}
}

func delivered(want metav1.ConditionStatus) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
		if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDelivered); c == nil || c.Status != want {
			t.Errorf("Delivered is %+v, want %s", c, want)
		}
	}
}

func recovered(by v1alpha1.Recovery) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
		if s.RecoveredBy != by {
			t.Errorf("recoveredBy %q, want %q", s.RecoveredBy, by)
		}
	}
}

func minted() *world {
	w := newWorld()
	w.Delegation.Spec.MessageID = ""
	return w
}

func unsentRows() []row {
	noAgent, noBody, failed := newWorld(), newWorld(), newWorld().result(CallSend, NotSent).reason(ReasonJournalWriteFailed)
	noAgent.Agent.Problem = &Problem{Reason: "AgentNotFound", Message: "create it"}
	noBody.Body.Problem = &Problem{Reason: "MessageSourceNotFound", Message: "create it"}
	running := newWorld()
	running.Running = CallSend
	return []row{
		{name: "a new message is sent without a status write", world: minted(), want: Send{}, check: sends(1)},
		{name: "one that the manifest names is looked up first", world: newWorld(), want: Ask{}},
		{name: "and sent when the agent does not know it", world: newWorld().result(CallFind, Absent), want: Send{}, check: sends(1)},
		{name: "or can't tell", world: newWorld().result(CallFind, Refused), want: Send{}, check: sends(1)},
		{name: "and not sent while the agent can't be asked", world: newWorld().result(CallFind, Ambiguous), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: ReasonAgentUnreachable},
		{name: "a task of it from before is bound without a send", world: newWorld().task(CallFind, "t-5a", v1alpha1.TaskStateWorking, start), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: recovered(v1alpha1.RecoveredByLookup)},
		{name: "while the send is out nothing is done", world: running, want: Wait{}},
		{name: "without its agent it waits", world: noAgent, want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: "AgentNotFound", check: delivered(metav1.ConditionFalse)},
		{name: "without its content it waits", world: noBody, want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: "MessageSourceNotFound"},
		{name: "a journal write that failed sent nothing and is tried again later", world: failed, want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: ReasonJournalWriteFailed},
	}
}

func sendRows() []row {
	out := func(o Outcome) *world { return newWorld().journalled(1).result(CallSend, o) }
	reply := out(Accepted)
	text := "done"
	reply.Result.Reply = &text
	earlier := newWorld().deduplicating().journalled(2).task(CallSend, "t-5a", v1alpha1.TaskStateWorking, start)
	return []row{
		{name: "a task binds", world: out(Accepted).task(CallSend, "t-5a", v1alpha1.TaskStateSubmitted, start), want: Follow{}, writes: 1, phase: v1alpha1.PhaseSubmitted, reason: "Submitted", check: recovered("")},
		{name: "a terminal task finishes in the same write", world: out(Accepted).task(CallSend, "t-5a", v1alpha1.TaskStateCompleted, start), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed", check: delivered(metav1.ConditionTrue)},
		{name: "a direct reply finishes", world: reply, want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: ReasonReplied},
		{name: "a late answer of an earlier attempt binds", world: earlier, want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "NotSent waits for the next attempt", world: out(NotSent), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: "NotSentReason", check: delivered(metav1.ConditionFalse)},
		{name: "NotSent is sent again when it is time", world: newWorld().recorded(1, NotSent).at(3 * time.Second), want: Send{}, phase: v1alpha1.PhaseSending, reason: "NotSentReason", check: sends(2)},
		{name: "Refused is final", world: out(Refused), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "RefusedReason", check: delivered(metav1.ConditionFalse)},
		{name: "Unauthorized waits for credentials", world: out(Unauthorized), want: Wait{}, writes: 1, phase: v1alpha1.PhasePending, reason: ReasonAuthenticationFailed, check: delivered(metav1.ConditionFalse)},
		{name: "new credentials end the wait", world: newCredentials(), want: Send{}, phase: v1alpha1.PhasePending, reason: ReasonAuthenticationFailed},
		{name: "InProgress sends the same again later", world: out(InProgress), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonInProgress, check: delivered(metav1.ConditionUnknown)},
		{name: "InProgress is sent again without a promise of deduplication", world: newWorld().lookup(v1alpha1.LookupNone).recorded(1, InProgress).at(3 * time.Second), want: Send{}, phase: v1alpha1.PhaseSending, reason: ReasonInProgress, check: sends(2)},
		{name: "Unresolved is not sent again: it is looked up", world: out(Unresolved), want: Ask{}, writes: 2, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "a changed source stops", world: changedSource(), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonMessageSourceChanged},
	}
}

func newCredentials() *world {
	w := newWorld().recorded(1, Unauthorized).at(time.Second)
	w.Agent.Credentials = "secret-2"
	return w
}

func changedSource() *world {
	w := newWorld().recorded(1, NotSent).at(time.Hour)
	w.Body.Digest = "sha256:other"
	return w
}

func recoveryRows() []row {
	ambiguous := func(w *world) *world { return w.recorded(1, Ambiguous) }
	moved := ambiguous(newWorld().lookup(v1alpha1.LookupAuthoritative)).at(2*time.Minute).result(CallFind, Absent)
	moved.Agent.Endpoint = "endpoint-2"
	lost := newWorld().recorded(1, Ambiguous)
	delete(lost.Delegation.Annotations, v1alpha1.AttemptAnnotation)
	lost.at(2*time.Minute).result(CallFind, Absent)
	unreadable := newWorld()
	unreadable.Delegation.Annotations = map[string]string{v1alpha1.AttemptAnnotation: "{"}
	unknown := func() *world { return newWorld().lookup(v1alpha1.LookupNone).recorded(1, Ambiguous) }
	return []row{
		{name: "a deduplicating agent gets the identical message again", world: ambiguous(newWorld().deduplicating()).at(3 * time.Second), want: Send{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: sends(2)},
		{name: "after a backoff", world: ambiguous(newWorld().deduplicating()), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "one that lost track of it is asked", world: newWorld().deduplicating().recorded(1, Unresolved).at(3 * time.Second), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "and what it does not show is unknown", world: newWorld().deduplicating().recorded(1, Unresolved).at(timeout+settle).result(CallFind, Absent), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown, check: delivered(metav1.ConditionUnknown)},
		{name: "not past its retention: then it is looked up", world: ambiguous(newWorld().deduplicating()).at(72 * time.Hour), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "the task of the first copy binds as replayed", world: ambiguous(newWorld().deduplicating()).journalled(2).task(CallSend, "t-5a", v1alpha1.TaskStateWorking, start).attempt(2), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: recovered(v1alpha1.RecoveredByReplay)},
		{name: "others are looked up", world: ambiguous(newWorld()), want: Ask{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "a task found binds", world: ambiguous(newWorld()).task(CallFind, "t-5a", v1alpha1.TaskStateWorking, start), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working", check: recovered(v1alpha1.RecoveredByLookup)},
		{name: "not found before it settled proves nothing", world: ambiguous(newWorld()).at(time.Second).result(CallFind, Absent), want: Wait{}, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(2 * time.Second)},
		{name: "not found after it settled is unknown", world: ambiguous(newWorld()).at(timeout+settle).result(CallFind, Absent), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown, check: delivered(metav1.ConditionUnknown)},
		{name: "not found by an authority may be sent again", world: ambiguous(newWorld().lookup(v1alpha1.LookupAuthoritative)).at(timeout+settle).result(CallFind, Absent), want: Send{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: sends(2)},
		{name: "but not at another endpoint", world: moved, want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "a lookup that fails is repeated for as long as it takes", world: ambiguous(newWorld()).at(time.Hour).result(CallFind, NotSent), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonAgentUnreachable},
		{name: "an agent that can't list is given up on after the deadline", world: ambiguous(newWorld()).at(timeout).result(CallFind, Refused), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "without any means it is unknown after the deadline", world: unknown().at(timeout), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "and not before: another process may have it out", world: newWorld().lookup(v1alpha1.LookupNone).journalledBy("other", 1), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: waits(timeout)},
		{name: "a crash is recovered like a lost answer", world: newWorld().journalledBy("other", 1), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "with deduplication after a pause for the other process", world: newWorld().deduplicating().journalledBy("other", 1).at(3 * time.Second), want: Send{}, check: sends(2)},
		{name: "NotSent does not make an earlier lost answer certain", world: ambiguous(newWorld().deduplicating()).journalled(2).result(CallSend, NotSent).attempt(2), want: Wait{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering, check: delivered(metav1.ConditionUnknown)},
		{name: "unknown is looked up again from time to time", world: unknownFor(11 * time.Minute), want: Ask{}, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "and not all the time", world: unknownFor(9 * time.Minute), want: Wait{}, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "a journal that is gone is not a message that is new", world: lost, want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "tasks without a history prove nothing to an authority either", world: historyMissing(), want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown},
		{name: "once it is removed the message is looked up", world: removedJournal(), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "a finished one needs no journal", world: spoiled(newWorld().bound(v1alpha1.TaskStateCompleted)), want: Wait{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "nor one with a task", world: spoiled(newWorld().bound(v1alpha1.TaskStateWorking)), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "a journal that can't be read stops", world: unreadable, want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonJournalUnreadable},
	}
}

func spoiled(w *world) *world {
	w.Delegation.Annotations = map[string]string{v1alpha1.AttemptAnnotation: "{"}
	return w
}

func historyMissing() *world {
	w := newWorld().lookup(v1alpha1.LookupAuthoritative).recorded(1, Ambiguous).at(timeout+settle).result(CallFind, Absent)
	w.Result.Reason = ReasonHistoryMissing
	return w
}

// removedJournal is what follows the advice of a journal that can't be read.
func removedJournal() *world {
	w := spoiled(newWorld().journalled(1))
	w.Delegation.Status = Next(w.Input).(Record).Status
	w.Delegation.Annotations = nil
	return w
}

func (w *world) attempt(n int32) *world {
	w.Result.Attempt = n
	return w
}

func unknownFor(d time.Duration) *world {
	w := newWorld().recorded(1, Ambiguous).at(timeout+settle).result(CallFind, Absent)
	w.Delegation.Status = Next(w.Input).(Record).Status
	w.Result = nil
	return w.at(timeout + settle + d)
}

func boundRows() []row {
	later := start.Add(time.Minute)
	working := func() *world { return newWorld().bound(v1alpha1.TaskStateWorking).at(time.Hour) }
	failing := func(o Outcome, since time.Duration) *world {
		w := working().result(CallGet, o)
		w.Result.Since = w.Now.Add(-since)
		return w
	}
	ahead := func() *world {
		w := working()
		w.Delegation.Status.StateTimestamp = &metav1.MicroTime{Time: start.AddDate(1, 0, 0)}
		return w.task(CallGet, "t-5a", v1alpha1.TaskStateInputRequired, later)
	}
	away := working()
	away.Agent.Problem = &Problem{Reason: "AgentNotFound", Message: "create it"}
	examined := working()
	examined.Agent.Problem = &Problem{Reason: "AgentNotReady", Message: "wait", Transient: true}
	done := newWorld().bound(v1alpha1.TaskStateCompleted).at(time.Hour)
	edited := newWorld().bound(v1alpha1.TaskStateCompleted)
	edited.Delegation.Generation = 2
	return []row{
		{name: "a task is followed", world: working(), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "what did not change is not written", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateWorking, later), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "a question is written", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateInputRequired, later), want: Follow{}, writes: 1, phase: v1alpha1.PhaseInputRequired, reason: "InputRequired"},
		{name: "work goes on after a question", world: newWorld().bound(v1alpha1.TaskStateInputRequired).task(CallGet, "t-5a", v1alpha1.TaskStateWorking, later), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "an older state is not written", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateInputRequired, start.Add(-time.Second)), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "but a time that is far ahead of ours proves nothing", world: ahead(), want: Follow{}, writes: 1, phase: v1alpha1.PhaseInputRequired, reason: "InputRequired"},
		{name: "unless both are", world: ahead().task(CallGet, "t-5a", v1alpha1.TaskStateInputRequired, start.AddDate(0, 6, 0)), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "nor one that goes back without a time", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateSubmitted, time.Time{}), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "nor another task", world: working().task(CallGet, "t-other", v1alpha1.TaskStateCompleted, later), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "an unknown state is neither terminal nor success", world: working().task(CallGet, "t-5a", "completed", later), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "completed finishes", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateCompleted, later), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "failed finishes", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateFailed, later), want: Wait{}, writes: 1, phase: v1alpha1.PhaseFailed, reason: "Failed"},
		{name: "rejected finishes", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateRejected, later), want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "Rejected"},
		{name: "canceled finishes", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateCanceled, later), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCanceled, reason: "Canceled"},
		{name: "an end is the end whatever its time says", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateCompleted, start.Add(-time.Hour)), want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "also one without a time", world: working().task(CallGet, "t-5a", v1alpha1.TaskStateFailed, time.Time{}), want: Wait{}, writes: 1, phase: v1alpha1.PhaseFailed, reason: "Failed"},
		{name: "a look that fails for a moment is no news", world: failing(Ambiguous, time.Second), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "one that fails for long is told once", world: failing(NotSent, time.Minute), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: ReasonAgentUnreachable},
		{name: "a task denied for a moment is not lost", world: failing(Absent, time.Second), want: Follow{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "one denied for long is", world: failing(Absent, time.Minute), want: Wait{}, writes: 1, phase: v1alpha1.PhaseFailed, reason: ReasonTaskNotFound},
		{name: "an agent that is gone is told", world: away, want: Wait{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "AgentNotFound"},
		{name: "one that is being examined is not", world: examined, want: Wait{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "a finished one is at rest", world: done, want: Wait{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "whatever comes", world: newWorld().bound(v1alpha1.TaskStateCompleted).task(CallGet, "t-5a", v1alpha1.TaskStateWorking, later), want: Wait{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
		{name: "an edited spec is noted once", world: edited, want: Wait{}, writes: 1, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
	}
}

func deletionRows() []row {
	gone := newWorld().deleted(0)
	released := func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if r, ok := a.(Release); ok && r.Event == nil {
			t.Error("what is left behind is not named in an Event")
		}
	}
	return []row{
		{name: "deleted without a journal there is nothing to hold", world: gone, want: Wait{}},
		{name: "deleted before it was accepted it goes", world: newWorld().recorded(1, NotSent).deleted(0), want: Release{}, phase: v1alpha1.PhaseSending, reason: "NotSentReason"},
		{name: "deleted while working the task is canceled", world: newWorld().bound(v1alpha1.TaskStateWorking).deleted(0), want: Ask{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "and then goes", world: newWorld().bound(v1alpha1.TaskStateWorking).deleted(0).result(CallCancel, Accepted), want: Release{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "also when the agent will not", world: newWorld().bound(v1alpha1.TaskStateWorking).deleted(0).result(CallCancel, Refused), want: Release{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "a cancel that got lost is repeated", world: newWorld().bound(v1alpha1.TaskStateWorking).deleted(0).result(CallCancel, Ambiguous).at(cancelRetry), want: Ask{}, phase: v1alpha1.PhaseWorking, reason: "Working"},
		{name: "for five minutes", world: newWorld().bound(v1alpha1.TaskStateWorking).deleted(0).at(releaseAfter + time.Second), want: Release{}, phase: v1alpha1.PhaseWorking, reason: "Working", check: released},
		{name: "deleted with an open attempt it is recovered first", world: newWorld().journalledBy("other", 1).deleted(0), want: Ask{}, writes: 1, phase: v1alpha1.PhaseSending, reason: ReasonRecovering},
		{name: "deleted while unknown it goes and is named", world: unknownFor(time.Second).deleted(0), want: Release{}, phase: v1alpha1.PhaseUnknown, reason: ReasonOutcomeUnknown, check: released},
		{name: "deleted after it finished it goes", world: newWorld().bound(v1alpha1.TaskStateCompleted).deleted(0), want: Release{}, phase: v1alpha1.PhaseCompleted, reason: "Completed"},
	}
}
