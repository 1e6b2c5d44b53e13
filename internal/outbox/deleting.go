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
	case !c.in.Now.Before(limit):
		return c.abandon("5 minutes after the deletion began the agent could not be brought to cancel it")
	case d.Status.TaskID != "":
		return c.cancel(limit)
	case c.attempt == nil || c.settledUnaccepted():
		return Release{}
	case d.Status.Phase == v1alpha1.PhaseUnknown:
		return c.abandon("its outcome is unknown")
	}
	return until(c.attempted(), limit)
}

// settledUnaccepted reports whether the last attempt, recorded or just ended, left the message certainly unaccepted.
func (c *decision) settledUnaccepted() bool {
	if c.allRefuted(c.attempt.Number) {
		return true
	}
	r := c.result(CallSend)
	return r != nil && r.Attempt == c.attempt.Number && c.allRefuted(r.Attempt-1) &&
		(r.Outcome == NotSent || r.Outcome == Refused || r.Outcome == Unauthorized)
}

// cancel asks the agent to cancel the task until it has answered.
func (c *decision) cancel(limit time.Time) Action {
	status := &c.in.Delegation.Status
	if p := c.in.Agent.Problem; p != nil && p.Transient {
		return Wait{Until: limit}
	} else if p != nil {
		return c.hold(status.Phase, p.Reason, "the task can't be canceled: "+p.Message, Wait{Until: limit})
	}
	r := c.result(CallCancel)
	switch {
	case r == nil:
		return Ask{Call: CallCancel, TaskID: status.TaskID}
	case r.Outcome == Accepted || r.Outcome == Refused || r.Outcome == Absent:
		return Release{}
	case c.in.Now.Before(r.At.Add(cancelRetry)):
		return c.hold(status.Phase, ReasonAgentUnreachable, fmt.Sprintf("task %s can't be canceled: %s; it is tried again until %s, then the task is left to the agent",
			status.TaskID, r.Reason, limit.UTC().Format(time.RFC3339)), until(Wait{Until: r.At.Add(cancelRetry)}, limit))
	}
	return Ask{Call: CallCancel, TaskID: status.TaskID}
}

// abandon lets go of what could not be settled, and names it.
func (c *decision) abandon(why string) Action {
	what := fmt.Sprintf("message %s", c.messageID)
	if id := c.in.Delegation.Status.TaskID; id != "" {
		what = fmt.Sprintf("task %s of message %s", id, c.messageID)
	}
	return Release{Event: &Event{Warning: true, Reason: "Orphaned", Message: what + " may live on at the agent: " + why}}
}

// until makes a wait end at the limit at the latest.
func until(a Action, limit time.Time) Action {
	if w, ok := a.(Wait); ok && (w.Until.IsZero() || w.Until.After(limit)) {
		return Wait{Until: limit}
	}
	return a
}
