// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"errors"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simAskTimeout bounds a call that changes nothing.
const simAskTimeout = 30 * time.Second

// carry runs a call for a Delegation, unless one is queued or out. A job without a result is decided on anew.
func (r *simReplica) carry(id int, call Call, do func(done func(*Result))) {
	desk := r.desk(id)
	if desk.running != CallNone {
		return
	}
	desk.running = call
	r.s.after(r.s.laneDelay(), r.guard(func() {
		started := r.s.time()
		do(func(result *Result) {
			desk.running = CallNone
			if result != nil {
				result.Started = started
				r.put(id, result)
			}
			r.enqueue(id)
		})
	}))
}

// put keeps a result, with the time since when the same call ends the same way.
func (r *simReplica) put(id int, result *Result) {
	desk := r.desk(id)
	result.At = r.s.time()
	result.Since = result.At
	if last := desk.result; last != nil && last.Call == result.Call && last.Outcome == result.Outcome {
		result.Since = last.Since
	}
	desk.result = result
	if r.s.telling {
		r.s.tell(r.name, r.s.server.objects[id].name, "learns %s", tellResult(result))
	}
}

// deliver hands in what the follower saw. It yields to the agent's answer to a send.
func (r *simReplica) deliver(id int, result *Result) {
	if held := r.desk(id).result; held != nil && held.Call == CallSend && held.Outcome == Accepted {
		return
	}
	r.put(id, result)
	r.enqueue(id)
}

// recorded drops a result whose content is in the API server. A newer one stays.
func (r *simReplica) recorded(id int, result *Result) {
	if desk := r.desk(id); desk.result == result {
		desk.result = nil
	}
}

// simJob is one attempt on its way.
type simJob struct {
	r       *simReplica
	life    int
	id      int
	number  int32
	attempt Attempt
	journal string
	message simMessage
	// promised says that the agent is said to deduplicate.
	promised bool
	endpoint int
	state    simJobState
	// left says that bytes of it were on the wire.
	left bool
	done func(*Result)
}

type simJobState int

const (
	// jobQueued: nothing is in the journal.
	jobQueued simJobState = iota
	// jobFenced: the journal has it, and the process may send.
	jobFenced
	// jobWritten: bytes are on the wire.
	jobWritten
	// jobOver: the agent has acted on it, or it will never leave.
	jobOver
)

// open reports whether the message may still arrive.
func (j *simJob) open() bool {
	return j.state == jobWritten || (j.state == jobFenced && j.r.up && j.r.life == j.life && j.r.s.time().Before(j.attempt.Deadline))
}

// send hands a courier the journal write and the send that it permits.
func (r *simReplica) send(sc *simScope, a Send) {
	s := r.s
	j := &simJob{
		r: r, life: r.life, id: sc.id, number: a.Attempt.Number, promised: sc.agent.Deduplicates, endpoint: sc.endpoint,
		message: simMessage{
			id: a.Envelope.MessageID, context: a.Envelope.ContextID, task: a.Envelope.TaskID, body: sc.body.Digest, object: sc.id, attempt: a.Attempt.Number,
			credentials: s.views[r.view].credentials,
		},
	}
	d := sc.d.DeepCopy()
	r.carry(sc.id, CallSend, func(done func(*Result)) {
		if !a.Until.IsZero() && !s.time().Before(a.Until) {
			done(nil)
			return
		}
		j.done = done
		attempt := a.Attempt
		attempt.Started = s.time().UTC()
		attempt.Deadline = attempt.Started.Add(a.Timeout)
		j.attempt = attempt
		d.Spec.MessageID, d.Spec.ContextID = a.Envelope.MessageID, a.Envelope.ContextID
		if len(d.Finalizers) == 0 {
			d.Finalizers = []string{v1alpha1.DeliveryFinalizer}
		}
		if err := attempt.Annotate(d); err != nil {
			panic(err)
		}
		j.journal = d.Annotations[v1alpha1.AttemptAnnotation]
		s.facts[j.id].jobs = append(s.facts[j.id].jobs, j)
		s.hooks.tamper(j)
		w := &simWrite{verb: verbJournal, id: j.id, by: r, d: d, action: a, blind: s.hooks.blindJournal, applied: func() { j.state = jobFenced }}
		if s.hooks.sendFirst {
			j.state = jobFenced
			r.transmit(j)
			return
		}
		s.server.request(w, func(written *v1alpha1.Delegation, err error) { r.journalled(j, written, err) })
	})
}

// journalled goes on with a send once the API server has answered the journal write.
func (r *simReplica) journalled(j *simJob, written *v1alpha1.Delegation, err error) {
	if err == nil {
		r.ownWrite(j.id, written)
		_, err = Fence(written, "", j.attempt)
	}
	switch {
	case errors.Is(err, errSimConflict), errors.Is(err, errSimGone):
		if r.s.telling {
			r.s.tell(r.name, r.s.server.objects[j.id].name, "attempt %d is not journalled: %v", j.number, err)
		}
		r.s.after(simStaleRetry, r.guard(func() { j.end(nil) }))
	case err != nil:
		j.end(&Exchange{Outcome: NotSent, Reason: ReasonJournalWriteFailed, Detail: err.Error()})
	default:
		r.s.after(r.s.pause(), r.guard(func() { r.transmit(j) }))
	}
}

// end ends the job with what it proved; nil for nothing at all.
func (j *simJob) end(ex *Exchange) {
	if j.state != jobWritten {
		j.state = jobOver
	}
	if j.done == nil {
		return
	}
	done := j.done
	j.done = nil
	if ex == nil {
		done(nil)
		return
	}
	done(&Result{Call: CallSend, Attempt: j.number, Journal: j.attempt.Started, Exchange: *ex})
}

// transmit writes the message to the wire, unless the attempt's deadline is over: that is looked at last.
func (r *simReplica) transmit(j *simJob) {
	s := r.s
	left := j.attempt.Deadline.Sub(s.time())
	if left <= 0 {
		j.end(&Exchange{Outcome: NotSent, Reason: "AttemptExpired", Detail: "the deadline is over"})
		return
	}
	s.checkSend(j)
	j.state, j.left = jobWritten, true
	s.mayCrash(r)
	agent := s.agents[j.endpoint]
	s.after(min(s.wireDelay(), left-1), func() {
		ex, late := agent.receive(j.message)
		j.state = jobOver
		if s.telling {
			s.tell("agent", s.server.objects[j.id].name, "gets %s, attempt %d: %s", j.message.id, j.number, tellExchange(ex))
		}
		s.after(late+s.wireDelay(), r.guard(func() { r.answered(j, agent, ex) }))
	})
	s.after(left, r.guard(func() { j.end(&Exchange{Outcome: Ambiguous, Reason: "Timeout", Detail: "no answer"}) }))
}

// answered takes the agent's answer, with what a second question can tell.
func (r *simReplica) answered(j *simJob, agent *simAgent, ex Exchange) {
	r.s.mayCrash(r)
	if j.done == nil || !r.up {
		return
	}
	switch {
	case ex.Outcome == Refused && j.message.task != "":
		ex.Task = agent.get(j.message.task).Task
	case j.promised && ex.Outcome == Accepted && ex.Task != nil && j.number > 1 && j.message.task == "" && j.message.context != "":
		if found := agent.find(Query{MessageID: j.message.id, ContextID: j.message.context}); found.Task != nil {
			ex.Others = append(found.Others, found.Task.ID)
		}
	}
	j.end(&ex)
}

// ask hands a courier a call that may be repeated at will.
func (r *simReplica) ask(sc *simScope, a Ask) {
	s, agent, id, version := r.s, r.s.agents[sc.endpoint], sc.id, sc.agent.Credentials
	if a.Call == CallCancel {
		// What a look brought would take the place of what the agent says to the cancellation.
		r.desk(id).track = nil
	}
	r.carry(id, a.Call, func(done func(*Result)) {
		s.checkCall(r, id, a.Call)
		s.exchange(r, func() Exchange {
			switch a.Call {
			case CallFind:
				return agent.find(a.Query)
			case CallCancel:
				s.heardCancel(id, a.TaskID)
				return agent.cancel(a.TaskID)
			default:
				return agent.get(a.TaskID)
			}
		}, func(ex Exchange) { done(&Result{Call: a.Call, TaskID: a.TaskID, Credentials: version, Exchange: ex}) })
	})
}

// exchange brings a question to the agent and its answer back, or neither.
func (s *sim) exchange(r *simReplica, ask func() Exchange, done func(Exchange)) {
	there, back := s.wireDelay(), s.wireDelay()
	switch {
	case s.faulty(s.plan.callErrors):
		ex := pick(s.simDice,
			Exchange{Outcome: NotSent, Reason: "ConnectionRefused"}, Exchange{Outcome: NotSent, Reason: "TooManyRequests", RetryAfter: s.between(time.Second, time.Minute)},
			Exchange{Outcome: Ambiguous, Reason: "HTTP502"}, Exchange{Outcome: Unauthorized, Reason: "Unauthorized"})
		s.after(there, r.guard(func() { done(ex) }))
	case s.faulty(s.plan.callErrors):
		// The agent acts, and its answer is lost.
		s.after(there, func() { ask() })
		s.after(simAskTimeout, r.guard(func() { done(Exchange{Outcome: Ambiguous, Reason: "Timeout"}) }))
	default:
		s.after(there, func() {
			ex := ask()
			s.after(back, r.guard(func() {
				if s.mayCrash(r); r.up {
					done(ex)
				}
			}))
		})
	}
}
