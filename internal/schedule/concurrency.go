// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// blockers are the runs that have to end before another begins.
func (p *planner) blockers() []*v1alpha1.Delegation {
	switch p.s.Spec.ConcurrencyPolicy {
	case v1alpha1.ConcurrencyForbid, v1alpha1.ConcurrencyReplace:
		return p.active
	}
	return nil
}

// waitFor waits for the end of runs, up to the end of the time in which the one that is due can begin. With Replace they are
// asked to end. They have not ended by that: the agent may refuse, or not answer, and then both would work. A run that
// is Unknown ends by no event that can be expected, so that the wait for it needs a person.
func (p *planner) waitFor(blockers []*v1alpha1.Delegation, at, end time.Time) {
	if !end.IsZero() && end.Before(p.plan.Until) {
		p.plan.Until = end.Add(time.Second)
	}
	for _, run := range blockers {
		if p.s.Spec.ConcurrencyPolicy == v1alpha1.ConcurrencyReplace && !run.Spec.Cancel && run.DeletionTimestamp == nil {
			p.plan.Cancel = append(p.plan.Cancel, run)
		}
	}
	if !p.stoppedAtUnknown("the run of " + stamp(at)) {
		p.ready(ReasonWaitingForRun, "the run of "+stamp(at)+" waits for the end of "+blockers[0].Name)
	}
}

// idle concludes where nothing is due. A run that is Unknown keeps the next from beginning, which a person should not learn from
// one that is missed.
func (p *planner) idle() {
	if !p.stoppedAtUnknown("the next run") {
		p.ready(ReasonScheduled, "runs begin as scheduled")
	}
}

// stoppedAtUnknown tells of a run that is Unknown and that others wait for.
func (p *planner) stoppedAtUnknown(what string) bool {
	for _, run := range p.blockers() {
		if run.Status.Phase == v1alpha1.PhaseUnknown {
			p.stalled(ReasonRunUnknown, what+" waits for "+run.Name+", whose outcome is unknown; its condition has the commands that decide: "+
				"kubectl describe delegation -n "+run.Namespace+" "+run.Name)
			return true
		}
	}
	return false
}
