// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// unknown escalates: the message may have been accepted and nothing more can be found out now. With onUnknown: Resend the
// owner of the Delegation accepts a second task instead.
func (c *decision) unknown() Action {
	d := c.in.Delegation
	if d.Spec.OnUnknown == v1alpha1.UnknownResend && d.DeletionTimestamp == nil && c.attempt.Number <= maxResends && c.in.Now.Before(c.deliveryEnd()) {
		if due := c.attempt.Started.Add(backoff(2*firstBackoff, maxBackoff, c.attempt.Number, c.to.MessageID)); c.in.Now.Before(due) {
			return c.noteRecovering(c.untilEnd(Wait{Until: due}))
		}
		return c.resend()
	}
	s := c.draft()
	c.stamp(s)
	s.delivered(metav1.ConditionUnknown, ReasonOutcomeUnknown, "the message may have been accepted")
	s.set(v1alpha1.PhaseUnknown, ReasonOutcomeUnknown, fmt.Sprintf(
		"message %s may have been accepted, and it can't be found out; it is not sent again by itself. Look at the agent, and then decide: "+
			"%s; or with %s to send it once more; or with %s to leave it",
		c.to.MessageID, c.resolution(v1alpha1.ResolutionAdopt), c.resolution(v1alpha1.ResolutionResend), c.resolution(v1alpha1.ResolutionAbandon)))
	return c.settle(s, Wait{})
}

// resolution is the command by which a person decides. It also undoes what an earlier decision left in the spec, and says
// which attempt it is about where the same decision was made of another.
func (c *decision) resolution(action v1alpha1.ResolutionAction) string {
	rest, last := "", c.in.Delegation.Spec.Resolution
	switch {
	case action == v1alpha1.ResolutionAdopt:
		rest = `,"taskId":"TASK"`
	case last != nil && last.TaskID != "":
		rest = `,"taskId":null`
	}
	if last != nil && (last.Attempt != 0 || c.resolved(last)) {
		rest += fmt.Sprintf(`,"attempt":%d`, c.attempt.Number)
	}
	return c.kubectl("patch") + fmt.Sprintf(` --type=merge -p '{"spec":{"resolution":{"action":"%s"%s}}}'`, action, rest)
}

// unknownAgain takes a person's answer, and looks the message up from time to time: tasks have been seen to show up late.
func (c *decision) unknownAgain() Action {
	if res := c.in.Delegation.Spec.Resolution; res != nil && !c.resolved(res) {
		return c.resolve(res)
	}
	a := c.in.Agent
	if a.Problem != nil || (c.to.TaskID == "" && (a.Lookup == v1alpha1.LookupNone || a.Lookup == "")) {
		return Wait{}
	}
	last := c.attempt.Started
	if stalled := meta.FindStatusCondition(c.in.Delegation.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		last = stalled.LastTransitionTime.Time
	}
	if r := c.in.Result; r != nil && (r.Call == CallFind || r.Call == CallGet) && r.At.After(last) {
		last = r.At
	}
	if next := last.Add(unknownLookupInterval); c.in.Now.Before(next) {
		return Wait{Until: next}
	}
	if c.to.TaskID != "" {
		return Ask{Call: CallGet, TaskID: c.to.TaskID}
	}
	return c.find()
}

// resolved reports whether a resolution was carried out. A Resend is, once, whatever comes of it: another says which attempt
// it is about.
func (c *decision) resolved(res *v1alpha1.Resolution) bool {
	done := c.in.Delegation.Status.Resolution
	return done != nil && done.Action == res.Action && done.TaskID == res.TaskID && (res.Attempt == 0 || res.Attempt == done.Attempt)
}

// resendResolved reports whether a person decided to send the latest attempt's message once more.
func (c *decision) resendResolved() bool {
	done := c.in.Delegation.Status.Resolution
	return done != nil && done.Action == v1alpha1.ResolutionResend && done.Attempt == c.attempt.Number
}

func (c *decision) resolve(res *v1alpha1.Resolution) Action {
	if res.Attempt != 0 && res.Attempt != c.attempt.Number {
		return c.refuseResolution(fmt.Sprintf("spec.resolution is about attempt %d, and the latest is %d", res.Attempt, c.attempt.Number), res.Action)
	}
	s := c.draft()
	switch res.Action {
	case v1alpha1.ResolutionAbandon:
		c.noteResolution(s, res)
		s.set(v1alpha1.PhaseUnknown, ReasonAbandoned, "left Unknown by "+s.Resolution.Manager+"; to remove it: "+c.kubectl("delete"))
		s.finish(ReasonAbandoned, "left Unknown by "+s.Resolution.Manager)
		return c.settle(s, Wait{})
	case v1alpha1.ResolutionResend:
		c.noteResolution(s, res)
		s.set(v1alpha1.PhaseSending, "Resending", "sent once more as "+s.Resolution.Manager+" decided")
		return c.settle(s, Wait{})
	}
	return c.adopt(res)
}

// adopt binds the task that a person named, where its history holds the message or the agent shows none. At an agent that
// namespaces share it has to hold it, and what else there is of the task is not told.
func (c *decision) adopt(res *v1alpha1.Resolution) Action {
	if p := c.in.Agent.Problem; p != nil {
		return c.hold(v1alpha1.PhaseUnknown, p.Reason, p.Message, Wait{})
	}
	ask := Ask{Call: CallGet, TaskID: res.TaskID}
	r := c.result(CallGet)
	if r == nil || r.TaskID != res.TaskID {
		return ask
	}
	switch {
	case r.Outcome == Accepted && c.adoptable(r.Task):
		s := c.draft()
		c.noteResolution(s, res)
		s.RecoveredBy = v1alpha1.RecoveredByResolution
		return c.bindTask(s, r.Task)
	case c.shared() && answers(r):
		return c.refuseResolution(fmt.Sprintf("the agent shows no task %s that holds message %s", res.TaskID, c.to.MessageID), res.Action)
	case r.Outcome == Accepted:
		return c.refuseResolution(fmt.Sprintf("task %s does not hold message %s", res.TaskID, c.to.MessageID), res.Action)
	case r.Outcome == Absent || r.Outcome == Refused:
		return c.refuseResolution(fmt.Sprintf("the agent does not show task %s (%s)", res.TaskID, r.Reason), res.Action)
	}
	if next := r.At.Add(lookupPace(r.At.Sub(r.Since))); c.in.Now.Before(next) {
		return c.hold(v1alpha1.PhaseUnknown, ReasonAgentUnreachable, "task "+res.TaskID+" can't be looked at: "+r.Reason, Wait{Until: next})
	}
	return ask
}

// adoptable reports whether a task may be bound on a person's word.
func (c *decision) adoptable(t *Task) bool {
	return slices.Contains(t.History, c.to.MessageID) || (len(t.History) == 0 && !c.shared())
}

// refuseResolution leaves the Delegation Unknown; the resolution is not on record and may be corrected.
func (c *decision) refuseResolution(why string, action v1alpha1.ResolutionAction) Action {
	return c.hold(v1alpha1.PhaseUnknown, ReasonResolutionRefused, why+"; correct it with: "+c.resolution(action), Wait{})
}

func (c *decision) noteResolution(s *draft, res *v1alpha1.Resolution) {
	s.Resolution = &v1alpha1.ResolutionStatus{
		Action: res.Action, TaskID: res.TaskID, Time: *stampOf(c.in.Now), Manager: resolver(c.in.Delegation), Attempt: c.attempt.Number,
	}
}
