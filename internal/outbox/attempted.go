// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// attempted is a message with an attempt on record and no task.
func (c *decision) attempted() Action {
	if r := c.ownResult(); r != nil && c.unrecorded(r) {
		if a := c.recordSend(r); a != nil {
			return a
		}
	}
	refuted := c.allRefuted(c.attempt.Number)
	switch {
	case c.in.Delegation.Status.Phase == v1alpha1.PhaseUnknown && c.readyReason() != ReasonJournalUnreadable:
		return c.unknownAgain()
	case refuted:
		return c.retry()
	case c.resendResolved():
		return c.resend()
	case !c.in.Now.Before(c.deliveryEnd()) && !c.in.Now.Before(c.attempt.Deadline):
		return c.unknown()
	case c.recordedInProgress():
		return c.again()
	default:
		return c.recover()
	}
}

// ownResult returns what this process's send proved about the attempt on record. Of two processes that journal an attempt
// of one number at once, one is told that it failed: what that proves says nothing about the other's. Nor does what one
// process proves of an attempt say anything of another that it journalled under the same number, on an older version.
func (c *decision) ownResult() *Result {
	r := c.result(CallSend)
	if r != nil && r.Attempt == c.attempt.Number && c.attempt.Holder == c.in.Self && r.Journal.Equal(c.attempt.Started) {
		return r
	}
	return nil
}

// unrecorded reports whether the status lacks what an attempt proved: another replica may have noted the attempt already,
// and knows only that it is open.
func (c *decision) unrecorded(r *Result) bool {
	if c.in.Delegation.Status.Attempts < r.Attempt {
		return true
	}
	cond := c.deliveredCondition()
	return r.Outcome != Ambiguous && cond != nil && cond.Status == metav1.ConditionUnknown && cond.Reason == ReasonRecovering
}

// retry sends a message again that certainly was not accepted, unless it was called off or is late.
func (c *decision) retry() Action {
	for _, ask := range []func() Action{c.calledOff, c.late, c.reclaim} {
		if a := ask(); a != nil {
			return a
		}
	}
	return c.again()
}

// reclaim makes sure, before an answer goes again, that it still is the one: the question may have another by now.
func (c *decision) reclaim() Action {
	if c.in.Delegation.Spec.Continues == nil || c.in.Related.Root == nil {
		return nil
	}
	return c.question()
}

// allRefuted reports whether it is on record that none of the attempts up to n was accepted. An attempt that is in the
// journal and not in the status has no known outcome.
func (c *decision) allRefuted(n int32) bool {
	if n == 0 {
		return true
	}
	cond := c.deliveredCondition()
	return c.in.Delegation.Status.Attempts >= n && cond != nil && cond.Status == metav1.ConditionFalse
}

// recordedInProgress reports whether the agent's last word was that it has the message and wants it again. It counts for
// as long as the agent promised to remember the message.
func (c *decision) recordedInProgress() bool {
	if c.in.Agent.Deduplicates && !c.replayable() {
		return false
	}
	cond := c.deliveredCondition()
	return c.in.Delegation.Status.Attempts >= c.attempt.Number && cond != nil && cond.Reason == ReasonInProgress
}

// recordSend writes what an attempt without a Task or Message proved. Where an earlier attempt has no known outcome, what
// failed now is only told as the last error: the message stays one that may have been accepted.
func (c *decision) recordSend(r *Result) Action {
	s := c.draft()
	refuted := c.allRefuted(r.Attempt - 1)
	c.stamp(s)
	s.LastError = r.Detail
	switch {
	case r.Outcome == Refused:
		c.noteRefusal(s, r, refuted)
	case r.Outcome == InProgress:
		s.delivered(metav1.ConditionUnknown, ReasonInProgress, "the agent is working on the first copy of the message")
		c.retryAt(s, r, firstBackoff, maxBackoff)
		s.set(v1alpha1.PhaseSending, ReasonInProgress, "the agent is working on the first copy of the message; it is sent again at status.nextAttemptTime")
	case r.Outcome == Unresolved:
		s.delivered(metav1.ConditionUnknown, ReasonCopyUnresolved, "the agent had the message before, and does not know what became of it")
		s.set(v1alpha1.PhaseSending, ReasonRecovering, "the agent lost track of the message: its tasks are asked where they can be, and it is not sent again by itself")
	case refuted && r.Outcome == Unauthorized:
		s.delivered(metav1.ConditionFalse, ReasonAuthenticationFailed, "the agent does not accept the operator's credentials")
		c.retryAt(s, r, firstAuthBackoff, maxAuthBackoff)
		s.set(v1alpha1.PhasePending, ReasonAuthenticationFailed, c.wrongCredentials(r))
	case refuted && r.Outcome == NotSent:
		s.delivered(metav1.ConditionFalse, r.Reason, "the message did not reach the agent")
		c.retryAt(s, r, firstBackoff, maxBackoff)
		s.set(v1alpha1.PhaseSending, r.Reason, "the message did not reach the agent; it is sent again at status.nextAttemptTime")
	default:
		s.delivered(metav1.ConditionUnknown, ReasonRecovering, "an attempt has no known outcome")
		if c.replayable() {
			c.retryAt(s, r, firstBackoff, maxBackoff)
		}
		s.set(v1alpha1.PhaseSending, ReasonRecovering, c.recovering())
	}
	return c.settle(s, nil)
}

// noteRefusal writes what a refusal proved, which depends on the task where the message continues one.
func (c *decision) noteRefusal(s *draft, r *Result, refuted bool) {
	switch {
	case c.busy(r):
		s.delivered(certainty(refuted), ReasonTaskBusy, "the agent takes no message for the task now")
		c.retryAt(s, r, firstBackoff, maxBackoff)
		phase := v1alpha1.PhaseSending
		if refuted {
			phase = v1alpha1.PhasePending
		}
		s.set(phase, ReasonTaskBusy, fmt.Sprintf("task %s takes no message now (%s); it is sent again", c.to.TaskID, r.Reason))
	case c.ended(r):
		s.delivered(certainty(refuted), ReasonTaskTerminal, "the agent refused the message")
		s.set(v1alpha1.PhaseRejected, ReasonTaskTerminal, fmt.Sprintf(
			"task %s is in state %s and takes no more messages: create a Delegation with refines: [{name: %s}] instead of continues", c.to.TaskID, r.Task.State, c.in.Delegation.Spec.Continues.Name))
	case !refuted && r.Reason != ReasonDigestMismatch:
		s.delivered(metav1.ConditionUnknown, ReasonCopyRefused, "a copy of the message was refused; an earlier one may have been accepted")
		s.set(v1alpha1.PhaseSending, ReasonRecovering, "a copy of the message was refused ("+r.Reason+"), and an earlier one may have been accepted: the agent is asked where it can be")
	default:
		s.delivered(certainty(refuted), r.Reason, "the agent refused the message")
		s.set(v1alpha1.PhaseRejected, r.Reason, c.refusal(r))
	}
}

// busy reports whether an answer was refused although its task is not done: it came while the agent was at work. A task
// may ask a moment before it takes answers; one that still refuses after many has refused the message.
func (c *decision) busy(r *Result) bool {
	if c.in.Delegation.Spec.Continues == nil || r.Task == nil || r.Task.State.Terminal() {
		return false
	}
	takes := r.Task.State.Interrupted() || c.in.Agent.TakesWhileWorking
	return !takes || r.Attempt < maxBusyAttempts
}

// ended reports whether an answer was refused because its task is done. Agents say so in different words (A2A 1.0 wants
// UnsupportedOperationError, some say InvalidParams); the task itself tells.
func (c *decision) ended(r *Result) bool {
	return c.in.Delegation.Spec.Continues != nil && r.Task != nil && r.Task.State.Terminal()
}

func (c *decision) refusal(r *Result) string {
	return "the agent refused the message: " + r.Detail + "; create a new Delegation with what it asks for"
}

// certainty is Delivered for an attempt that failed: False where all before it failed too.
func certainty(refuted bool) metav1.ConditionStatus {
	if refuted {
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

// stamp copies the journal into the status.
func (c *decision) stamp(s *draft) {
	if c.attempt == nil {
		return
	}
	s.Attempts = max(s.Attempts, c.attempt.Number)
	s.BodyDigest = c.attempt.Body
	s.FirstAttemptTime = stampOf(c.attempt.First)
	s.LastAttemptTime = stampOf(c.attempt.Started)
	s.NextAttemptTime = nil
}

// stampOpen copies the journal into the status, and that its outcome is open unless it is on record.
func (c *decision) stampOpen(s *draft) {
	refuted := c.allRefuted(c.attempt.Number)
	c.stamp(s)
	if cond := c.deliveredCondition(); !refuted && (cond == nil || cond.Status != metav1.ConditionUnknown) {
		s.delivered(metav1.ConditionUnknown, ReasonRecovering, "an attempt has no known outcome")
	}
}

func (c *decision) retryAt(s *draft, r *Result, first, limit time.Duration) {
	wait := max(backoff(first, limit, r.Attempt, c.to.MessageID), min(r.RetryAfter, maxRetryAfter))
	// Rounded up: Retry-After is the least that the agent asked for.
	s.NextAttemptTime = stampOf(r.At.Add(wait + time.Second - 1))
}

// again sends the same message once more, when it is time. After the end of delivery only a person can want that.
func (c *decision) again() Action {
	if !c.in.Now.Before(c.deliveryEnd()) && !c.resendResolved() {
		return c.giveUpAt(c.attempt.Deadline)
	}
	if p := c.problem(); p != nil {
		return c.untilEnd(c.held(p))
	}
	if c.changed() {
		return c.sourceChanged()
	}
	if due := c.due(); c.in.Now.Before(due) {
		return c.untilEnd(Wait{Until: due})
	}
	return c.send(c.attempt.Number+1, c.attempt.First)
}

// held notes a problem on the way to a further attempt.
func (c *decision) held(p *Problem) Action {
	if p.Transient {
		return Wait{}
	}
	if c.allRefuted(c.attempt.Number) {
		return c.pending(p)
	}
	return c.noteSending(p.Reason, p.Message, Wait{})
}

// due is when the next attempt may start. An attempt of another process, or of one that died, is given as long as the
// backoff says, so that replicas that share a deduplicating agent don't answer each other's attempts with more of them.
func (c *decision) due() time.Time {
	status := &c.in.Delegation.Status
	if c.in.Agent.Credentials != c.attempt.Credentials && status.Attempts >= c.attempt.Number {
		return c.in.Now
	}
	if status.Attempts < c.attempt.Number || status.NextAttemptTime == nil {
		given := c.attempt.Started.Add(backoff(2*firstBackoff, maxBackoff, c.attempt.Number, c.to.MessageID))
		if given.After(c.attempt.Deadline) {
			return c.attempt.Deadline
		}
		return given
	}
	return status.NextAttemptTime.Time
}

// changed reports whether the message would go with another body than the attempts before.
func (c *decision) changed() bool { return c.attempt.Body != "" && c.in.Body.Digest != c.attempt.Body }

// sourceChanged stops rather than send another body under the same messageId.
func (c *decision) sourceChanged() Action {
	s := c.draft()
	c.stampOpen(s)
	s.set(v1alpha1.PhaseSending, ReasonMessageSourceChanged, fmt.Sprintf(
		"a part's source changed after the first attempt, and a messageId names one body: restore the content with digest %s, or give up with: %s",
		c.attempt.Body, c.kubectl("delete")))
	return c.commit(s, c.untilEnd(Wait{}))
}
