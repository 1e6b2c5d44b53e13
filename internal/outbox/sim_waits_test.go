// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"slices"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// unexplainedPending: what it says that it waits for is so.
func (s *sim) unexplainedPending(id int, d *v1alpha1.Delegation) string {
	so := false
	switch reason := tellReason(d); reason {
	case "Suspended":
		so = d.Spec.Suspend
	case "MessageSourceNotFound":
		so = s.facts[id].source == 0
	case ReasonAgentUnreachable:
		// A search before the first attempt that never succeeds.
		so = s.plan.agent.listing == listFailing && d.Spec.Continues == nil
	case "TargetNotFinished":
		for _, ref := range d.Spec.Refines {
			target := s.byName(ref.Name)
			so = so || (target != nil && !target.Status.State.Terminal())
		}
	case "TargetNotFound":
		so = s.rootOf(d) == nil || slices.ContainsFunc(d.Spec.Refines, func(ref v1alpha1.DelegationReference) bool { return s.byName(ref.Name) == nil })
	default:
		return s.unexplainedAnswer(d, reason)
	}
	if !so {
		return "what it waits for is not so"
	}
	return ""
}

// unexplainedAnswer is an answer that waits for its question.
func (s *sim) unexplainedAnswer(d *v1alpha1.Delegation, reason string) string {
	root := s.rootOf(d)
	if root == nil {
		return "it waits for nothing"
	}
	t := s.taskOf(root)
	asks := t != nil && !t.gone && t.now().state.Interrupted() && !root.Status.Phase.Finished()
	held := root.Status.AnsweredBy
	switch reason {
	case "TargetNotBound":
		if root.Status.TaskID != "" {
			return "its target is bound"
		}
		return ""
	case "TargetNotAsking", ReasonTaskBusy:
		if asks {
			return "its target asks"
		}
		return ""
	case "OlderAnswerFirst":
		return ""
	case "AnsweredByAnother":
		// Without timestamps a question that was asked again can't be told from the one before.
		if asks && held != nil && held.Interruption < root.Status.Interruptions && s.plan.agent.stamps && s.byName(held.Name) == nil {
			return "the claim is void"
		}
		return ""
	}
	return "it waits for nothing"
}

func (s *sim) byName(name string) *v1alpha1.Delegation {
	for id, o := range s.server.objects {
		if d := s.server.now(id); o.name == name && d != nil {
			return d
		}
	}
	return nil
}

// rootOf is the Delegation whose task a continuation goes to.
func (s *sim) rootOf(d *v1alpha1.Delegation) *v1alpha1.Delegation {
	for d != nil && d.Spec.Continues != nil {
		d = s.byName(d.Spec.Continues.Name)
	}
	return d
}
