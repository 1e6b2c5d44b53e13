// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// recover finds out what became of an attempt without a known outcome, by the best means that the contract gives.
func (c *decision) recover() Action {
	switch {
	case c.in.Agent.Problem != nil:
		return c.untilEnd(c.held(c.in.Agent.Problem))
	case c.replayable() && c.in.Body.Problem == nil && (!c.changed() || c.in.Delegation.DeletionTimestamp == nil):
		return c.replay()
	case c.to.TaskID != "":
		return c.evidence()
	case c.in.Agent.Lookup == v1alpha1.LookupNone || c.in.Agent.Lookup == "":
		return c.giveUpAt(c.attempt.Deadline)
	default:
		return c.lookup()
	}
}

// replayable reports whether the identical message may be sent although a copy of it may have arrived: the agent
// deduplicates and still remembers the first copy when this one ends. One that refused a copy, or lost track of it, is asked
// instead.
func (c *decision) replayable() bool {
	a := c.in.Agent
	if cond := c.deliveredCondition(); c.withdrawn() || (cond != nil && (cond.Reason == ReasonCopyRefused || cond.Reason == ReasonCopyUnresolved)) {
		return false
	}
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
		if c.in.Agent.Lookup == v1alpha1.LookupAuthoritative && c.attempt.Endpoint == c.in.Agent.Endpoint && !c.attempt.Elsewhere && r.Reason != ReasonHistoryMissing {
			return c.refute("the agent's tasks do not show the message, and its owner promised that they would")
		}
		return c.unknown()
	}
	return c.lookAgain(r, settled, c.find())
}

// evidence looks at the task that the message continues, which tells more than a search: the message in its history is
// an answer, and so is a task that still asks the question that it asked before the attempt.
func (c *decision) evidence() Action {
	ask := Ask{Call: CallGet, TaskID: c.to.TaskID}
	r := c.result(CallGet)
	if r == nil {
		return c.noteLookup(nil, ask)
	}
	settled := c.attempt.Deadline.Add(c.in.Agent.Settle)
	if conclusive := r.Outcome == Accepted || r.Outcome == Absent; conclusive && !r.Started.Before(settled) {
		if r.Task != nil && r.Task.State.Interrupted() && c.attempt.Before != nil && r.Task.Timestamp.Truncate(time.Microsecond).Equal(*c.attempt.Before) {
			return c.refute("the task still asks the question that it asked before the attempt")
		}
		return c.unknown()
	}
	return c.lookAgain(r, settled, ask)
}

// lookAgain paces the search: often at first, seldom later, and once more when the outcome has settled.
func (c *decision) lookAgain(r *Result, settled time.Time, ask Action) Action {
	next := r.At.Add(lookupPace(r.At.Sub(c.attempt.Started)))
	conclusive := r.Outcome == Absent || r.Outcome == Accepted
	if conclusive && next.After(settled) {
		next = settled
	}
	if c.in.Now.Before(next) {
		return c.noteLookup(r, c.untilEnd(Wait{Until: next}))
	}
	return ask
}

// lookupPace is the time between two lookups that have been going on for a time.
func lookupPace(since time.Duration) time.Duration {
	return min(max(since/2, minLookupInterval), maxLookupInterval)
}

// refute records that no attempt so far was accepted, on the word of the agent's owner, so that the message may go again.
func (c *decision) refute(why string) Action {
	s := c.draft()
	c.stamp(s)
	s.delivered(metav1.ConditionFalse, ReasonNotSent, why)
	s.set(v1alpha1.PhaseSending, ReasonRecovering, "the agent never accepted the message; it is sent again")
	return c.settle(s, Wait{})
}

func (c *decision) find() Action {
	return Ask{Call: CallFind, Query: c.query(c.attempt.First.Add(-lookupSkew))}
}

// query names the message to search for. Where the agent names the conversations, tasks that changed after a time are
// searched.
func (c *decision) query(after time.Time) Query {
	q := Query{MessageID: c.to.MessageID, ContextID: c.to.ContextID}
	if q.ContextID == "" {
		q.After = after
	}
	return q
}

// recovering says how the outcome is being found out.
func (c *decision) recovering() string {
	how := "the agent's tasks are searched for it"
	switch {
	case c.replayable():
		how = "the identical message is sent again"
	case c.to.TaskID != "":
		how = "the task that it continues is looked at"
	case c.in.Agent.Lookup == v1alpha1.LookupNone || c.in.Agent.Lookup == "":
		how = "the agent can't be asked, and it is never sent again by itself; it is Unknown at " + c.attempt.Deadline.UTC().Format(time.RFC3339) + " unless the answer comes"
	}
	return fmt.Sprintf("attempt %d has no known outcome: %s", c.attempt.Number, how)
}

func (c *decision) noteRecovering(then Action) Action {
	return c.noteSending(ReasonRecovering, c.recovering(), then)
}

// noteLookup says when a lookup could not be made, once: details differ from try to try and from replica to replica, and
// each would be a write. It stays said until the outcome is found.
func (c *decision) noteLookup(r *Result, then Action) Action {
	if c.readyReason() == ReasonAgentUnreachable && c.in.Delegation.Status.Attempts >= c.attempt.Number {
		return then
	}
	if r == nil || r.Outcome == Absent || r.Outcome == Accepted {
		return c.noteRecovering(then)
	}
	return c.noteSending(ReasonAgentUnreachable, c.recovering()+"; the last search failed: "+r.Reason, then)
}

func (c *decision) noteSending(reason, message string, then Action) Action {
	s := c.draft()
	c.stampOpen(s)
	if next := c.in.Delegation.Status.NextAttemptTime; next != nil && c.in.Delegation.Status.Attempts >= c.attempt.Number {
		s.NextAttemptTime = next
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
