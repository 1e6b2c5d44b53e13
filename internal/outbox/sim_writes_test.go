// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// checkWrite is asked for every write that the API server makes.
func (s *sim) checkWrite(w *simWrite, old, next *v1alpha1.Delegation, same bool) {
	if w.by == nil {
		return
	}
	if s.telling {
		s.tell(w.by.name, old.Name, "%s is written: %s", w.verb, tellStatus(next))
	}
	if w.d.ResourceVersion != old.ResourceVersion {
		s.violate(promiseSwap, "%s of %s is based on revision %s and replaces %s", w.verb, old.Name, w.d.ResourceVersion, old.ResourceVersion)
	}
	if same {
		s.violate(promiseQuiet, "%s of %s changes nothing", w.verb, old.Name)
	}
	s.checkForward(w, &old.Status, &next.Status)
	switch w.verb {
	case verbRecord:
		if next.Status.Interruptions > old.Status.Interruptions {
			s.asked()
		}
		s.checkTruth(w.id, next)
		s.checkWayOut(next)
	case verbRelease:
		s.checkFinalizer(w, old)
	}
}

// checkForward is P5: what is certain stays so.
func (s *sim) checkForward(w *simWrite, old, next *v1alpha1.DelegationStatus) {
	name := s.server.objects[w.id].name
	late := func(what string, was, is any) {
		s.violate(promiseForward, "%s of %s changes %s from %v to %v", w.verb, name, what, was, is)
	}
	switch {
	case old.Phase.Finished() && (next.Phase != old.Phase || next.State != old.State):
		late("a finished phase", old.Phase, next.Phase)
	case old.Phase.Finished() && !old.CompletionTime.Equal(next.CompletionTime):
		late("completionTime", old.CompletionTime, next.CompletionTime)
	case old.TaskID != "" && next.TaskID != old.TaskID:
		late("taskId", old.TaskID, next.TaskID)
	case next.Attempts < old.Attempts:
		late("attempts", old.Attempts, next.Attempts)
	case next.Interruptions < old.Interruptions:
		late("interruptions", old.Interruptions, next.Interruptions)
	case old.FirstAttemptTime != nil && !old.FirstAttemptTime.Equal(next.FirstAttemptTime):
		late("firstAttemptTime", old.FirstAttemptTime, next.FirstAttemptTime)
	case old.BodyDigest != "" && next.BodyDigest != old.BodyDigest:
		late("bodyDigest", old.BodyDigest, next.BodyDigest)
	case old.StartTime != nil && !old.StartTime.Equal(next.StartTime):
		late("startTime", old.StartTime, next.StartTime)
	case old.Resolution != nil && (next.Resolution == nil || *next.Resolution != *old.Resolution):
		late("resolution", old.Resolution, next.Resolution)
	case old.StateTimestamp != nil && next.StateTimestamp != nil && next.StateTimestamp.Time.Before(old.StateTimestamp.Time):
		late("stateTimestamp", old.StateTimestamp, next.StateTimestamp)
	}
}

// checkTruth compares what is certain with what happened. An agent that breaks its owner's word makes liars of all.
func (s *sim) checkTruth(id int, d *v1alpha1.Delegation) {
	f := s.facts[id]
	cond := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDelivered)
	switch phase := d.Status.Phase; {
	case s.plan.agent.liar:
	case cond != nil && cond.Status == metav1.ConditionFalse:
		s.checkNotTaken(id, d, "Delivered is False")
	case phase == v1alpha1.PhasePending || phase == v1alpha1.PhaseUndelivered:
		s.checkNotTaken(id, d, "the phase is "+string(phase))
	case cond != nil && cond.Status == metav1.ConditionTrue && len(f.accepted) == 0 && !f.shared && d.Spec.Resolution == nil:
		s.violate(promiseTruth, "Delivered of %s is True and the agent took nothing", d.Name)
	}
}

func (s *sim) checkNotTaken(id int, d *v1alpha1.Delegation, says string) {
	f := s.facts[id]
	if len(f.accepted) > 0 {
		s.violate(promiseTruth, "%s of %s, and the agent took attempt %d", says, d.Name, f.accepted[0].message.attempt)
	}
	if f.open(nil) {
		s.violate(promiseTruth, "%s of %s, and an attempt is under way", says, d.Name)
	}
	if cond := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDelivered); cond != nil && cond.Status == metav1.ConditionUnknown {
		s.violate(promiseTruth, "%s of %s, and Delivered is Unknown", says, d.Name)
	}
}

// checkWayOut is P7: what is stalled names a command.
func (s *sim) checkWayOut(d *v1alpha1.Delegation) {
	stalled := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || strings.Contains(stalled.Message, "kubectl ") {
		return
	}
	// A person's resolution that is being carried out waits for the agent, and says so.
	if d.Status.Phase == v1alpha1.PhaseUnknown && d.Spec.Resolution != nil {
		return
	}
	s.violate(promiseWayOut, "%s is stalled by %s and names no command: %s", d.Name, stalled.Reason, stalled.Message)
}

// checkFinalizer is asked when a Delegation is let go: what may live on at the agent has to be named in the event.
func (s *sim) checkFinalizer(w *simWrite, d *v1alpha1.Delegation) {
	f := s.facts[w.id]
	release, _ := w.action.(Release)
	if release.Event != nil {
		return
	}
	if d.Status.TaskID == "" && d.Status.Phase != v1alpha1.PhaseCompleted && (len(f.accepted) > 0 || f.open(nil)) && !s.plan.agent.liar {
		s.violate(promiseFinalizer, "%s is let go as %s %s without a word, and its message may have been taken", d.Name, d.Status.Phase, tellReason(d))
	}
	if d.Status.TaskID == "" || d.Spec.Continues != nil || d.Spec.DeletionPolicy == v1alpha1.DeletionOrphan || d.Status.State.Terminal() || d.Status.Phase.Finished() {
		return
	}
	if !slices.Contains(f.canceled, d.Status.TaskID) {
		s.violate(promiseCanceled, "%s is let go, and nobody asked to cancel task %s", d.Name, d.Status.TaskID)
	}
}
