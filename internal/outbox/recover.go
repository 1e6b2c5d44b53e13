// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// recover finds out what became of an attempt without a known outcome, by the best means that the contract gives.
func (c *decision) recover() Action {
	switch {
	case c.in.Agent.Problem != nil:
		return c.held(c.in.Agent.Problem)
	case c.replayable():
		return c.replay()
	case c.in.Agent.Lookup == v1alpha1.LookupNone || c.in.Agent.Lookup == "":
		return c.giveUpAt(c.attempt.Deadline)
	default:
		return c.lookup()
	}
}

// replayable reports whether the identical message may be sent although a copy of it may have arrived: the agent
// deduplicates and still remembers the first copy when this one ends.
func (c *decision) replayable() bool {
	a := c.in.Agent
	return a.Deduplicates && c.in.Now.Add(a.AttemptTimeout).Before(c.attempt.First.Add(a.Retention))
}

// replay resends, and says so while it waits for the time to. What else keeps it says so itself.
func (c *decision) replay() Action {
	next := c.again()
	if w, waits := next.(Wait); waits && w.Until.Equal(c.due()) {
		return c.noteRecovering(next)
	}
	return next
}

// lookup searches the agent's tasks for the message.
func (c *decision) lookup() Action {
	r := c.result(CallFind)
	if r == nil {
		return c.noteLookup(nil, c.find())
	}
	settled := c.attempt.Deadline.Add(c.in.Agent.Settle)
	switch {
	case r.Outcome == Refused:
		return c.giveUpAt(c.attempt.Deadline)
	case r.Outcome == Absent && !r.Started.Before(settled):
		if c.in.Agent.Lookup == v1alpha1.LookupAuthoritative && c.attempt.Endpoint == c.in.Agent.Endpoint && r.Reason != ReasonHistoryMissing {
			return c.refute()
		}
		return c.unknown()
	}
	next := r.At.Add(min(max(r.At.Sub(c.attempt.Started)/2, minLookupInterval), maxLookupInterval))
	if r.Outcome == Absent && next.After(settled) {
		next = settled
	}
	if c.in.Now.Before(next) {
		return c.noteLookup(r, Wait{Until: next})
	}
	return c.find()
}

// refute records that no attempt so far was accepted, on the word of the agent's owner, so that the message may go again.
func (c *decision) refute() Action {
	s := c.draft()
	c.stamp(s)
	s.delivered(metav1.ConditionFalse, ReasonNotSent, "the agent's tasks do not show the message, and its owner promised that they would")
	s.set(v1alpha1.PhaseSending, ReasonRecovering, "the agent never accepted the message; it is sent again")
	return c.settle(s, Wait{})
}

func (c *decision) find() Action {
	return Ask{Call: CallFind, Query: Query{MessageID: c.messageID, ContextID: c.contextID}}
}

// recovering says how the outcome is being found out.
func (c *decision) recovering() string {
	how := "the agent's tasks are searched for it"
	switch {
	case c.replayable():
		how = "the identical message is sent again"
	case c.in.Agent.Lookup == v1alpha1.LookupNone || c.in.Agent.Lookup == "":
		how = "the agent has no way to ask; it is never sent again by itself"
	}
	return fmt.Sprintf("attempt %d has no known outcome: %s", c.attempt.Number, how)
}

func (c *decision) noteRecovering(then Action) Action {
	return c.noteSending(ReasonRecovering, c.recovering(), then)
}

// noteLookup says when a lookup could not be made. Only the reason is kept: details differ from try to try, and each
// would be a write.
func (c *decision) noteLookup(r *Result, then Action) Action {
	if r == nil && c.readyReason() == ReasonAgentUnreachable {
		return then
	}
	if r == nil || r.Outcome == Absent {
		return c.noteRecovering(then)
	}
	return c.noteSending(ReasonAgentUnreachable, c.recovering()+"; the last search failed: "+r.Reason, then)
}

func (c *decision) noteSending(reason, message string, then Action) Action {
	s := c.draft()
	c.stamp(s)
	if next := c.in.Delegation.Status.NextAttemptTime; next != nil && c.in.Delegation.Status.Attempts >= c.attempt.Number {
		s.NextAttemptTime = next
	}
	if cond := c.deliveredCondition(); cond == nil || cond.Status != metav1.ConditionUnknown {
		s.delivered(metav1.ConditionUnknown, ReasonRecovering, "an attempt has no known outcome")
	}
	s.set(v1alpha1.PhaseSending, reason, message)
	return c.commit(s, then)
}

// giveUpAt turns to Unknown once no process can still be sending the attempt.
func (c *decision) giveUpAt(deadline time.Time) Action {
	if c.in.Now.Before(deadline) {
		return c.noteRecovering(Wait{Until: deadline})
	}
	return c.unknown()
}

// unknown escalates: the message may have been accepted and nothing more can be found out now.
func (c *decision) unknown() Action {
	d := c.in.Delegation
	s := c.draft()
	c.stamp(s)
	s.delivered(metav1.ConditionUnknown, ReasonOutcomeUnknown, "the message may have been accepted")
	s.set(v1alpha1.PhaseUnknown, ReasonOutcomeUnknown, fmt.Sprintf(
		"message %s may have been accepted and the agent does not show it; it is not sent again. "+
			"Once you know that the agent has no task for it, delete and create it anew: kubectl delete delegation -n %s %s",
		c.messageID, d.Namespace, d.Name))
	return c.settle(s, Wait{})
}

// unknownAgain looks a message of unknown outcome up from time to time: tasks have been seen to show up late.
func (c *decision) unknownAgain() Action {
	a := c.in.Agent
	if a.Problem != nil || a.Lookup == v1alpha1.LookupNone || a.Lookup == "" {
		return Wait{}
	}
	last := c.attempt.Started
	if stalled := meta.FindStatusCondition(c.in.Delegation.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		last = stalled.LastTransitionTime.Time
	}
	if r := c.result(CallFind); r != nil && r.At.After(last) {
		last = r.At
	}
	if next := last.Add(unknownLookupInterval); c.in.Now.Before(next) {
		return Wait{Until: next}
	}
	return c.find()
}
