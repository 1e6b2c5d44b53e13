// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// decision is one call of Next.
type decision struct {
	in      Input
	attempt *Attempt
	// messageID and contextID are the ids under which the message goes out.
	messageID string
	contextID string
}

// Next returns the one action that may be taken now. It is called again after every action, with what that brought, until
// it returns Wait or Follow; calling it twice with the same input gives the same answer.
func Next(in Input) Action {
	c := &decision{in: in}
	c.messageID, c.contextID = Identity(in.Delegation)
	if err := c.readJournal(); err != nil {
		return c.unreadable(err)
	}
	switch status := &in.Delegation.Status; {
	case status.Phase.Finished():
		return c.finished()
	case status.TaskID == "" && c.answered():
		return c.bind()
	case in.Running == CallSend || in.Running == CallFind || in.Running == CallCancel:
		return Wait{}
	case in.Delegation.DeletionTimestamp != nil:
		return c.deleting()
	case status.TaskID != "":
		return c.bound()
	case c.attempt == nil:
		return c.unsent()
	default:
		return c.attempted()
	}
}

// readJournal reads the latest attempt. One that can't be read matters only while the message has no task.
func (c *decision) readJournal() error {
	d := c.in.Delegation
	attempt, err := Journalled(d)
	if err != nil && (d.Status.TaskID != "" || d.Status.Phase.Finished()) {
		err = nil
	}
	c.attempt = attempt
	if c.attempt == nil && err == nil && c.mayHaveBeenSent() {
		c.attempt = c.lostAttempt()
	}
	return err
}

// mayHaveBeenSent reports whether an object without a journal shows that it once had one: the finalizer and the count
// come with an attempt, so that a restore or an edit that drops the annotation does not make a message new again.
func (c *decision) mayHaveBeenSent() bool {
	d := c.in.Delegation
	return slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer) || d.Status.Attempts > 0
}

// lostAttempt stands in for a journal that was dropped. Its deadline is over: who drops a journal by hand is not sending.
func (c *decision) lostAttempt() *Attempt {
	d := c.in.Delegation
	a := &Attempt{Number: max(d.Status.Attempts, 1), Body: d.Status.BodyDigest, First: d.CreationTimestamp.Time}
	if last := d.Status.LastAttemptTime; last != nil {
		a.First = last.Time
	}
	a.Started, a.Deadline = a.First, a.First
	return a
}

// answered reports whether this process holds the agent's Task or Message for a message that is not bound.
func (c *decision) answered() bool {
	r := c.in.Result
	return r != nil && r.Outcome == Accepted && (r.Call == CallSend || r.Call == CallFind)
}

// result returns the last finished call where it was one of this kind.
func (c *decision) result(call Call) *Result {
	if r := c.in.Result; r != nil && r.Call == call {
		return r
	}
	return nil
}

// unsent is a message that never left.
func (c *decision) unsent() Action {
	if p := c.problem(); p != nil {
		return c.pending(p)
	}
	return c.send(1, c.in.Now)
}

// journalFailed returns the problem of an attempt that the API server did not take into the journal; nothing was sent.
func (c *decision) journalFailed(n int32) (*Problem, time.Time) {
	r := c.result(CallSend)
	if r == nil || r.Attempt != n || r.Outcome != NotSent {
		return nil, time.Time{}
	}
	return &Problem{Reason: r.Reason, Message: "the attempt can't be journalled, and what isn't is not sent: " + r.Detail},
		r.At.Add(journalRetry)
}

// problem is what keeps a message from being sent: the agent's first, since it hides the other.
func (c *decision) problem() *Problem {
	if c.in.Agent.Problem != nil {
		return c.in.Agent.Problem
	}
	return c.in.Body.Problem
}

// send plans attempt n.
func (c *decision) send(n int32, first time.Time) Action {
	if p, retry := c.journalFailed(n); p != nil && c.in.Now.Before(retry) {
		if n == 1 {
			return until(c.pending(p), retry)
		}
		return until(c.held(p), retry)
	}
	return Send{
		Attempt: Attempt{
			Number: n, Holder: c.in.Self, First: first,
			Endpoint: c.in.Agent.Endpoint, Body: c.in.Body.Digest, Credentials: c.in.Agent.Credentials,
		},
		MessageID: c.messageID, ContextID: c.contextID, Timeout: c.in.Agent.AttemptTimeout,
	}
}

func (c *decision) draft() *draft {
	return &draft{
		DelegationStatus: *c.in.Delegation.Status.DeepCopy(),
		now:              c.in.Now, generation: c.in.Delegation.Generation,
	}
}

// pending notes why a message that certainly was not accepted has to wait.
func (c *decision) pending(p *Problem) Action {
	s := c.draft()
	s.delivered(metav1.ConditionFalse, p.Reason, "the message has not been sent")
	s.set(v1alpha1.PhasePending, p.Reason, p.Message)
	return c.commit(s, Wait{})
}

// hold notes why the Delegation stays in its phase.
func (c *decision) hold(phase v1alpha1.Phase, reason, message string, then Action) Action {
	s := c.draft()
	s.set(phase, reason, message)
	return c.commit(s, then)
}

func (c *decision) unreadable(err error) Action {
	d := c.in.Delegation
	return c.hold(v1alpha1.PhaseUnknown, ReasonJournalUnreadable, fmt.Sprintf(
		"%v; restore it, or remove it to have the message looked up: kubectl annotate delegation -n %s %s %s-",
		err, d.Namespace, d.Name, v1alpha1.AttemptAnnotation), Wait{})
}

func (c *decision) finished() Action {
	d := c.in.Delegation
	if d.DeletionTimestamp != nil && slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer) {
		return Release{}
	}
	s := c.draft()
	s.ObservedGeneration = d.Generation
	return c.commit(s, Wait{})
}

// readyReason is the reason of the condition Ready, "" without one.
func (c *decision) readyReason() string {
	if ready := meta.FindStatusCondition(c.in.Delegation.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

func (c *decision) deliveredCondition() *metav1.Condition {
	return meta.FindStatusCondition(c.in.Delegation.Status.Conditions, v1alpha1.ConditionDelivered)
}
