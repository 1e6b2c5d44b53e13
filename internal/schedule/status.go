// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// The reasons of conditions and events.
const (
	ReasonScheduled       = "Scheduled"
	ReasonSuspended       = "Suspended"
	ReasonWaitingForRun   = "WaitingForRun"
	ReasonRunUnknown      = "RunUnknown"
	ReasonUnknownTimeZone = "UnknownTimeZone"
	ReasonInvalidSchedule = "InvalidSchedule"
	ReasonNeverDue        = "NeverDue"
	ReasonClockSkew       = "ClockSkew"
	ReasonRunRefused      = "RunRefused"
	ReasonRunNotCreated   = "RunNotCreated"
	ReasonRunCreated      = "RunCreated"
	ReasonRunMissed       = "RunMissed"
	ReasonOtherBody       = "OtherBody"
)

// maxSkew is how far what is settled may be ahead of the clock before that is called wrong: clocks of two managers differ.
const maxSkew = 10 * time.Minute

// times reads the schedule, or says why that can't be done.
func (p *planner) times() (times, *outbox.Problem) {
	name := ptr.Deref(p.s.Spec.TimeZone, "") // the empty name is UTC
	zone, err := time.LoadLocation(name)
	if err != nil {
		return times{}, &outbox.Problem{Reason: ReasonUnknownTimeZone, Message: fmt.Sprintf(
			"no time zone has the name %q; to correct it: %s", name, p.kubectl("patch", ` --type=merge -p '{"spec":{"timeZone":"Europe/Berlin"}}'`))}
	}
	t, err := parse(p.s.Spec.Schedule, zone)
	if err != nil {
		return times{}, &outbox.Problem{Reason: ReasonInvalidSchedule, Message: fmt.Sprintf(
			"the schedule %q can't be read: %v; to correct it: %s", p.s.Spec.Schedule, err, p.kubectl("patch", ` --type=merge -p '{"spec":{"schedule":"30 6 * * 1-5"}}'`))}
	}
	return t, nil
}

// ahead stops where what is settled reaches into the far future: a clock was wrong, now or then. Beginning anew could repeat a
// run, and going on would pass over each time up to that without a word.
func (p *planner) ahead(t times, settled time.Time) {
	next := t.next(settled)
	p.plan.Status.NextScheduleTime = nil
	p.plan.Until = settled.Add(-maxSkew)
	if !next.IsZero() {
		p.plan.Status.NextScheduleTime = &metav1.Time{Time: next}
	}
	what := "the schedule was created at "
	if last := p.plan.Status.LastScheduleTime; last != nil && last.Time.Equal(settled) {
		what = "the last run is that of "
	} else if missed := p.plan.Status.LastMissedTime; missed != nil && missed.Time.Equal(settled) {
		what = "the last run that was missed is that of "
	}
	p.stalled(ReasonClockSkew, what+stamp(settled)+", which is ahead of the manager's clock; if the clock was wrong then and not now, "+
		"delete the schedule and apply it again: "+p.kubectl("delete", " --cascade=orphan"))
}

// miss notes that a firing, and those before it, will not happen.
func (p *planner) miss(at time.Time, count int, why string) {
	p.plan.Status.LastMissedTime = later(p.plan.Status.LastMissedTime, at)
	n := fmt.Sprintf("%d runs were", count)
	switch {
	case count == 1:
		n = "1 run was"
	case count >= maxCounted:
		n = fmt.Sprintf("at least %d runs were", maxCounted)
	}
	p.event(true, ReasonRunMissed, n+" missed, the latest that of "+stamp(at)+": "+why)
}

func (p *planner) event(warning bool, reason, message string) {
	p.plan.Events = append(p.plan.Events, outbox.Event{Warning: warning, Reason: reason, Message: message})
}

func (p *planner) ready(reason, message string) {
	p.conclude(metav1.ConditionTrue, "", reason, message)
}

func (p *planner) stalled(reason, message string) {
	p.conclude(metav1.ConditionFalse, v1alpha1.ConditionStalled, reason, message)
}

func (p *planner) reconciling(reason, message string) {
	p.conclude(metav1.ConditionFalse, v1alpha1.ConditionReconciling, reason, message)
}

// conclude writes the conditions by the rules of kstatus: Ready, and what keeps it from being True.
func (p *planner) conclude(ready metav1.ConditionStatus, obstacle, reason, message string) {
	conditions := &p.plan.Status.Conditions
	c := metav1.Condition{
		Reason: reason, Message: message, ObservedGeneration: p.s.Generation, LastTransitionTime: metav1.NewTime(p.in.Now.Truncate(time.Second)),
	}
	c.Type, c.Status = v1alpha1.ConditionReady, ready
	meta.SetStatusCondition(conditions, c)
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if kind != obstacle {
			meta.RemoveStatusCondition(conditions, kind)
			continue
		}
		c.Type, c.Status = kind, metav1.ConditionTrue
		meta.SetStatusCondition(conditions, c)
	}
}

// kubectl is a command about the schedule.
func (p *planner) kubectl(verb, options string) string {
	return fmt.Sprintf("kubectl %s delegationschedule -n %s %s%s", verb, p.s.Namespace, p.s.Name, options)
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// sameMessage reports whether two Delegations have the same to say to the same agent.
func sameMessage(a, b *v1alpha1.DelegationSpec) bool {
	return a.AgentRef == b.AgentRef && equality.Semantic.DeepEqual(a.Message, b.Message)
}
