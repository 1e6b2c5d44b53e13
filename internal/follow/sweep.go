// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// leastSwept is how many tasks of an agent have to be followed for one listing to cost less than a look at each.
const leastSwept = 4

// Lister lists the tasks that changed since a time of the agent's own clock: their ids, states and timestamps. See
// remote.Client.Changes for what its answers prove.
type Lister interface {
	Changes(ctx context.Context, since time.Time) ([]outbox.Task, outbox.Exchange)
}

// sweep follows the tasks of one agent by its listing. It is there while a task of the agent is followed.
//
// A listing only produces hints. So one that is wrong costs a look too many, or the time until the slow look at a task
// whose change it does not show.
type sweep struct {
	*survey
	// subject is what was heard last of the agent.
	subject Subject
	// tasks is how many of the agent's tasks are followed.
	tasks int
	// planned says that a sweep is queued or out.
	planned bool
	// slot is the earliest time of the first look at a task that is not followed yet.
	slot time.Time
}

// join makes sure that an agent is swept that a task is followed at. The caller holds the lock.
func (f *Follower) join(s Subject) {
	w := f.sweeps[s.AgentID]
	if w == nil || s.Lister == nil {
		return
	}
	if last := w.subject.Lister; last != nil && last != s.Lister {
		// What is known of the agent may be true of another endpoint, or of other credentials.
		f.renew(w)
		w.planned = false
	}
	w.subject, w.interval = s, s.MinInterval
	w.learn(s.Timestamp, f.clock.Now())
	if w.tasks >= leastSwept && !w.planned {
		w.planned = true
		f.sweepQueue.AddAfter(s.AgentID, spread(w.interval))
	}
}

// renew begins anew with an agent's listings. The caller holds the lock.
func (f *Follower) renew(w *sweep) {
	worked := w.working()
	w.survey = newSurvey(w.interval)
	if worked {
		f.hasten(w.subject.AgentID)
	}
}

// count keeps the number of an agent's tasks. The caller holds the lock.
func (f *Follower) count(agent types.UID, by int) {
	w := f.sweeps[agent]
	if w == nil {
		w = &sweep{survey: newSurvey(0)}
		f.sweeps[agent] = w
	}
	if w.tasks += by; w.tasks == 0 {
		delete(f.sweeps, agent)
	}
}

// admit is how long a task waits that is to be looked at in d. Where many come at once, as after a restart, half of what the
// agent allows stays free for tasks that changed. The caller holds the lock.
func (f *Follower) admit(s Subject, d time.Duration) time.Duration {
	w := f.sweeps[s.AgentID]
	if w == nil || s.Lister == nil {
		return d
	}
	now := f.clock.Now()
	if w.slot.Before(now) {
		w.slot = now
	}
	w.slot = w.slot.Add(2 * time.Second / time.Duration(max(s.Limits.PerSecond, 1)))
	return max(d, w.slot.Sub(now))
}

// startSweeps begins sweeps when their time has come, until the queue is shut down.
func (f *Follower) startSweeps() {
	for {
		agent, shutdown := f.sweepQueue.Get()
		if shutdown {
			return
		}
		f.sweep(agent)
		f.sweepQueue.Done(agent)
	}
}

// sweep queues one listing.
func (f *Follower) sweep(agent types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.sweeps[agent]
	if w == nil {
		return
	}
	now := f.clock.Now()
	wanted, ready := w.next(now)
	switch {
	case w.tasks < leastSwept:
		// Too few are left to be worth a listing. A rest that the agent was given goes on.
		w.planned = false
		if w.working() {
			f.renew(w)
		}
	case now.Before(w.until):
		f.sweepQueue.AddAfter(agent, w.until.Sub(now))
	case !ready:
		f.sweepQueue.AddAfter(agent, w.interval)
	default:
		s, of := w.subject, w.survey
		f.pool.Run(agent, s.Limits, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			asked := f.clock.Now()
			tasks, ex := s.Lister.Changes(ctx, wanted.since)
			f.swept(w, of, wanted, asked, tasks, ex)
		})
	}
}

// swept looks at the tasks that a listing shows to have changed, and plans the next one.
func (f *Follower) swept(w *sweep, of *survey, wanted span, asked time.Time, tasks []outbox.Task, ex outbox.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	agent := w.subject.AgentID
	if f.sweeps[agent] != w || w.survey != of {
		return
	}
	now, worked := f.clock.Now(), w.working()
	changed, verdict := w.take(wanted, asked, now, tasks, ex, func(id string) bool { return f.byTask[taskOf{agent, id}] != nil })
	hints := 0
	for _, e := range changed {
		if f.differs(taskOf{agent, e.id}, e) {
			hints++
			w.doubted = w.doubted || wanted.belies(e.at)
			f.hint(agent, e.id)
		}
	}
	name := w.subject.AgentName
	metrics.Sweep(name.Namespace, name.Name, string(verdict))
	metrics.Hints(name.Namespace, name.Name, metrics.SourceSweep, hints)
	if worked && !w.working() {
		f.hasten(agent)
	}
	f.sweepQueue.AddAfter(agent, max(w.gap(w.subject.MaxInterval)-now.Sub(asked), ex.RetryAfter, 0))
}

// differs reports whether one of those that follow a task knows something else of it than a listing shows. The first look
// at a task is planned already, and waits its turn where many came at once: that the task is listed is no news of it, unless
// as something else than before or than the status has. The caller holds the lock.
func (f *Follower) differs(task taskOf, e entry) bool {
	for uid := range f.byTask[task] {
		switch t := f.tracked[uid]; {
		case t.seen.mark != mark{}:
			if t.seen.mark != e.mark {
				return true
			}
		case e.again, t.behind(e.mark):
			return true
		}
	}
	return false
}

// behind reports whether a task was listed in another state than the one that is known of it, or anew in the same one. The API
// server keeps the microseconds of a time, and a listing may show less of it.
func (t *track) behind(is mark) bool {
	switch {
	case t.State == "":
		return false
	case string(t.State) != is.state:
		return true
	}
	return !t.Timestamp.IsZero() && is.at.Truncate(time.Microsecond).After(t.Timestamp)
}

// hasten brings forward the looks at an agent's tasks, which were rare while listings showed what changed. The caller holds
// the lock.
func (f *Follower) hasten(agent types.UID) {
	if w := f.sweeps[agent]; w != nil {
		// All have their turn anew. Turns that were given before would put off those of tasks that are still to come.
		w.slot = time.Time{}
	}
	for uid, t := range f.tracked {
		if t.AgentID == agent && !t.busy {
			t.interval = t.MinInterval
			f.queue.AddAfter(uid, f.admit(t.Subject, spread(t.interval)))
		}
	}
}

// untold is how long to leave a task alone after a look that has no stream. Where its state is known and listings show what changes, that is on
// average as long as gives one such look in half an interval for all of the agent's tasks together. It is spread wide, or
// tasks that were first looked at together, as after a restart, would be so for hours. The caller holds the lock.
func (f *Follower) untold(t *track, known bool) time.Duration {
	w := f.sweeps[t.AgentID]
	if !known || t.Lister == nil || !w.working() {
		return spread(t.interval)
	}
	least, slow := t.MaxInterval/10, max(t.MaxInterval, time.Duration(w.tasks)*t.MinInterval/2)
	return least + time.Duration(rand.Int64N(int64(2*(slow-least))))
}

// compare holds a look against the agent's listings. The caller holds the lock.
func (f *Follower) compare(t *track, task *outbox.Task) {
	w, now, is := f.sweeps[t.AgentID], f.clock.Now(), markOf(task)
	w.learn(is.at, now)
	w.looked(t.TaskID, t.seen.mark, t.before, is, now, t.prompted)
}
