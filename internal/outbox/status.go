// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Reasons of the conditions that the decision itself sets; others come from a Problem or an Exchange.
const (
	ReasonRecovering           = "Recovering"
	ReasonAgentUnreachable     = "AgentUnreachable"
	ReasonAuthenticationFailed = "AuthenticationFailed"
	ReasonMessageSourceChanged = "MessageSourceChanged"
	ReasonJournalUnreadable    = "JournalUnreadable"
	ReasonOutcomeUnknown       = "OutcomeUnknown"
	ReasonTaskNotFound         = "TaskNotFound"
	ReasonReplied              = "Replied"
	ReasonInProgress           = "InProgress"
	ReasonJournalWriteFailed   = "JournalWriteFailed"
	ReasonNotSent              = "NotSent"
	ReasonCopyRefused          = "CopyRefused"
	ReasonCopyUnresolved       = "CopyUnresolved"
	ReasonDigestMismatch       = "DigestMismatch"
	ReasonTaskTerminal         = "TaskTerminal"
	ReasonTaskBusy             = "TaskBusy"
	ReasonCanceling            = "Canceling"
	ReasonCancelAccepted       = "CancelAccepted"
	ReasonCancelRefused        = "CancelRefused"
	ReasonDeadlineExceeded     = "DeadlineExceeded"
	ReasonAbandoned            = "Abandoned"
	ReasonResolutionRefused    = "ResolutionRefused"
	ReasonSuspended            = "Suspended"
	ReasonTargetNotFound       = "TargetNotFound"
	ReasonTargetNotBound       = "TargetNotBound"
	ReasonTargetNotFinished    = "TargetNotFinished"
	ReasonTargetNotAsking      = "TargetNotAsking"
	ReasonOlderAnswerFirst     = "OlderAnswerFirst"
	ReasonAnsweredByAnother    = "AnsweredByAnother"
)

// draft is a status in the making.
type draft struct {
	v1alpha1.DelegationStatus
	now         time.Time
	generation  int64
	cancelAsked bool
	// remedy is added to what can only be removed.
	remedy string
}

// set writes the phase and the conditions that follow from it by the rules of kstatus: Reconciling while it is in
// progress, Stalled when it has failed, Ready when it is done.
func (s *draft) set(phase v1alpha1.Phase, reason, message string) {
	if was := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); was != nil && reason == ReasonAgentUnreachable && was.Reason == reason && s.Phase == phase {
		// How it can't be reached differs from try to try, and from replica to replica; each would be a write.
		message = was.Message
	}
	s.Phase = phase
	s.ObservedGeneration = s.generation
	ready := metav1.ConditionFalse
	kind := s.class(phase, reason)
	if kind == failed && phase.Finished() {
		message += s.remedy
	}
	switch kind {
	case current:
		ready = metav1.ConditionTrue
		s.drop(v1alpha1.ConditionReconciling)
		s.drop(v1alpha1.ConditionStalled)
	case inProgress:
		s.drop(v1alpha1.ConditionStalled)
		s.condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	case failed:
		s.drop(v1alpha1.ConditionReconciling)
		s.condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
	}
	s.condition(v1alpha1.ConditionReady, ready, reason, message)
	if phase.Finished() {
		s.finish(reason, message)
	}
}

func (s *draft) finish(reason, message string) {
	s.condition(v1alpha1.ConditionFinished, metav1.ConditionTrue, reason, message)
	s.NextAttemptTime = nil
	if s.CompletionTime == nil {
		s.CompletionTime = stampOf(s.now)
	}
}

func (s *draft) delivered(status metav1.ConditionStatus, reason, message string) {
	s.condition(v1alpha1.ConditionDelivered, status, reason, message)
}

func (s *draft) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.generation, LastTransitionTime: *stampOf(s.now),
	})
}

func (s *draft) drop(kind string) { meta.RemoveStatusCondition(&s.Conditions, kind) }

// stampOf is t as the API server keeps it, in seconds (RFC 3339). A finer time would differ from what is read back, and
// each reading would be a change.
func stampOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

type kstatusClass int

const (
	inProgress kstatusClass = iota
	current
	failed
)

func (s *draft) class(phase v1alpha1.Phase, reason string) kstatusClass {
	switch phase {
	case v1alpha1.PhaseCompleted:
		return current
	case v1alpha1.PhaseCanceled:
		if s.cancelAsked {
			return current
		}
		return failed
	case v1alpha1.PhaseFailed, v1alpha1.PhaseRejected, v1alpha1.PhaseUndelivered, v1alpha1.PhaseUnknown:
		return failed
	}
	if reason == ReasonMessageSourceChanged || reason == ReasonJournalUnreadable {
		return failed
	}
	return inProgress
}

// commit returns the write of the draft, or then where the draft says nothing new.
func (c *decision) commit(s *draft, then Action) Action {
	old := &c.in.Delegation.Status
	if equality.Semantic.DeepEqual(*old, s.DelegationStatus) {
		return then
	}
	return Record{Status: s.DelegationStatus, Event: transition(old, &s.DelegationStatus), Protects: c.protects(&s.DelegationStatus)}
}

// settle returns the write of the draft as the one that holds what the Result proved.
func (c *decision) settle(s *draft, then Action) Action {
	action := c.commit(s, then)
	if record, ok := action.(Record); ok {
		record.Settles = true
		return record
	}
	return action
}

// transition returns the event for a change of phase or reason; nil where neither changed.
func transition(old, next *v1alpha1.DelegationStatus) *Event {
	was := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if done := next.Resolution; done != nil && (old.Resolution == nil || *old.Resolution != *done) {
		return &Event{Reason: "Resolved", Message: fmt.Sprintf("%s, as %s decided: %s", done.Action, done.Manager, is.Message)}
	}
	if n := len(next.Duplicates); n > len(old.Duplicates) {
		return &Event{Warning: true, Reason: "DuplicateTask", Message: fmt.Sprintf(
			"the agent made task %s of the message too, although it has task %s; it is canceled", next.Duplicates[n-1].TaskID, next.TaskID)}
	}
	if is == nil || (was != nil && old.Phase == next.Phase && was.Reason == is.Reason) {
		return nil
	}
	return &Event{
		Warning: meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionStalled),
		Reason:  is.Reason,
		Message: is.Message,
	}
}
