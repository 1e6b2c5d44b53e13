// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// maxAhead is how far an agent's clock may be ahead of ours: more than time zones are apart.
const maxAhead = 24 * time.Hour

// bind records the agent's answer to the message. Where the task has ended already this is the last write.
func (c *decision) bind() Action {
	r := c.in.Result
	s := c.draft()
	s.RecoveredBy = c.recoveredBy()
	if r.Task != nil {
		return c.bindTask(s, r.Task, r.Others...)
	}
	c.stampBound(s)
	s.delivered(metav1.ConditionTrue, ReasonReplied, "the agent replied without a task")
	s.Reply = *r.Reply
	s.set(v1alpha1.PhaseCompleted, ReasonReplied, "the agent replied without a task")
	return c.settle(s, Wait{})
}

func (c *decision) stampBound(s *draft) {
	c.stamp(s)
	s.LastError = ""
	s.StartTime = stampOf(c.in.Now)
	s.ContextID = c.to.ContextID
}

// bindTask binds the task, once and for all; others that the agent made of the same message are to go.
func (c *decision) bindTask(s *draft, t *Task, others ...string) Action {
	c.stampBound(s)
	s.TaskID = t.ID
	for _, other := range others {
		s.addDuplicate(other)
	}
	s.ContextID = first(t.ContextID, s.ContextID)
	if c.attempt == nil {
		s.delivered(metav1.ConditionTrue, "Found", fmt.Sprintf("the agent had message %s before this object sent anything, with task %s; what it says was not compared", c.to.MessageID, t.ID))
	} else {
		s.delivered(metav1.ConditionTrue, "Bound", "the message is with task "+t.ID)
	}
	return c.apply(s, t)
}

// protects reports whether a task that is not done is about to be named by an object without the finalizer, which comes with
// the first attempt: the lookup before it found the task.
func (c *decision) protects(next *v1alpha1.DelegationStatus) bool {
	d := c.in.Delegation
	return next.TaskID != "" && !next.Phase.Finished() && d.DeletionTimestamp == nil && !slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer)
}

// recoveredBy says how the task was found, where an earlier attempt had no known outcome.
func (c *decision) recoveredBy() v1alpha1.Recovery {
	switch r := c.in.Result; {
	case r.Call == CallFind || r.Call == CallGet:
		return v1alpha1.RecoveredByLookup
	case c.in.Delegation.Status.Resolution != nil:
		return v1alpha1.RecoveredByResolution
	case !c.allRefuted(r.Attempt - 1):
		return v1alpha1.RecoveredByReplay
	}
	return ""
}

// bound is a task on its way.
func (c *decision) bound() Action {
	status := &c.in.Delegation.Status
	if a := c.timedOut(); a != nil {
		return a
	}
	if p := c.in.Agent.Problem; p != nil && p.Transient {
		return Wait{Until: c.wake()}
	} else if p != nil {
		return c.hold(status.Phase, p.Reason, p.Message, Wait{Until: c.wake()})
	}
	if r := c.in.Result; r != nil && r.Task != nil && r.Task.ID == status.TaskID && c.forward(r.Task) {
		return c.apply(c.draft(), r.Task)
	}
	if a := c.stop(); a != nil {
		return a
	}
	return c.outOfSight()
}

// outOfSight follows the task, and tells when it could not be looked at for long.
func (c *decision) outOfSight() Action {
	status := &c.in.Delegation.Status
	follow := Follow{TaskID: status.TaskID, Until: c.wake()}
	r := c.result(CallGet)
	switch lookable := r == nil || r.Outcome == Accepted; {
	case lookable && c.unreachable() && c.readyReason() != ReasonAgentUnreachable:
		// What kept the agent from being used is over, which is no news to who looks at the task.
		return c.hold(status.Phase, string(status.Phase), describe(&Task{ID: status.TaskID, State: status.State, Message: status.StateMessage}), follow)
	case lookable:
		return follow
	}
	switch failing := r.At.Sub(r.Since); {
	case r.Outcome == Absent && failing >= taskLostAfter:
		return c.hold(v1alpha1.PhaseFailed, ReasonTaskNotFound, "the agent no longer knows task "+status.TaskID+
			"; what became of it only its owner can tell", follow)
	case failing >= taskLostAfter/2 && !c.cancelAnswered():
		return c.hold(status.Phase, ReasonAgentUnreachable, "task "+status.TaskID+" can't be looked at: "+r.Reason, follow)
	}
	return follow
}

// forward reports whether a snapshot says something newer than the status. Duplicate, late and reordered ones do not. A
// task that has ended never moves again, so that nothing can be later than its end: it counts whatever its time says, which
// the clock of another replica of the agent may have given, or a clock that was set back.
func (c *decision) forward(t *Task) bool {
	status := &c.in.Delegation.Status
	seen := status.StateTimestamp
	switch {
	case t.State.Terminal():
		return true
	case c.older(t, seen):
		return false
	case t.State == status.State:
		return t.Message != status.StateMessage || c.unreachable() || (t.State.Interrupted() && newer(t, seen))
	case t.State == v1alpha1.TaskStateSubmitted && !newer(t, seen):
		return false
	}
	return true
}

// older reports whether a snapshot is from before the state that was seen, by the agent's times. A time that is far ahead of
// our clock, as of a task that was given one in the future, is none to tell the order by: what came after it would be hidden
// for as long. Where the agent's clock itself is so far ahead both times are.
func (c *decision) older(t *Task, seen *metav1.MicroTime) bool {
	if seen == nil || t.Timestamp.IsZero() {
		return false
	}
	limit := c.in.Now.Add(maxAhead)
	return t.Timestamp.Truncate(time.Microsecond).Before(seen.Time) && (!seen.After(limit) || t.Timestamp.After(limit))
}

// unreachable reports whether the last that was told of the task is that it could not be looked at.
func (c *decision) unreachable() bool {
	status := &c.in.Delegation.Status
	return !slices.Contains([]string{string(status.Phase), ReasonCanceling, ReasonCancelAccepted, ReasonCancelRefused}, c.readyReason())
}

func newer(t *Task, seen *metav1.MicroTime) bool {
	return seen != nil && t.Timestamp.Truncate(time.Microsecond).After(seen.Time)
}

// apply writes a task's snapshot into the status.
func (c *decision) apply(s *draft, t *Task) Action {
	asked := s.State.Interrupted() && !newer(t, s.StateTimestamp)
	s.State, s.StateMessage, s.StateTimestamp, s.Question = t.State, t.Message, nil, ""
	if !t.Timestamp.IsZero() {
		s.StateTimestamp = &metav1.MicroTime{Time: t.Timestamp.Truncate(time.Microsecond)}
	}
	phase := phaseOf(t.State)
	s.drop(v1alpha1.ConditionInputRequired)
	if t.State.Interrupted() {
		s.Question = t.Message
		if !asked {
			s.Interruptions++
		}
		s.condition(v1alpha1.ConditionInputRequired, metav1.ConditionTrue, string(phase), fmt.Sprintf(
			"task %s waits for a message: create a Delegation with continues: {name: %s}", t.ID, c.in.Delegation.Name))
	}
	s.set(phase, c.reasonOf(phase), describe(t))
	action := c.settle(s, Follow{TaskID: t.ID})
	if record, ok := action.(Record); ok && t.State.Terminal() {
		record.Artifacts, record.MoreArtifacts = t.Artifacts, t.MoreArtifacts
		return record
	}
	return action
}

// reasonOf is the phase's own word, unless a deadline or a request to cancel says more.
func (c *decision) reasonOf(phase v1alpha1.Phase) string {
	last := c.readyReason()
	switch {
	case phase == v1alpha1.PhaseCanceled && c.overdue() && !c.in.Delegation.Spec.Cancel:
		return ReasonDeadlineExceeded
	case !phase.Finished() && (last == ReasonCanceling || last == ReasonCancelAccepted || last == ReasonCancelRefused):
		return last
	}
	return string(phase)
}

// phaseOf maps a task's state; one that the specification does not know is neither terminal nor success.
func phaseOf(state v1alpha1.TaskState) v1alpha1.Phase {
	switch state {
	case v1alpha1.TaskStateSubmitted:
		return v1alpha1.PhaseSubmitted
	case v1alpha1.TaskStateInputRequired:
		return v1alpha1.PhaseInputRequired
	case v1alpha1.TaskStateAuthRequired:
		return v1alpha1.PhaseAuthRequired
	case v1alpha1.TaskStateCompleted:
		return v1alpha1.PhaseCompleted
	case v1alpha1.TaskStateCanceled:
		return v1alpha1.PhaseCanceled
	case v1alpha1.TaskStateFailed:
		return v1alpha1.PhaseFailed
	case v1alpha1.TaskStateRejected:
		return v1alpha1.PhaseRejected
	}
	return v1alpha1.PhaseWorking
}

func describe(t *Task) string {
	text := fmt.Sprintf("task %s is in state %s", t.ID, t.State)
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}
