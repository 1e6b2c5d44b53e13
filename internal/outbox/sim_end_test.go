// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// checkEnd is asked when nothing goes wrong any more for hours: what is not done has to wait for something that is so,
// and what is at rest has to stay there.
func (s *sim) checkEnd() {
	for id := range s.server.objects {
		d := s.server.now(id)
		if d == nil {
			continue
		}
		if why := s.unexplained(id, d); why != "" {
			s.violate(promiseEnds, "%s: %s; it is %s", d.Name, why, tellStatus(d))
		}
	}
	if s.broken == nil {
		s.checkQuiet()
	}
}

// checkQuiet is P6: everything is looked at and decided on again, and nothing comes of it.
func (s *sim) checkQuiet() {
	rest, live := s.resting(), s.live()
	s.quiet = true
	for _, r := range s.replicas {
		for id, desk := range r.desks {
			r.enqueue(id)
			if desk.track != nil {
				// A failed look forgets what was seen: then the same is news again.
				desk.track.seen = simSeen{}
			}
		}
	}
	s.stir()
	for s.broken == nil {
		if !s.step(s.plan.end + simQuietTime) {
			break
		}
	}
	for _, q := range rest {
		now := s.server.now(q.id)
		if now != nil && now.Generation != q.d.Generation || (live != s.live() && !q.d.Status.Phase.Finished()) {
			// A person edited it, or the time to live of another was over that it waited for.
			continue
		}
		if now != q.d {
			s.violate(promiseQuiet, "%s was at rest as %s and is written: %s", q.d.Name, tellStatus(q.d), tellStatus(s.server.objects[q.id].last()))
		}
	}
}

// live counts the objects that are there.
func (s *sim) live() int {
	n := 0
	for id := range s.server.objects {
		if s.server.now(id) != nil {
			n++
		}
	}
	return n
}

// simQuietTime is longer than anything is paced that looks at a Delegation again.
const simQuietTime = 12 * time.Minute

type simResting struct {
	id int
	d  *v1alpha1.Delegation
}

// resting lists what will not change by itself any more: no deadline is near, of it or of who shares its task, and nothing
// is on its way.
func (s *sim) resting() []simResting {
	var out []simResting
	timed := false
	for id := range s.server.objects {
		d := s.server.now(id)
		timed = timed || (d != nil && !d.Status.Phase.Finished() && (d.Spec.ActiveDeadlineSeconds != nil || d.Status.Phase == v1alpha1.PhaseSending))
	}
	for id := range s.server.objects {
		d := s.server.now(id)
		// What has a next attempt is not at rest.
		if d == nil || d.Spec.TTLSecondsAfterFinished != nil || d.DeletionTimestamp != nil || d.Status.NextAttemptTime != nil {
			continue
		}
		over, t := d.Status.Phase.Finished(), s.taskOf(d)
		// Nobody tells a Delegation that another has taken its messageId; it learns that when it is its turn.
		waits := d.Status.TaskID == "" && s.left(d) > 2*simQuietTime && !s.facts[id].shared
		if over || (!timed && (waits || (t != nil && !t.moving && tellReason(d) != ReasonAgentUnreachable))) {
			out = append(out, simResting{id: id, d: d})
		}
	}
	return out
}

// left is how long the delivery of a message is tried still.
func (s *sim) left(d *v1alpha1.Delegation) time.Duration {
	return d.CreationTimestamp.Add(d.Spec.DeliveryDeadline.Duration).Sub(s.time())
}

// unexplained says what is wrong with the state that a Delegation is in at the end; "" if nothing is.
func (s *sim) unexplained(id int, d *v1alpha1.Delegation) string {
	view := s.views[len(s.views)-1]
	reason := tellReason(d)
	switch {
	case d.DeletionTimestamp != nil:
		return "its deletion does not end"
	case d.Status.Phase.Finished():
		return s.unexplainedEnd(id, d)
	case view.problem != nil && (reason == view.problem.Reason || view.problem.Transient):
		return ""
	}
	if d.Status.Phase == v1alpha1.PhaseUnknown {
		return s.unexplainedUnknown(id, d, view)
	}
	again := d.Status.Resolution != nil && d.Status.Resolution.Action == v1alpha1.ResolutionResend
	if d.Status.TaskID == "" && s.left(d) < -time.Minute && !again {
		return "its time is over"
	}
	switch d.Status.Phase {
	case v1alpha1.PhasePending:
		return s.unexplainedPending(id, d)
	case v1alpha1.PhaseSending:
		return s.unexplainedSending(id, d)
	case "":
		return "nobody has decided on it"
	}
	return s.unexplainedTask(d)
}

// unexplainedEnd looks at what only time may end.
func (s *sim) unexplainedEnd(_ int, d *v1alpha1.Delegation) string {
	t := s.taskOf(d)
	switch {
	case tellReason(d) == ReasonTaskNotFound && t != nil && !t.gone && s.agents[len(s.agents)-1].task(t.id) != nil:
		return "the agent has the task"
	case slices.ContainsFunc(d.Status.Duplicates, func(t v1alpha1.DuplicateTask) bool { return !t.Canceled }):
		return "a task too many is not canceled"
	}
	return ""
}

// unexplainedUnknown: what can be found is found.
func (s *sim) unexplainedUnknown(id int, d *v1alpha1.Delegation, view simView) string {
	p := &s.plan.agent
	asked, done := d.Spec.Resolution, d.Status.Resolution
	switch {
	case tellReason(d) == ReasonAbandoned:
		return ""
	case asked != nil && done == nil && tellReason(d) != ReasonResolutionRefused:
		return "a person's decision is not carried out"
	case done != nil && done.Action == v1alpha1.ResolutionResend && !s.attemptedAfter(id, done.Attempt) && s.facts[id].source == 1:
		return "it was to be sent once more, and was not"
	}
	searched := p.history && (d.Spec.Continues != nil || p.listing == listComplete || p.listing == listLagging) && p.lookup != v1alpha1.LookupNone
	for _, c := range s.facts[id].accepted {
		if searched && c.task != nil && !c.task.gone && c.task.a.n == view.endpoint && asked == nil {
			return "the agent shows task " + c.task.id
		}
	}
	return ""
}

// attemptedAfter reports whether an attempt after the n-th was made.
func (s *sim) attemptedAfter(id int, n int32) bool {
	return slices.ContainsFunc(s.facts[id].jobs, func(j *simJob) bool { return j.number > n && j.state != jobQueued })
}

func (s *sim) unexplainedSending(id int, d *v1alpha1.Delegation) string {
	p := &s.plan.agent
	a, _ := Journalled(d)
	switch reason := tellReason(d); {
	case reason == ReasonMessageSourceChanged && a == nil:
		// Without its journal an answer does not know its task once its target is gone.
		return ""
	case reason == ReasonMessageSourceChanged && s.body(id, Address(d, Related{}, p.namesContexts)).Digest != a.Body:
		return ""
	case reason == "MessageSourceNotFound" && s.facts[id].source == 0:
		return ""
	case reason == ReasonAgentUnreachable && p.listing == listFailing && d.Spec.Continues == nil:
		return ""
	case reason == "TargetNotAsking" || reason == "AnsweredByAnother":
		return s.unexplainedAnswer(d, reason)
	case reason == ReasonRecovering && (p.liar || d.Spec.OnUnknown == v1alpha1.UnknownResend) && d.Spec.Continues != nil:
		// The agent took the message, and says of each further copy that it does not take it now.
		return ""
	}
	return "it is not on its way"
}

// unexplainedTask: the status is what the agent says.
func (s *sim) unexplainedTask(d *v1alpha1.Delegation) string {
	t := s.taskOf(d)
	switch reason := tellReason(d); {
	case t == nil || t.gone:
		return "its task is gone"
	case d.Status.State != t.now().state:
		return "its task is " + string(t.now().state)
	case reason == ReasonAgentUnreachable && s.plan.apiErrors > 0:
		// The API server may make a write that its client has given up long after a good look at the task.
		return ""
	case !slices.Contains([]string{string(d.Status.Phase), ReasonCanceling, ReasonCancelAccepted, ReasonCancelRefused}, reason):
		return "its reason is no more"
	case d.Spec.ActiveDeadlineSeconds != nil && s.time().Sub(d.Status.StartTime.Time) > time.Duration(*d.Spec.ActiveDeadlineSeconds)*time.Second+2*deadlineGrace:
		return "its time is over"
	case d.Spec.Cancel && reason != ReasonCancelAccepted && reason != ReasonCancelRefused:
		return "it is to be canceled"
	}
	return ""
}

// taskOf is the task that a Delegation is bound to.
func (s *sim) taskOf(d *v1alpha1.Delegation) *simTask {
	for _, a := range s.agents {
		if t := a.task(d.Status.TaskID); t != nil {
			return t
		}
	}
	return nil
}
