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
	if r := c.result(CallSend); r != nil && r.Attempt == c.attempt.Number && c.in.Delegation.Status.Attempts < r.Attempt {
		return c.recordSend(r)
	}
	switch {
	case c.in.Delegation.Status.Phase == v1alpha1.PhaseUnknown && c.readyReason() != ReasonJournalUnreadable:
		return c.unknownAgain()
	case c.allRefuted(c.attempt.Number) || c.recordedInProgress():
		return c.again()
	default:
		return c.recover()
	}
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

// recordedInProgress reports whether the agent's last word was that it has the message and wants it again.
func (c *decision) recordedInProgress() bool {
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
		s.delivered(certainty(refuted), r.Reason, "the agent refused the message")
		s.set(v1alpha1.PhaseRejected, r.Reason, c.refusal(r))
	case r.Outcome == InProgress:
		s.delivered(metav1.ConditionUnknown, ReasonInProgress, "the agent is working on the first copy of the message")
		c.retryAt(s, r, firstBackoff, maxBackoff)
		s.set(v1alpha1.PhaseSending, ReasonInProgress, "the agent is working on the first copy of the message; it is sent again at status.nextAttemptTime")
	case refuted && r.Outcome == Unauthorized:
		s.delivered(metav1.ConditionFalse, ReasonAuthenticationFailed, "the agent does not accept the operator's credentials")
		c.retryAt(s, r, firstAuthBackoff, maxAuthBackoff)
		s.set(v1alpha1.PhasePending, ReasonAuthenticationFailed, "the agent does not accept the operator's credentials ("+r.Reason+
			"): correct the Secret that the RemoteAgent names; it is used at once")
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
	return c.settle(s, Wait{})
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

func (c *decision) retryAt(s *draft, r *Result, first, limit time.Duration) {
	wait := max(backoff(first, limit, r.Attempt, c.messageID), min(r.RetryAfter, maxRetryAfter))
	// Rounded up: Retry-After is the least that the agent asked for.
	s.NextAttemptTime = stampOf(r.At.Add(wait + time.Second - 1))
}

// again sends the same message once more, when it is time.
func (c *decision) again() Action {
	if p := c.problem(); p != nil {
		return c.held(p)
	}
	if c.attempt.Body != "" && c.in.Body.Digest != c.attempt.Body {
		return c.sourceChanged()
	}
	if due := c.due(); c.in.Now.Before(due) {
		return Wait{Until: due}
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
	return c.hold(v1alpha1.PhaseSending, p.Reason, p.Message, Wait{})
}

// due is when the next attempt may start. An attempt of another process, or of one that died, is given as long as the
// backoff says, so that replicas that share a deduplicating agent don't answer each other's attempts with more of them.
func (c *decision) due() time.Time {
	status := &c.in.Delegation.Status
	if status.Attempts < c.attempt.Number {
		given := c.attempt.Started.Add(backoff(2*firstBackoff, maxBackoff, c.attempt.Number, c.messageID))
		if given.After(c.attempt.Deadline) {
			return c.attempt.Deadline
		}
		return given
	}
	if status.NextAttemptTime == nil || c.in.Agent.Credentials != c.attempt.Credentials {
		return c.in.Now
	}
	return status.NextAttemptTime.Time
}

// sourceChanged stops rather than send another body under the same messageId.
func (c *decision) sourceChanged() Action {
	d := c.in.Delegation
	s := c.draft()
	c.stamp(s)
	s.set(v1alpha1.PhaseSending, ReasonMessageSourceChanged, fmt.Sprintf(
		"a part's source changed after the first attempt, and a messageId names one body: restore the content with digest %s, or give up with: kubectl delete delegation -n %s %s",
		c.attempt.Body, d.Namespace, d.Name))
	return c.commit(s, Wait{})
}
