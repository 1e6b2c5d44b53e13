// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxActive bounds what status.active lists.
const maxActive = 100

// Input is what is known of a schedule.
type Input struct {
	Now      time.Time
	Schedule *v1alpha1.DelegationSchedule
	// Runs are the Delegations that it controls.
	Runs []*v1alpha1.Delegation
	// Taken is a Delegation that it does not control and that has the name of the run which is due.
	Taken *v1alpha1.Delegation
	// Refused is why the API server did not take that run.
	Refused *Refusal
}

// Refusal is an answer of the API server.
type Refusal struct {
	Message string
	// Final says that the same run would be refused again.
	Final bool
}

// Plan is what to do, in this order: write the status, with the resourceVersion that was decided on; cancel and delete; create,
// and then decide anew.
type Plan struct {
	Status v1alpha1.DelegationScheduleStatus
	Events []outbox.Event
	// Cancel are runs that give way to a newer one, and Delete those beyond the history.
	Cancel, Delete []*v1alpha1.Delegation
	// Create is the run that is due.
	Create *v1alpha1.Delegation
	// Until is when to decide again without an event; zero for never.
	Until time.Time
}

// planner is one decision.
type planner struct {
	in     Input
	s      *v1alpha1.DelegationSchedule
	active []*v1alpha1.Delegation
	plan   Plan
}

// Decide plans.
func Decide(in Input) Plan {
	p := &planner{in: in, s: in.Schedule, plan: Plan{Status: *in.Schedule.Status.DeepCopy()}}
	p.plan.Status.ObservedGeneration = p.s.Generation
	p.observe()
	if p.s.DeletionTimestamp == nil {
		p.fire()
		p.prune()
	}
	return p.plan
}

// observe brings the status up to what the runs show. A run that is there has begun, whether or not whoever made it lived
// to write that down.
func (p *planner) observe() {
	status := &p.plan.Status
	for _, run := range inOrder(p.s, p.in.Runs) {
		if at, ok := timeOf(p.s, run); ok {
			status.LastScheduleTime = later(status.LastScheduleTime, at)
		}
		if done := run.Status.CompletionTime; run.Status.Phase == v1alpha1.PhaseCompleted && done != nil {
			status.LastSuccessfulTime = later(status.LastSuccessfulTime, done.Time)
		}
		if !ended(run) {
			p.active = append(p.active, run)
		}
	}
	status.Active = nil
	for _, run := range p.active[:min(len(p.active), maxActive)] {
		status.Active = append(status.Active, v1alpha1.ActiveRun{Name: run.Name, UID: run.UID})
	}
}

func later(known *metav1.Time, at time.Time) *metav1.Time {
	if known != nil && !at.After(known.Time) {
		return known
	}
	t := metav1.NewTime(at)
	return &t
}

// fire finds out whether a run is due, and what stands in its way.
func (p *planner) fire() {
	status := &p.plan.Status
	status.NextScheduleTime = nil
	t, problem := p.times()
	switch {
	case problem != nil:
		p.stalled(problem.Reason, problem.Message)
		return
	case p.s.Spec.Suspend:
		p.ready(ReasonSuspended, "spec.suspend holds back further runs; to go on: "+p.kubectl(`patch`, ` --type=merge -p '{"spec":{"suspend":false}}'`))
		return
	}
	next := t.next(p.in.Now)
	if next.IsZero() {
		p.stalled(ReasonNeverDue, "no day within five years fits the schedule; to correct it: "+p.kubectl("edit", ""))
		return
	}
	status.NextScheduleTime = &metav1.Time{Time: next}
	p.plan.Until = next
	settled := p.earliest()
	if settled.Sub(p.in.Now) > maxSkew {
		p.ahead(t, settled)
		return
	}
	d := t.between(settled, p.in.Now)
	if d.latest.IsZero() {
		p.idle()
		return
	}
	p.begin(d)
}

// earliest is the time after which runs can be due: whatever was before it is settled.
func (p *planner) earliest() time.Time {
	at := p.s.CreationTimestamp.Time
	for _, t := range []*metav1.Time{p.plan.Status.LastScheduleTime, p.plan.Status.LastMissedTime} {
		if t != nil && t.After(at) {
			at = t.Time
		}
	}
	return at
}

// begin plans the run of the latest time that is due. Earlier ones are missed with its beginning.
func (p *planner) begin(d due) {
	if end, late := p.tooLate(d.latest); late {
		p.miss(d.latest, d.count, "it was more than spec.startingDeadlineSeconds late")
		p.idle()
		return
	} else if blockers := p.blockers(); len(blockers) > 0 {
		p.waitFor(blockers, d.latest, end)
		return
	}
	switch taken, refused := p.in.Taken, p.in.Refused; {
	case taken != nil:
		p.taken(taken, d)
	case refused != nil && refused.Final:
		p.stalled(ReasonRunRefused, "the API server refuses the run of "+stamp(d.latest)+": "+refused.Message+"; to correct spec.template: "+p.kubectl("edit", ""))
	case refused != nil:
		p.reconciling(ReasonRunNotCreated, "the run of "+stamp(d.latest)+" could not be created, which is tried again: "+refused.Message)
	default:
		if d.count > 1 {
			p.miss(d.previous, d.count-1, "a later one begins instead")
		}
		p.plan.Create = newRun(p.s, d.latest)
		if !p.refusedBefore() {
			p.ready(ReasonScheduled, "runs begin as scheduled")
		}
	}
}

// refusedBefore reports whether an earlier attempt at a run failed. That is told until one succeeds: a status that was well
// for as long as each attempt takes would be two writes for each.
func (p *planner) refusedBefore() bool {
	c := meta.FindStatusCondition(p.plan.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.ObservedGeneration == p.s.Generation && (c.Reason == ReasonRunRefused || c.Reason == ReasonRunNotCreated)
}

// tooLate reports whether a run can't begin any more, and until when it can; zero for always.
func (p *planner) tooLate(at time.Time) (time.Time, bool) {
	deadline := p.s.Spec.StartingDeadlineSeconds
	if deadline == nil {
		return time.Time{}, false
	}
	end := at.Add(time.Duration(*deadline) * time.Second)
	return end, p.in.Now.After(end)
}

// taken settles a firing whose name another Delegation has. With the same messageId it is the firing: the schedule was deleted
// with its runs left, and created anew.
func (p *planner) taken(other *v1alpha1.Delegation, d due) {
	p.ready(ReasonScheduled, "runs begin as scheduled")
	run := newRun(p.s, d.latest)
	if other.Spec.MessageID != run.Spec.MessageID {
		p.miss(d.latest, d.count, "another Delegation has the name "+other.Name)
		return
	}
	p.plan.Status.LastScheduleTime = later(p.plan.Status.LastScheduleTime, d.latest)
	if !sameMessage(&other.Spec, &run.Spec) {
		p.event(true, ReasonOtherBody, "the run of "+stamp(d.latest)+" began before this schedule was created, with another message: "+
			"Delegation "+other.Name+" stands, and one messageId names one body; spec.template counts from the next run on")
	}
}
