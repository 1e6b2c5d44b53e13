// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// deleting settles what may have been started at the agent, and then lets go. It never takes longer than releaseAfter.
func (c *decision) deleting() Action {
	d := c.in.Delegation
	limit := d.DeletionTimestamp.Add(releaseAfter)
	switch {
	case !slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer):
		return Wait{}
	case c.attempt == nil || c.settledUnaccepted():
		return Release{}
	case d.Spec.Continues != nil:
		return c.withdraw(limit)
	case d.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		return c.orphan(limit)
	case !c.in.Now.Before(limit):
		return c.abandon("5 minutes after the deletion began the agent could not be brought to cancel it")
	case d.Status.TaskID != "":
		return c.cancelDeleted(limit)
	case d.Status.Phase == v1alpha1.PhaseUnknown:
		return c.abandon("its outcome is unknown")
	}
	return until(c.attempted(), limit)
}

// orphan leaves the task to itself. It waits for the end of an attempt that may be under way: a successor with the same
// messageId and another body must not overtake it.
func (c *decision) orphan(limit time.Time) Action {
	end := c.attempt.Deadline
	if c.in.Delegation.Status.TaskID == "" && c.in.Now.Before(end) && c.in.Now.Before(limit) {
		return until(Wait{Until: end}, limit)
	}
	return c.abandon("spec.deletionPolicy is Orphan")
}

// withdraw lets an answer go. It cancels nothing, since the task belongs to the Delegation that made it. But its claim
// lasts as long as it does: were it gone while its message may be under way, or while the question still shows that it
// answered, another answer would go to the same question.
func (c *decision) withdraw(limit time.Time) Action {
	bound, over := c.in.Delegation.Status.TaskID != "", !c.in.Now.Before(limit)
	switch {
	case bound && (over || !c.holdsQuestion()):
		return Release{}
	case bound:
		return Wait{Until: limit}
	case over:
		return c.abandon("5 minutes after the deletion began its outcome was not found out")
	case c.in.Delegation.Status.Phase == v1alpha1.PhaseUnknown:
		return c.abandon("its outcome is unknown")
	}
	return until(c.recover(), limit)
}

// holdsQuestion reports whether the Delegation that made the task still shows the question that this one has answered.
func (c *decision) holdsQuestion() bool {
	root := c.in.Related.Root
	if root == nil || root.Status.AnsweredBy == nil || !root.Status.State.Interrupted() {
		return false
	}
	held := root.Status.AnsweredBy
	return held.UID == c.in.Delegation.UID && held.Interruption == root.Status.Interruptions
}

// withdrawn reports whether an answer was deleted: it is not sent again.
func (c *decision) withdrawn() bool {
	return c.in.Delegation.Spec.Continues != nil && c.in.Delegation.DeletionTimestamp != nil
}

// settledUnaccepted reports whether the last attempt, recorded or just ended, left the message certainly unaccepted.
func (c *decision) settledUnaccepted() bool {
	if c.in.Delegation.Status.TaskID != "" {
		return false
	}
	if c.allRefuted(c.attempt.Number) {
		return true
	}
	r := c.ownResult()
	return r != nil && c.allRefuted(r.Attempt-1) &&
		(r.Outcome == NotSent || r.Outcome == Refused || r.Outcome == Unauthorized)
}

// cancelDeleted asks the agent to cancel the task until it has answered.
func (c *decision) cancelDeleted(limit time.Time) Action {
	status := &c.in.Delegation.Status
	if p := c.in.Agent.Problem; p != nil && p.Transient {
		return Wait{Until: limit}
	} else if p != nil {
		return c.hold(status.Phase, p.Reason, "the task can't be canceled: "+p.Message, Wait{Until: limit})
	}
	r := c.cancelResult(status.TaskID)
	switch {
	case r == nil:
		return Ask{Call: CallCancel, TaskID: status.TaskID}
	case r.Outcome == Accepted || r.Outcome == Refused || r.Outcome == Absent:
		return Release{}
	}
	next := until(c.repeatCancel(r, status.TaskID), limit)
	if _, waits := next.(Wait); !waits {
		return next
	}
	return c.hold(status.Phase, ReasonAgentUnreachable, fmt.Sprintf("task %s can't be canceled: %s; it is tried again until %s, then the task is left to the agent",
		status.TaskID, r.Reason, limit.UTC().Format(time.RFC3339)), next)
}

// abandon lets go of what could not be settled, and names it.
func (c *decision) abandon(why string) Action {
	what := fmt.Sprintf("message %s", c.to.MessageID)
	if id := c.in.Delegation.Status.TaskID; id != "" {
		what = fmt.Sprintf("task %s of message %s", id, c.to.MessageID)
	}
	return Release{Event: &Event{Warning: true, Reason: "Orphaned", Message: what + " may live on at the agent: " + why}}
}

// until makes a wait end at the limit at the latest.
func until(a Action, limit time.Time) Action {
	switch w := a.(type) {
	case Wait:
		if w.Until.IsZero() || w.Until.After(limit) {
			w.Until = limit
		}
		return w
	case Follow:
		if w.Until.IsZero() || w.Until.After(limit) {
			w.Until = limit
		}
		return w
	}
	return a
}
