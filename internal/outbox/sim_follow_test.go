// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import "time"

const (
	simFirstPoll = 2 * time.Second
	simPollMax   = time.Minute
)

// simTrack is a task that a replica follows.
type simTrack struct {
	id       int
	task     string
	endpoint int
	interval time.Duration
	seen     simSeen
	// dormant tracks are not looked at, since nothing will change by itself: the end of a schedule would be nothing but
	// looks otherwise.
	dormant bool
}

// simSeen is what has to differ for a look to be news.
type simSeen struct {
	state, message string
	at             time.Time
}

func simSeenOf(t *Task) simSeen {
	return simSeen{state: string(t.State), message: t.Message, at: t.Timestamp}
}

// follow hands a task to the follower. What was seen of it is no news any more.
func (r *simReplica) follow(sc *simScope, a Follow) {
	desk := r.desk(sc.id)
	if sc.result != nil && sc.result.Outcome == Accepted {
		r.recorded(sc.id, sc.result)
	}
	if t := desk.track; t != nil && t.task == a.TaskID {
		if t.endpoint != sc.endpoint && t.dormant {
			t.dormant = false
			r.plan(t, 0)
		}
		t.endpoint = sc.endpoint
		return
	}
	desk.track = &simTrack{id: sc.id, task: a.TaskID, endpoint: sc.endpoint, interval: simFirstPoll}
	r.plan(desk.track, 0)
}

// plan puts the next look on the calendar.
func (r *simReplica) plan(t *simTrack, least time.Duration) {
	spread := t.interval*9/10 + time.Duration(r.s.Int64N(int64(t.interval)/5+1))
	r.s.after(max(spread, least), r.guard(func() { r.look(t) }))
}

func (r *simReplica) look(t *simTrack) {
	s := r.s
	if r.desk(t.id).track != t {
		return
	}
	s.checkCall(r, t.id, CallGet)
	agent, began := s.agents[t.endpoint], s.elapsed
	s.exchange(r, func() Exchange { return agent.get(t.task) }, func(ex Exchange) { r.looked(t, ex, began) })
}

// looked reports a look that brought news, and plans the next one.
func (r *simReplica) looked(t *simTrack, ex Exchange, began time.Duration) {
	if r.desk(t.id).track != t {
		return
	}
	news := ex.Outcome != Accepted || simSeenOf(ex.Task) != t.seen
	switch {
	case ex.Outcome == Accepted && news:
		t.seen, t.interval = simSeenOf(ex.Task), simFirstPoll
	case ex.Outcome == Accepted:
		t.interval = min(t.interval*3/2, simPollMax)
	default:
		t.seen = simSeen{}
		t.interval = min(t.interval*3/2, simPollMax)
	}
	if t.dormant = ex.Outcome == Accepted && !news && r.s.still(t, began); !t.dormant {
		r.plan(t, ex.RetryAfter)
	}
	if news {
		r.deliver(t.id, &Result{Call: CallGet, Exchange: ex})
	}
}

// still reports whether a look at a task saw the last of it: no other will bring news until somebody acts on the task,
// which stirs it.
func (s *sim) still(t *simTrack, began time.Duration) bool {
	agent := s.agents[t.endpoint]
	task := agent.task(t.task)
	return s.elapsed > s.plan.calm && task != nil && !task.gone && task.now().at+agent.p.lag < began
}

// stir wakes the followers of a task that changed.
func (s *sim) stir() {
	for _, r := range s.replicas {
		for _, desk := range r.desks {
			if desk.track != nil && desk.track.dormant {
				desk.track.dormant = false
				r.plan(desk.track, 0)
			}
		}
	}
}
