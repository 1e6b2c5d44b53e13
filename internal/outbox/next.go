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
	// to is the envelope under which the message goes out.
	to Envelope
}

// Next returns the one action that may be taken now. It is called again after every action, with what that brought, until
// it returns Wait or Follow; calling it twice with the same input gives the same answer.
func Next(in Input) Action {
	c := &decision{in: in}
	action := c.next()
	d := in.Delegation
	settled := d.Status.TaskID != "" || d.Status.Phase == v1alpha1.PhaseUnknown
	if !settled || d.Status.ObservedGeneration == d.Generation || d.DeletionTimestamp != nil {
		return action
	}
	switch action.(type) {
	case Wait, Follow:
		// A change of the spec that changes nothing else was seen all the same, and kstatus wants to know.
		s := c.draft()
		s.ObservedGeneration = in.Delegation.Generation
		return c.commit(s, action)
	}
	return action
}

func (c *decision) next() Action {
	if err := c.readJournal(); err != nil {
		return c.unreadable(err)
	}
	c.keepBounds()
	in := c.in
	if a := c.duplicates(); a != nil {
		return a
	}
	switch status := &in.Delegation.Status; {
	case Over(status):
		return c.finished()
	case status.TaskID == "" && c.answered():
		return c.bind()
	case in.Running != CallNone && !c.deletionOverdue():
		return c.untilReleased(Wait{})
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

// deletionOverdue reports whether a deletion has taken as long as it may. A call that is still queued or out, perhaps for an
// hour, does not hold it up.
func (c *decision) deletionOverdue() bool {
	at := c.in.Delegation.DeletionTimestamp
	return at != nil && !c.in.Now.Before(at.Add(releaseAfter))
}

// untilReleased makes a wait end when a deletion has taken as long as it may.
func (c *decision) untilReleased(a Action) Action {
	if at := c.in.Delegation.DeletionTimestamp; at != nil {
		return until(a, at.Add(releaseAfter))
	}
	return a
}

// Over reports whether nothing more is to come: a finished phase, or an Unknown one that a person gave up.
func Over(s *v1alpha1.DelegationStatus) bool {
	return s.Phase.Finished() || (s.Phase == v1alpha1.PhaseUnknown && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionFinished))
}

// readJournal reads the latest attempt. One that can't be read matters only while the message has no task.
func (c *decision) readJournal() error {
	d := c.in.Delegation
	attempt, err := Journalled(d)
	if err != nil && (d.Status.TaskID != "" || d.Status.Phase.Finished()) {
		err = nil
	}
	c.attempt = attempt
	c.to = address(d, attempt, c.in.Related, c.in.Agent.NamesContexts)
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
	a := &Attempt{Number: max(d.Status.Attempts, 1), Body: d.Status.BodyDigest, First: d.CreationTimestamp.Time, Task: c.to.TaskID}
	if began := d.Status.FirstAttemptTime; began != nil {
		a.First = began.Time
	}
	a.Started = a.First
	if last := d.Status.LastAttemptTime; last != nil {
		a.Started = last.Time
	}
	a.Deadline = a.Started
	if cond := c.deliveredCondition(); d.Status.Attempts > 0 && cond != nil && cond.Status == metav1.ConditionFalse && cond.Reason != ReasonNotSent {
		// What failed is on record, and the journal that was dropped may have had one more.
		a.Number++
	}
	return a
}

// answered reports whether this process holds the agent's Task or Message for a message that is not bound.
func (c *decision) answered() bool {
	r := c.in.Result
	if r == nil || r.Outcome != Accepted {
		return false
	}
	return r.Call == CallSend || r.Call == CallFind || (r.Call == CallGet && c.holds(r.Task))
}

// holds reports whether a task is the one that the message continues, and has the message.
func (c *decision) holds(t *Task) bool {
	return t != nil && c.to.TaskID != "" && t.ID == c.to.TaskID && slices.Contains(t.History, c.to.MessageID)
}

// result returns the last finished call where it was one of this kind.
func (c *decision) result(call Call) *Result {
	if r := c.in.Result; r != nil && r.Call == call {
		return r
	}
	return nil
}

func (c *decision) draft() *draft {
	d := c.in.Delegation
	return &draft{
		DelegationStatus: *d.Status.DeepCopy(), now: c.in.Now, generation: d.Generation, cancelAsked: d.Spec.Cancel,
		remedy: "; to remove it: " + c.kubectl("delete"),
	}
}

// kubectl returns a command on this Delegation.
func (c *decision) kubectl(verb string) string {
	return fmt.Sprintf("kubectl %s delegation -n %s %s", verb, c.in.Delegation.Namespace, c.in.Delegation.Name)
}

// pending notes why a message that certainly was not accepted has to wait.
func (c *decision) pending(p *Problem) Action {
	s := c.draft()
	if c.attempt == nil {
		s.NextAttemptTime = nil
	}
	s.delivered(metav1.ConditionFalse, p.Reason, "the message has not been accepted")
	s.set(v1alpha1.PhasePending, p.Reason, p.Message)
	return c.commit(s, c.expiry())
}

// hold notes why the Delegation stays in its phase.
func (c *decision) hold(phase v1alpha1.Phase, reason, message string, then Action) Action {
	s := c.draft()
	s.set(phase, reason, message)
	return c.commit(s, then)
}

// refuse ends a message that certainly was not accepted.
func (c *decision) refuse(phase v1alpha1.Phase, reason, message string) Action {
	s := c.draft()
	s.delivered(metav1.ConditionFalse, reason, "the message was never accepted")
	s.set(phase, reason, message)
	return c.commit(s, Wait{})
}

func (c *decision) unreadable(err error) Action {
	return c.hold(v1alpha1.PhaseUnknown, ReasonJournalUnreadable, fmt.Sprintf(
		"%v; restore it, or remove it to have the message looked up: %s %s-", err, c.kubectl("annotate"), v1alpha1.AttemptAnnotation), Wait{})
}

// finished is a Delegation at rest: it is only noted that a changed spec was seen, and its time to live runs.
func (c *decision) finished() Action {
	d := c.in.Delegation
	if d.DeletionTimestamp != nil {
		if !slices.Contains(d.Finalizers, v1alpha1.DeliveryFinalizer) {
			return Wait{}
		}
		if cond := c.deliveredCondition(); cond != nil && cond.Status == metav1.ConditionUnknown {
			return c.abandon("its outcome is unknown")
		}
		return Release{}
	}
	s := c.draft()
	s.ObservedGeneration = d.Generation
	var then Action = Wait{}
	if ttl := d.Spec.TTLSecondsAfterFinished; ttl != nil && d.Status.CompletionTime != nil {
		end := d.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)
		if !c.in.Now.Before(end) {
			return Delete{}
		}
		then = Wait{Until: end}
	}
	return c.commit(s, then)
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
