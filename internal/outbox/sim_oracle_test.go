// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The promises that are watched over. P1 to P7 are those of the design; the others are what they rest on.
const (
	promiseEnds      = "P1: every Delegation ends, or says what it waits for"
	promiseOneTask   = "P2: one task for one intent"
	promiseOneOpen   = "P3: at most one send of unknown outcome"
	promiseOneBody   = "P4: one body under one messageId"
	promiseForward   = "P5: forward only"
	promiseQuiet     = "P6: quiet at rest"
	promiseWayOut    = "P7: a way out of every stop"
	promiseOneAnswer = "one answer to one question"
	promiseFinalizer = "nothing is let go while it is open, but by name"
	promiseSwap      = "every write is a compare-and-swap"
	promiseFence     = "the journal comes before the first byte"
	promiseTruth     = "what the status says is so"
	promiseInTime    = "nothing is sent after its time"
	promiseCanceled  = "a deleted Delegation's task is canceled"
)

// simViolation is a promise that was broken.
type simViolation struct {
	promise, what string
}

// violate ends the schedule. The first break is the one that counts.
func (s *sim) violate(promise, format string, args ...any) {
	if s.broken != nil || (s.hooks.heard != nil && !slices.Contains(s.hooks.heard, promise)) {
		return
	}
	s.broken = &simViolation{promise: promise, what: fmt.Sprintf(format, args...)}
	if s.telling {
		s.tell("", "", "BROKEN %s: %s", promise, s.broken.what)
	}
}

// simPace counts what a replica does for one Delegation at one moment, and in one second.
type simPace struct {
	at, second      time.Duration
	actions, hectic int
}

// simActionsPerSecond bounds what a replica does for one Delegation in a second. Each event of the API server is a reason
// to decide again; so is each call.
const simActionsPerSecond = 100

// checkPace is P1's other half: what goes round in circles does not end.
func (s *sim) checkPace(r *simReplica, id int, a Action) {
	p := &r.desk(id).pace
	if p.at != s.elapsed {
		p.at, p.actions = s.elapsed, 0
	}
	if p.second != s.elapsed/time.Second {
		p.second, p.hectic = s.elapsed/time.Second, 0
	}
	p.actions++
	p.hectic++
	// Replicas that are active at once, and remember different answers, contradict each other in what the status says.
	alone := len(s.replicas) == 1
	if p.actions > simMaxSteps || (alone && p.hectic > simActionsPerSecond) {
		s.violate(promiseEnds, "%s takes %d actions on %s at one moment and %d in one second, the last is %s", r.name, p.actions, s.server.objects[id].name, p.hectic, tellAction(a))
	}
}

// simCallsPerMinute bounds the calls for one Delegation: a look every 2 seconds, a search every second, and sends, by
// each of three replicas.
const simCallsPerMinute = 300

// checkCall watches over the pace of calls, and over P6: none for a finished Delegation.
func (s *sim) checkCall(r *simReplica, id int, call Call) {
	f := s.facts[id]
	f.calls++
	if minute := s.elapsed / time.Minute; f.paced != minute {
		f.paced, f.asked = minute, 0
	}
	if f.asked++; f.asked > simCallsPerMinute {
		s.violate(promiseEnds, "%d calls in a minute for %s", f.asked, s.server.objects[id].name)
	}
	if s.telling {
		s.tell(r.name, s.server.objects[id].name, "calls %s", call)
	}
	if d := s.server.now(id); s.quiet && d != nil && d.Status.Phase.Finished() {
		s.violate(promiseQuiet, "%s calls %s for %s, which is %s", r.name, call, d.Name, d.Status.Phase)
	}
}

// checkSend is asked right before the first byte of an attempt leaves.
func (s *sim) checkSend(j *simJob) {
	d := s.server.objects[j.id].last()
	if s.telling {
		s.tell(j.r.name, d.Name, "sends %s, attempt %d", j.message.id, j.number)
	}
	s.checkCall(j.r, j.id, CallSend)
	if !s.server.holdsAttempt(j.id, j.journal) {
		s.violate(promiseFence, "attempt %d of %s leaves and is not in the journal", j.number, d.Name)
	}
	s.checkOneBody(j)
	s.checkOneOpen(j, d)
	s.checkInTime(j, d)
}

// checkOneBody is P4. A Delegation has one body for ever; another of the same messageId may have its own where nobody ever
// took the first, or the first is gone.
func (s *sim) checkOneBody(j *simJob) {
	for id, f := range s.facts {
		for _, other := range f.jobs {
			if other == j || other.message.id != j.message.id || other.message.body == j.message.body || !other.left {
				continue
			}
			if id == j.id || (s.server.now(id) != nil && (len(f.accepted) > 0 || f.open(nil))) {
				s.violate(promiseOneBody, "%s leaves as %s and left as %s", j.message.id, j.message.body, other.message.body)
			}
		}
	}
}

// checkOneOpen is P3: to an agent that does not deduplicate, a second copy goes only when the first was certainly not
// taken. The exceptions are the owner's, and an agent whose owner gave his word for it and was wrong.
func (s *sim) checkOneOpen(j *simJob, d *v1alpha1.Delegation) {
	f := s.facts[j.id]
	if s.plan.agent.deduplicates || s.plan.agent.liar || f.resends {
		return
	}
	if len(f.accepted) > 0 {
		s.violate(promiseOneOpen, "attempt %d of %s leaves, and the agent took attempt %d", j.number, d.Name, f.accepted[0].message.attempt)
	}
	if f.open(j) {
		s.violate(promiseOneOpen, "attempt %d of %s leaves while another is under way", j.number, d.Name)
	}
}

// checkInTime watches over notAfter and deliveryDeadline.
func (s *sim) checkInTime(j *simJob, d *v1alpha1.Delegation) {
	begun := j.attempt.Started
	if after := d.Spec.NotAfter; after != nil && j.number == 1 && !begun.Before(after.Time) {
		s.violate(promiseInTime, "the first attempt of %s begins %s after notAfter", d.Name, begun.Sub(after.Time))
	}
	end := d.CreationTimestamp.Add(d.Spec.DeliveryDeadline.Duration)
	if resolution := d.Spec.Resolution; resolution == nil && !begun.Before(end) {
		s.violate(promiseInTime, "attempt %d of %s begins %s after the deliveryDeadline", j.number, d.Name, begun.Sub(end))
	}
}

// checkAccepted is asked when an agent takes a message that it does not remember.
func (s *sim) checkAccepted(a *simAgent, c *simCopy) {
	id := c.message.object
	f := s.facts[id]
	s.checkOneTask(a, c)
	f.accepted = append(f.accepted, c)
	if c.task != nil {
		s.checkOneAnswer(c)
	}
}

// checkOneTask is P2: an agent that deduplicates makes one task of one message, and one intent is one message.
func (s *sim) checkOneTask(a *simAgent, c *simCopy) {
	f := s.facts[c.message.object]
	if !a.p.deduplicates || f.resends {
		return
	}
	for _, other := range a.copies {
		if other.message.object == c.message.object && other != c {
			s.violate(promiseOneTask, "the agent takes attempt %d of %s, and took attempt %d %s before",
				c.message.attempt, s.server.objects[c.message.object].name, other.message.attempt, s.elapsed-other.at)
		}
	}
}

// checkOneAnswer: two answers to one question are never both taken. Replicas that are active at once can't tell a late
// snapshot from a new question where the agent gives no times.
func (s *sim) checkOneAnswer(c *simCopy) {
	t := c.task
	if !s.plan.agent.stamps && s.plan.replicas > 1 {
		return
	}
	if s.plan.agent.takesWhileWorking || s.plan.agent.liar || t.asked == 0 {
		return
	}
	for _, answer := range t.answers {
		if answer.question == t.asked && answer.message != c.message.id {
			s.violate(promiseOneAnswer, "question %d of task %s is answered by %s and %s", t.asked, t.id, answer.message, c.message.id)
		}
	}
}

// heardCancel notes that the agent was asked to cancel a task.
func (s *sim) heardCancel(id int, task string) {
	if f := s.facts[id]; !slices.Contains(f.canceled, task) {
		f.canceled = append(f.canceled, task)
	}
}
