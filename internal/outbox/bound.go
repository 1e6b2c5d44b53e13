// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// bind records the agent's answer to the message. Where the task has ended already this is the last write.
func (c *decision) bind() Action {
	r := c.in.Result
	s := c.draft()
	s.RecoveredBy = c.recoveredBy()
	c.stamp(s)
	s.LastError = ""
	s.StartTime = stampOf(c.in.Now)
	s.ContextID = c.contextID
	if r.Task == nil {
		s.delivered(metav1.ConditionTrue, ReasonReplied, "the agent replied without a task")
		s.Reply = *r.Reply
		s.set(v1alpha1.PhaseCompleted, ReasonReplied, "the agent replied without a task")
		return c.settle(s, Wait{})
	}
	s.TaskID = r.Task.ID
	if r.Task.ContextID != "" {
		s.ContextID = r.Task.ContextID
	}
	s.delivered(metav1.ConditionTrue, "Bound", "the agent made task "+r.Task.ID)
	return c.apply(s, r.Task)
}

// recoveredBy says how the task was found, where an earlier attempt had no known outcome.
func (c *decision) recoveredBy() v1alpha1.Recovery {
	switch r := c.in.Result; {
	case r.Call == CallFind:
		return v1alpha1.RecoveredByLookup
	case !c.allRefuted(r.Attempt - 1):
		return v1alpha1.RecoveredByReplay
	}
	return ""
}

// bound is a task on its way.
func (c *decision) bound() Action {
	status := &c.in.Delegation.Status
	follow := Follow{TaskID: status.TaskID}
	if p := c.in.Agent.Problem; p != nil && p.Transient {
		return Wait{}
	} else if p != nil {
		return c.hold(status.Phase, p.Reason, p.Message, Wait{})
	}
	r := c.in.Result
	switch {
	case r == nil:
		return follow
	case r.Task != nil && r.Task.ID == status.TaskID:
		if !c.forward(r.Task) {
			return follow
		}
		return c.apply(c.draft(), r.Task)
	case r.Call == CallGet && r.Outcome == Absent && r.At.Sub(r.Since) >= taskLostAfter:
		return c.hold(v1alpha1.PhaseFailed, ReasonTaskNotFound, "the agent no longer knows task "+status.TaskID+
			"; what became of it only its owner can tell", follow)
	case r.Call == CallGet && r.At.Sub(r.Since) >= taskLostAfter/2:
		return c.hold(status.Phase, ReasonAgentUnreachable, "task "+status.TaskID+" can't be looked at: "+r.Reason, follow)
	}
	return follow
}

// forward reports whether a snapshot says something newer than the status. Duplicate, late and reordered ones do not.
func (c *decision) forward(t *Task) bool {
	status := &c.in.Delegation.Status
	seen := status.StateTimestamp
	switch {
	case seen != nil && !t.Timestamp.IsZero() && t.Timestamp.Truncate(time.Microsecond).Before(seen.Time):
		return false
	case t.State == status.State:
		return t.Message != status.StateMessage || c.readyReason() != string(status.Phase)
	case t.State == v1alpha1.TaskStateSubmitted && !newer(t, seen):
		return false
	}
	return true
}

func newer(t *Task, seen *metav1.MicroTime) bool {
	return seen != nil && t.Timestamp.Truncate(time.Microsecond).After(seen.Time)
}

// apply writes a task's snapshot into the status.
func (c *decision) apply(s *draft, t *Task) Action {
	s.State = t.State
	s.StateMessage = t.Message
	s.StateTimestamp = nil
	if !t.Timestamp.IsZero() {
		s.StateTimestamp = &metav1.MicroTime{Time: t.Timestamp.Truncate(time.Microsecond)}
	}
	phase := phaseOf(t.State)
	s.set(phase, string(phase), describe(t))
	action := c.settle(s, Follow{TaskID: t.ID})
	if record, ok := action.(Record); ok && t.State.Terminal() {
		record.Artifacts = t.Artifacts
		return record
	}
	return action
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
