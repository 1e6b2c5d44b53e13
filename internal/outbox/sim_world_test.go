// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import "time"

// sim is one schedule: a model of all that is around the decision, driven by one seed. Next and the types that it speaks
// in are the product's own; how the actions are carried out repeats what the controllers do.
type sim struct {
	simClock
	simDice
	seed     uint64
	plan     simPlan
	hooks    simHooks
	server   simServer
	agents   []*simAgent
	views    []simView
	replicas []*simReplica
	facts    []*simFacts
	// quiet is set while all is at rest: whatever is written or asked then is too much.
	quiet  bool
	broken *simViolation
	// telling says that a transcript is kept, in story.
	telling bool
	story   []string
}

// simFacts is what really happened to a Delegation, whatever its status says.
type simFacts struct {
	// accepted are the copies of its message that the agent took.
	accepted []*simCopy
	jobs     []*simJob
	// source is the version of the content; 0 while there is none.
	source int
	// rejects says that the agent never takes this message.
	rejects bool
	// resends says that its owner or a person accepts a second copy.
	resends bool
	// shared says that another Delegation has the same messageId.
	shared bool
	// canceled are the tasks that the agent was asked to cancel for it.
	canceled []string
	// calls counts what was asked of the agent for it.
	calls int
	// eager says that a person lets it go as soon as its question is asked.
	eager bool
	// paced is the minute that is counted, and asked what was in it.
	paced time.Duration
	asked int
}

// open reports whether a copy of the message may still arrive.
func (f *simFacts) open(but *simJob) bool {
	for _, j := range f.jobs {
		if j != but && j.open() {
			return true
		}
	}
	return false
}

// simHooks are where a test breaks the product on purpose. The zero value breaks nothing.
type simHooks struct {
	// next decides instead of Next.
	next func(Input) Action
	// blindJournal and blindClaim leave out the resourceVersion, sendFirst the journal write.
	blindJournal, blindClaim, sendFirst bool
	// wire changes a message that is about to leave.
	wire func(*simJob)
	// heard are the promises that are watched over; all where there are none.
	heard []string
}

func (h *simHooks) tamper(j *simJob) {
	if h.wire != nil {
		h.wire(j)
	}
}

func newSim(seed uint64, hooks simHooks, telling bool) *sim {
	return &sim{seed: seed, simDice: newSimDice(seed), hooks: hooks, telling: telling}
}

// decide makes the decision that is under test.
func (s *sim) decide(in Input) Action {
	if s.hooks.next != nil {
		return s.hooks.next(in)
	}
	return Next(in)
}

// simMaxEvents bounds a schedule: more is a loop that the pace of calls did not show. Replicas that are active at once and
// contradict each other in what the status says are left alone there: that is as long as they are.
const simMaxEvents = 100_000

// run plays the schedule to its end and returns what broke.
func (s *sim) run() *simViolation {
	s.stage()
	for s.broken == nil && s.step(s.plan.end) {
		if s.events < simMaxEvents {
			continue
		}
		if s.plan.replicas > 1 {
			return nil
		}
		s.violate(promiseEnds, "no rest after %d events", s.events)
	}
	if s.broken == nil {
		s.elapsed = s.plan.end
		s.checkEnd()
	}
	return s.broken
}

// tamperWithAgent plans what happens to the RemoteAgent: a time without it, another endpoint, other credentials.
func (s *sim) tamperWithAgent() {
	if s.chance(20) {
		view := s.views[0]
		view.problem = pick(s.simDice, &Problem{Reason: "AgentNotFound", Message: "create it"}, &Problem{Reason: "AgentNotReady", Message: "wait", Transient: true})
		at := s.between(time.Millisecond, s.plan.calm)
		s.after(at, func() { s.setView(view) })
		s.after(at+s.between(time.Second, 10*time.Minute), func() { s.setView(simView{endpoint: len(s.agents) - 1, credentials: s.agents[len(s.agents)-1].secret}) })
	}
	if s.chance(5) && !s.plan.agent.deduplicates {
		s.after(s.between(time.Second, s.plan.calm), s.moveAgent)
	}
	if s.chance(10) {
		at := s.between(time.Millisecond, s.plan.calm)
		s.after(at, func() {
			for _, a := range s.agents {
				a.secret++
			}
		})
		s.after(at+s.between(time.Second, 30*time.Minute), func() {
			view := s.views[len(s.views)-1]
			view.credentials = s.agents[0].secret
			s.setView(view)
		})
	}
}

// moveAgent points the RemoteAgent at another endpoint, where nobody knows the tasks.
func (s *sim) moveAgent() {
	old := s.agents[len(s.agents)-1]
	s.agents = append(s.agents, &simAgent{s: s, p: old.p, n: len(s.agents), secret: old.secret})
	view := s.views[len(s.views)-1]
	view.endpoint = len(s.agents) - 1
	s.setView(view)
}

// setView changes the RemoteAgent. Each replica learns of it in its own time.
func (s *sim) setView(v simView) {
	s.views = append(s.views, v)
	n := len(s.views) - 1
	if s.telling {
		s.tell("person", "", "changes the RemoteAgent: %s", tellView(v))
	}
	for _, r := range s.replicas {
		s.after(s.watchLag(), func() {
			if r.view = max(r.view, n); r.up {
				r.relist()
			}
		})
	}
}
