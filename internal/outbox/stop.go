// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// activeEnd is when the task is to be canceled by itself; zero for never.
func (c *decision) activeEnd() time.Time {
	d := c.in.Delegation
	if d.Spec.ActiveDeadlineSeconds == nil || d.Status.StartTime == nil {
		return time.Time{}
	}
	return d.Status.StartTime.Add(time.Duration(*d.Spec.ActiveDeadlineSeconds) * time.Second)
}

// overdue reports whether the task has taken longer than it may.
func (c *decision) overdue() bool {
	end := c.activeEnd()
	return !end.IsZero() && !c.in.Now.Before(end)
}

// timedOut ends the Delegation of a task that did not stop when its time was over, whatever its agent says or does not.
func (c *decision) timedOut() Action {
	if !c.overdue() || c.in.Now.Before(c.activeEnd().Add(deadlineGrace)) {
		return nil
	}
	return c.hold(v1alpha1.PhaseFailed, ReasonDeadlineExceeded, fmt.Sprintf(
		"task %s took longer than spec.activeDeadlineSeconds and did not stop", c.in.Delegation.Status.TaskID), Wait{})
}

// wake is when a task that is under way has to be decided on although nothing changed; zero for never.
func (c *decision) wake() time.Time {
	end := c.activeEnd()
	if c.overdue() {
		end = end.Add(deadlineGrace)
	}
	if again := c.duplicatesAgain(); !again.IsZero() && (end.IsZero() || again.Before(end)) {
		return again
	}
	return end
}

// stop asks the agent to cancel the task where the spec wants it: once, again where there was no answer, and not after
// one, which is noted in the reason.
func (c *decision) stop() Action {
	status := &c.in.Delegation.Status
	if !c.in.Delegation.Spec.Cancel && !c.overdue() {
		return nil
	}
	follow := Follow{TaskID: status.TaskID, Until: c.wake()}
	r, look := c.cancelResult(status.TaskID), c.result(CallGet)
	switch {
	case c.cancelAnswered():
		return nil
	case look != nil && c.readyReason() == ReasonCanceling:
		return c.repeatCancel(look, status.TaskID)
	case r == nil:
		return c.hold(status.Phase, ReasonCanceling, fmt.Sprintf("the agent is asked to cancel task %s", status.TaskID), Ask{Call: CallCancel, TaskID: status.TaskID})
	case r.Outcome == Accepted:
		return c.hold(status.Phase, ReasonCancelAccepted, fmt.Sprintf("the agent was asked to cancel task %s", status.TaskID), follow)
	case r.Outcome == Refused || r.Outcome == Absent:
		return c.hold(status.Phase, ReasonCancelRefused, fmt.Sprintf("the agent will not cancel task %s: %s", status.TaskID, r.Reason), follow)
	}
	// Between two requests that are not answered the task is looked at: it may come to its end, or ask.
	return Ask{Call: CallGet, TaskID: status.TaskID}
}

// cancelAnswered reports whether it is on record that the agent has answered the request to cancel.
func (c *decision) cancelAnswered() bool {
	return c.readyReason() == ReasonCancelAccepted || c.readyReason() == ReasonCancelRefused
}

// cancelResult returns what the last request to cancel a task brought. One for another task of the message says nothing.
func (c *decision) cancelResult(task string) *Result {
	if r := c.result(CallCancel); r != nil && r.TaskID == task {
		return r
	}
	return nil
}

// repeatCancel asks again after a pause.
func (c *decision) repeatCancel(r *Result, task string) Action {
	if next := r.At.Add(cancelRetry); c.in.Now.Before(next) {
		return Wait{Until: next}
	}
	return Ask{Call: CallCancel, TaskID: task}
}

// duplicates cancels further tasks that the agent made of the same message, one after the other; nil when there is nothing
// to do. The task that was bound first stays.
func (c *decision) duplicates() Action {
	if a := c.lateTask(); a != nil {
		return a
	}
	d := c.in.Delegation
	i := slices.IndexFunc(d.Status.Duplicates, func(t v1alpha1.DuplicateTask) bool { return !t.Canceled })
	overdue := d.DeletionTimestamp != nil && !c.in.Now.Before(d.DeletionTimestamp.Add(releaseAfter))
	if i < 0 || overdue || c.in.Agent.Problem != nil || c.in.Running != CallNone {
		return nil
	}
	task := d.Status.Duplicates[i].TaskID
	r := c.cancelResult(task)
	switch {
	case c.in.Now.Before(c.duplicatesAgain()) && (r == nil || !answers(r)):
		return nil
	case r == nil:
		return Ask{Call: CallCancel, TaskID: task}
	case answers(r):
		s := c.draft()
		s.Duplicates[i].Canceled = true
		return c.settle(s, nil)
	}
	return c.repeatCancel(r, task)
}

// duplicatesAgain is when the next request to cancel a further task is due while the first is under way, which must not be
// kept from being followed by one that can't be canceled; zero for now.
func (c *decision) duplicatesAgain() time.Time {
	d := c.in.Delegation
	open := slices.ContainsFunc(d.Status.Duplicates, func(t v1alpha1.DuplicateTask) bool { return !t.Canceled })
	if !open || d.Status.Phase.Finished() || d.DeletionTimestamp != nil || c.in.Result == nil {
		return time.Time{}
	}
	return c.in.Result.At.Add(maxBackoff)
}

// answers reports whether the agent has said what it makes of a request.
func answers(r *Result) bool {
	return r.Outcome == Accepted || r.Outcome == Refused || r.Outcome == Absent
}

// lateTask notes the task that a late answer brought although the message has one.
func (c *decision) lateTask() Action {
	r, bound := c.result(CallSend), c.in.Delegation.Status.TaskID
	if r == nil || bound == "" || r.Outcome != Accepted || r.Task == nil || r.Task.ID == bound {
		return nil
	}
	s := c.draft()
	s.addDuplicate(r.Task.ID)
	return c.settle(s, nil)
}

// addDuplicate notes a task that should not be.
func (s *draft) addDuplicate(task string) {
	if task == s.TaskID || slices.ContainsFunc(s.Duplicates, func(d v1alpha1.DuplicateTask) bool { return d.TaskID == task }) {
		return
	}
	s.Duplicates = append(s.Duplicates, v1alpha1.DuplicateTask{TaskID: task})
}
