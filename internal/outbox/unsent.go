// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// unsent is a message that never left. What has to hold before it may is asked in order, the final answers first.
func (c *decision) unsent() Action {
	for _, ask := range []func() Action{
		c.calledOff, c.late, c.expiredUnknown, c.outOfBounds, c.rival, c.blocked, c.suspended, c.conversation, c.known, c.question, c.expired,
	} {
		if a := ask(); a != nil {
			return a
		}
	}
	return c.send(1, c.in.Now)
}

// calledOff ends a message that was canceled before it was accepted.
func (c *decision) calledOff() Action {
	if !c.in.Delegation.Spec.Cancel {
		return nil
	}
	return c.refuse(v1alpha1.PhaseCanceled, "CanceledBeforeDelivery", "canceled before the agent accepted the message")
}

// late ends a message that could not be delivered in its time.
func (c *decision) late() Action {
	if c.in.Now.Before(c.deliveryEnd()) {
		return nil
	}
	return c.refuse(v1alpha1.PhaseUndelivered, "DeliveryDeadlineExceeded", fmt.Sprintf(
		"the message was not accepted within %s and will not be sent again: it is safe to create it anew", c.in.Delegation.Spec.DeliveryDeadline.Duration))
}

// deliveryEnd is when delivery is given up; far away where the spec has no deadline.
func (c *decision) deliveryEnd() time.Time {
	d := c.in.Delegation
	if d.Spec.DeliveryDeadline.Duration <= 0 {
		return c.in.Now.AddDate(1, 0, 0)
	}
	return d.CreationTimestamp.Add(d.Spec.DeliveryDeadline.Duration)
}

// untilEnd makes a wait end when delivery is given up, unless that is past.
func (c *decision) untilEnd(a Action) Action {
	if end := c.deliveryEnd(); c.in.Now.Before(end) {
		return until(a, end)
	}
	return a
}

// expiry waits until the next time at which a message that waits becomes one that never goes.
func (c *decision) expiry() Action {
	end := c.deliveryEnd()
	if after := c.in.Delegation.Spec.NotAfter; after != nil && c.attempt == nil && after.Time.Before(end) && after.After(c.in.Now) {
		end = after.Time
	}
	return Wait{Until: end}
}

// blocked waits for the agent and for the message's content: the agent first, since it hides the other.
func (c *decision) blocked() Action {
	if p := c.problem(); p != nil {
		return c.pending(p)
	}
	return nil
}

func (c *decision) problem() *Problem {
	if c.in.Agent.Problem != nil {
		return c.in.Agent.Problem
	}
	return c.in.Body.Problem
}

func (c *decision) suspended() Action {
	if !c.in.Delegation.Spec.Suspend {
		return nil
	}
	return c.pending(&Problem{Reason: ReasonSuspended, Message: "spec.suspend holds the message back; let it go with: " + c.kubectl("patch") +
		` --type=merge -p '{"spec":{"suspend":false}}'`})
}

// known looks a messageId that the manifest brought up before its first attempt: a cluster that was rebuilt from Git
// finds its old tasks again, also those that the agent no longer deduplicates.
func (c *decision) known() Action {
	a := c.in.Agent
	if p, _ := c.journalFailed(1); p != nil || c.in.Delegation.Spec.MessageID == "" || a.Lookup == v1alpha1.LookupNone || a.Lookup == "" {
		return nil
	}
	ask, r := Ask{Call: CallFind, Query: c.query(time.Time{})}, c.result(CallFind)
	if c.to.TaskID != "" {
		ask, r = Ask{Call: CallGet, TaskID: c.to.TaskID}, c.result(CallGet)
	}
	switch {
	case r == nil:
		return ask
	case r.Outcome == Absent || r.Outcome == Refused || r.Outcome == Accepted:
		return nil
	}
	// The time on record binds all replicas; each writing its own would be a war of writes.
	if planned := c.in.Delegation.Status.NextAttemptTime; planned != nil && planned.After(c.in.Now) && r.Credentials == a.Credentials {
		return until(Wait{Until: planned.Time}, c.deliveryEnd())
	}
	next := r.At.Add(min(max(r.At.Sub(r.Since)/2, minLookupInterval), maxAuthBackoff))
	if !c.in.Now.Before(next) || r.Credentials != a.Credentials {
		return ask
	}
	return c.unasked(r, next)
}

// unasked notes that the agent could not be asked whether it knows the message, and when it is asked again.
func (c *decision) unasked(r *Result, next time.Time) Action {
	agent := c.in.Delegation.AgentKey()
	reason, message := ReasonAgentUnreachable, fmt.Sprintf("the agent can't be asked whether it knows the message already (%s): bring it back; it is asked again at "+
		"status.nextAttemptTime. If it can never be asked, the message goes without: kubectl patch remoteagent -n %s %s --type=merge -p "+
		`'{"spec":{"contract":{"taskLookup":{"mode":"None"}}}}'`, r.Reason, agent.Namespace, agent.Name)
	if r.Outcome == Unauthorized {
		reason, message = ReasonAuthenticationFailed, c.wrongCredentials(r)
	}
	s := c.draft()
	s.LastError = r.Detail
	s.NextAttemptTime = stampOf(next.Add(time.Second - 1))
	s.delivered(metav1.ConditionFalse, reason, "the message has not been accepted")
	s.set(v1alpha1.PhasePending, reason, message)
	return until(c.commit(s, c.expiry()), next)
}

// expiredUnknown ends a message that nobody can know of before what it waits for is there. One whose id the manifest
// brought may be an old one, and is looked up first.
func (c *decision) expiredUnknown() Action {
	if c.in.Delegation.Spec.MessageID != "" {
		return nil
	}
	return c.expired()
}

// expired keeps an old manifest old: after notAfter there is no first attempt.
func (c *decision) expired() Action {
	after := c.in.Delegation.Spec.NotAfter
	if after == nil || c.in.Now.Before(after.Time) {
		return nil
	}
	return c.refuse(v1alpha1.PhaseUndelivered, "Expired", "spec.notAfter has passed and the message was never sent: it is safe to create it anew")
}

// send plans attempt n.
func (c *decision) send(n int32, first time.Time) Action {
	if r := c.result(CallSend); r != nil && r.Attempt >= n && r.Reason != ReasonJournalWriteFailed {
		// The object is older than what this process did to it: its event comes. What was proved must not be replaced.
		return c.untilEnd(Wait{})
	}
	if p, retry := c.journalFailed(n); p != nil && c.in.Now.Before(retry) {
		if n == 1 {
			return until(c.pending(p), retry)
		}
		return until(c.held(p), retry)
	}
	a := Attempt{
		Number: n, Holder: c.in.Self, First: first,
		Endpoint: c.in.Agent.Endpoint, Body: c.in.Body.Digest, Credentials: c.in.Agent.Credentials,
		Task: c.to.TaskID, References: c.to.References,
	}
	switch root := c.in.Related.Root; {
	case c.attempt != nil:
		a.Before = c.attempt.Before
		a.Elsewhere = !c.allRefuted(c.attempt.Number) && (c.attempt.Elsewhere || c.attempt.Endpoint != a.Endpoint)
	case root != nil && root.Status.StateTimestamp != nil:
		a.Before = &root.Status.StateTimestamp.Time
	}
	return Send{Attempt: a, Envelope: c.to, Timeout: c.in.Agent.AttemptTimeout, Until: c.sendUntil()}
}

// sendUntil is when the right to begin a further attempt ends. What a person decides after the end has no such limit.
func (c *decision) sendUntil() time.Time {
	end := c.deliveryEnd()
	if !c.in.Now.Before(end) {
		return time.Time{}
	}
	if after := c.in.Delegation.Spec.NotAfter; after != nil && c.attempt == nil && after.Time.Before(end) {
		return after.Time
	}
	if c.attempt == nil || c.allRefuted(c.attempt.Number) || !c.replayable() {
		return end
	}
	if forgotten := c.attempt.First.Add(c.in.Agent.Retention - c.in.Agent.AttemptTimeout); forgotten.Before(end) {
		return forgotten
	}
	return end
}

// journalFailed returns the problem of an attempt that the API server did not take into the journal; nothing was sent.
func (c *decision) journalFailed(n int32) (*Problem, time.Time) {
	r := c.result(CallSend)
	if r == nil || r.Attempt != n || r.Reason != ReasonJournalWriteFailed {
		return nil, time.Time{}
	}
	return &Problem{Reason: r.Reason, Message: "the attempt can't be journalled, and what isn't is not sent: " + r.Detail},
		r.At.Add(journalRetry)
}
