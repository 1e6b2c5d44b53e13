// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Changes is what one status write changed that people, counters and traces are told of. A status is written with the
// resourceVersion of the one that it follows, so that each change is in one write of one process.
type Changes struct {
	// Moved says that the phase or the reason of Ready is another one.
	Moved bool
	// Delivered says that the agent is known to have the message from now on.
	Delivered bool
	// RecoveredBy is how the task was found, where its first answer was lost; empty where it was not, or was before.
	RecoveredBy v1alpha1.Recovery
	// Unknown says that the outcome became one that a person has to decide about.
	Unknown bool
	// Mismatch says that the agent knows the messageId with another body.
	Mismatch bool
	// Finished says that nothing more is to come.
	Finished bool
}

// Compare returns what changed from one status to the next.
func Compare(old, next *v1alpha1.DelegationStatus) Changes {
	was, is := ReadyReason(old), ReadyReason(next)
	c := Changes{
		Moved:     old.Phase != next.Phase || was != is,
		Delivered: became(old, next, v1alpha1.ConditionDelivered),
		Unknown:   next.Phase == v1alpha1.PhaseUnknown && old.Phase != v1alpha1.PhaseUnknown,
		Mismatch:  is == ReasonDigestMismatch && was != is,
		Finished:  became(old, next, v1alpha1.ConditionFinished),
	}
	if old.RecoveredBy == "" {
		c.RecoveredBy = next.RecoveredBy
	}
	return c
}

// RecoveredEvent tells that a task was found whose first answer was lost; nil where it was not.
func (c Changes) RecoveredEvent(s *v1alpha1.DelegationStatus) *Event {
	what := map[v1alpha1.Recovery]string{
		v1alpha1.RecoveredByReplay: "the identical message was sent again, and the agent answered with what the first copy made",
		v1alpha1.RecoveredByLookup: "the message was found among the agent's tasks",
	}[c.RecoveredBy]
	if what == "" {
		return nil // nothing was found, or a person named it, which an Event tells already
	}
	if s.TaskID != "" {
		what += ": task " + s.TaskID
	}
	return &Event{Reason: "Recovered", Message: what}
}

func became(old, next *v1alpha1.DelegationStatus, condition string) bool {
	return meta.IsStatusConditionTrue(next.Conditions, condition) && !meta.IsStatusConditionTrue(old.Conditions, condition)
}

// ReadyReason is the reason of Ready, one of the operator's own words; empty before it has any.
func ReadyReason(s *v1alpha1.DelegationStatus) string {
	if ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}
