// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simListing is how an agent lists its tasks.
type simListing int

const (
	listComplete simListing = iota
	// listLagging shows a task some time after it was made.
	listLagging
	listFailing
	listUnsupported
)

// simAgentPlan is what the RemoteAgent's owner promised, and what the agent does.
type simAgentPlan struct {
	promisesDeduplication bool
	retention             time.Duration
	lookup                v1alpha1.LookupMode
	settle, timeout       time.Duration
	namesContexts         bool
	takesWhileWorking     bool

	deduplicates bool
	// liar breaks a promise: it makes a second task of a message, or does not show one.
	liar    bool
	listing simListing
	lag     time.Duration
	history bool
	stamps  bool
	// takesAnything accepts a message to a task that works, whatever its owner said.
	takesAnything bool
	// keeps says that it never loses a task.
	keeps   bool
	cancels simCancel
	replies int
	// faults is how many sends in a hundred go wrong.
	faults int
}

type simCancel int

const (
	cancelAtOnce simCancel = iota
	cancelSlowly
	cancelIgnored
	cancelRefused
)

// contract is the owner's promise as the decision sees it.
func (p *simAgentPlan) contract() Agent {
	a := Agent{
		Lookup: p.lookup, Settle: p.settle, AttemptTimeout: p.timeout, NamesContexts: p.namesContexts, TakesWhileWorking: p.takesWhileWorking,
	}
	if p.promisesDeduplication {
		a.Deduplicates, a.Retention = true, p.retention
	}
	return a
}

// simAgent is what answers at one endpoint.
type simAgent struct {
	s      *sim
	p      *simAgentPlan
	n      int
	tasks  []*simTask
	copies []*simCopy
	// secret is the oldest version of the credentials that it accepts.
	secret int
}

// simMessage is a message on the wire.
type simMessage struct {
	id, context, task, body string
	object                  int
	attempt                 int32
	credentials             int
}

// simCopy is a message that the agent accepted.
type simCopy struct {
	message simMessage
	at      time.Duration
	// busy is until when the agent works on its answer.
	busy time.Duration
	// task that it made or went to; nil for a direct reply.
	task *simTask
}

// receive takes a message and returns the answer, and how long the agent takes to give it.
func (a *simAgent) receive(m simMessage) (Exchange, time.Duration) {
	s := a.s
	fault := -1
	if s.faulty(a.p.faults) {
		fault = s.IntN(8)
	}
	if ex, ok := a.turnsAway(m, fault); ok {
		return ex, 0
	}
	if c := a.remembers(m); c != nil {
		if s.elapsed < c.busy {
			return Exchange{Outcome: InProgress, Reason: "Conflict", RetryAfter: s.between(time.Second, 20*time.Second)}, 0
		}
		return a.lose(fault, a.answer(c)), 0
	}
	c := &simCopy{message: m, at: s.elapsed}
	if m.task != "" {
		if ex, refused := a.refuses(m); refused {
			return ex, 0
		}
		c.task = a.task(m.task)
	}
	slow := time.Duration(0)
	if fault == 7 {
		slow = s.between(time.Second, 2*a.p.timeout)
		c.busy = s.elapsed + slow
	}
	a.copies = append(a.copies, c)
	s.checkAccepted(a, c)
	switch {
	case c.task != nil:
		c.task.take(m)
	case !s.chance(a.p.replies):
		c.task = a.begin(m)
	}
	return a.lose(fault, a.answer(c)), slow
}

// turnsAway is an answer that is given before the agent has looked at the message, or instead of one.
func (a *simAgent) turnsAway(m simMessage, fault int) (Exchange, bool) {
	switch {
	case m.credentials < a.secret:
		return Exchange{Outcome: Unauthorized, Reason: "Unauthorized", Detail: "401"}, true
	case a.s.facts[m.object].rejects:
		return Exchange{Outcome: Refused, Reason: "InvalidParams", Detail: "no such skill"}, true
	}
	switch fault {
	case 0:
		return Exchange{Outcome: NotSent, Reason: "ConnectionRefused", Detail: "dial"}, true
	case 1:
		return Exchange{Outcome: NotSent, Reason: "TooManyRequests", Detail: "429", RetryAfter: a.s.between(time.Second, 20*time.Minute)}, true
	case 2:
		return Exchange{Outcome: Ambiguous, Reason: "HTTP503", Detail: "503"}, true
	case 3:
		// One of ten is a gateway that refuses for a moment.
		if a.s.chance(10) {
			return Exchange{Outcome: Refused, Reason: "HTTP413", Detail: "413"}, true
		}
	}
	return Exchange{}, false
}

// lose loses an answer on its way, or turns it into an error.
func (a *simAgent) lose(fault int, ex Exchange) Exchange {
	switch fault {
	case 4, 5:
		return Exchange{Outcome: Ambiguous, Reason: "ConnectionReset", Detail: "EOF"}
	case 6:
		return Exchange{Outcome: Ambiguous, Reason: "HTTP500", Detail: "500"}
	}
	return ex
}

// remembers is the copy of a message that a deduplicating agent still knows.
func (a *simAgent) remembers(m simMessage) *simCopy {
	if !a.p.deduplicates {
		return nil
	}
	for _, c := range a.copies {
		if c.message.id == m.id && a.s.elapsed < c.at+a.p.retention {
			return c
		}
	}
	return nil
}

// refuses is the answer to a message that can't go to its task now.
func (a *simAgent) refuses(m simMessage) (Exchange, bool) {
	t := a.task(m.task)
	switch {
	case t == nil || t.gone:
		return Exchange{Outcome: Refused, Reason: "TaskNotFound", Detail: "no such task"}, true
	case t.now().state.Terminal():
		return Exchange{Outcome: Refused, Reason: "UnsupportedOperation", Detail: "the task has ended"}, true
	case t.now().state.Interrupted() || a.p.takesAnything:
		return Exchange{}, false
	}
	return Exchange{Outcome: Refused, Reason: "InternalError", Detail: "the task is busy"}, true
}

func (a *simAgent) answer(c *simCopy) Exchange {
	if c.task == nil {
		text := "done"
		return Exchange{Outcome: Accepted, Reply: &text}
	}
	return Exchange{Outcome: Accepted, Task: c.task.shown(a.s.elapsed)}
}

func (a *simAgent) task(id string) *simTask {
	for _, t := range a.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// find looks a message up in the list of tasks.
func (a *simAgent) find(q Query) Exchange {
	switch a.p.listing {
	case listUnsupported:
		return Exchange{Outcome: Refused, Reason: "LookupUnsupported"}
	case listFailing:
		return Exchange{Outcome: Ambiguous, Reason: "HTTP500"}
	}
	for _, t := range a.tasks {
		switch {
		case t.gone || a.s.elapsed < t.listed || !a.p.history:
		case q.ContextID != "" && t.context != q.ContextID:
		case !q.After.IsZero() && start.Add(t.now().at).Before(q.After):
		case slices.Contains(t.history, q.MessageID):
			return Exchange{Outcome: Accepted, Task: t.shown(a.s.elapsed)}
		}
	}
	return Exchange{Outcome: Absent, Reason: "MessageNotFound"}
}

// get shows a task, perhaps as it was a moment ago: snapshots come late and out of order.
func (a *simAgent) get(id string) Exchange {
	t := a.task(id)
	if t == nil || t.gone {
		return Exchange{Outcome: Absent, Reason: "TaskNotFound"}
	}
	as := a.s.elapsed
	if a.p.lag > 0 && a.p.stamps && a.s.chance(30) {
		as -= a.s.between(time.Millisecond, a.p.lag)
	}
	return Exchange{Outcome: Accepted, Task: t.shown(as)}
}

func (a *simAgent) cancel(id string) Exchange {
	t := a.task(id)
	switch {
	case t == nil || t.gone:
		return Exchange{Outcome: Absent, Reason: "TaskNotFound"}
	case t.now().state.Terminal() || a.p.cancels == cancelRefused:
		return Exchange{Outcome: Refused, Reason: "TaskNotCancelable"}
	case a.p.cancels == cancelAtOnce:
		t.set(v1alpha1.TaskStateCanceled)
	case a.p.cancels == cancelSlowly:
		a.s.after(a.s.between(time.Second, 30*time.Second), func() { t.set(v1alpha1.TaskStateCanceled) })
	}
	return Exchange{Outcome: Accepted, Task: t.shown(a.s.elapsed)}
}

// begin makes a task of a message.
func (a *simAgent) begin(m simMessage) *simTask {
	s := a.s
	t := &simTask{a: a, id: fmt.Sprintf("t%d-%d", a.n, len(a.tasks)+1), context: first(m.context, fmt.Sprintf("s%d-%d", a.n, len(a.tasks)+1)), listed: s.elapsed}
	if a.p.listing == listLagging && a.p.lag > 0 {
		t.listed += s.between(time.Millisecond, a.p.lag)
	}
	t.history = []string{m.id}
	t.script = s.drawScript()
	a.tasks = append(a.tasks, t)
	t.set(v1alpha1.TaskStateSubmitted)
	t.proceed()
	return t
}
