// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

const (
	// simMaxSteps and simStaleRetry are those of the controller.
	simMaxSteps   = 8
	simStaleRetry = 200 * time.Millisecond
)

// simReplica is one process of the operator: a cache that lags behind, a queue, couriers and a follower. All of it is
// lost in a crash.
type simReplica struct {
	s *sim
	n int
	// life counts the starts; name is new in each.
	life int
	up   bool
	name string
	// seen is the revision that the cache shows, watchAt the time up to which the watch has delivered.
	seen    int
	watchAt time.Duration
	// view is what the cache shows of the RemoteAgent.
	view  int
	desks []*simDesk
}

// simDesk is what a replica holds of one Delegation.
type simDesk struct {
	// own is the revision of its last write: the client reads nothing older.
	own                 int
	queued, busy, dirty bool
	timer               time.Duration
	failures            int
	running             Call
	result              *Result
	track               *simTrack
	pace                simPace
	// envelope is that of the version addressed.
	envelope  Envelope
	addressed *v1alpha1.Delegation
}

func (r *simReplica) desk(id int) *simDesk {
	for len(r.desks) <= id {
		r.desks = append(r.desks, &simDesk{})
	}
	return r.desks[id]
}

// guard keeps what a process has begun from going on in the next one.
func (r *simReplica) guard(run func()) func() {
	life := r.life
	return func() {
		if r.up && r.life == life {
			run()
		}
	}
}

func (r *simReplica) boot() {
	s := r.s
	r.up = true
	r.life++
	r.name = fmt.Sprintf("r%d.%d", r.n, r.life)
	r.desks = nil
	// The first list may come from an API server that is behind.
	r.seen, r.view = s.server.rev-s.IntN(min(s.server.rev, 6)+1), len(s.views)-1
	if s.plan.fresh {
		r.seen = s.server.rev
	}
	r.watchAt = s.elapsed
	if s.telling {
		s.tell(r.name, "", "starts, with a cache of revision %d", r.seen)
	}
	r.relist()
	rev := s.server.rev
	r.watchAt += s.watchLag()
	s.at(r.watchAt, r.guard(func() {
		r.seen = max(r.seen, rev)
		r.relist()
	}))
}

func (r *simReplica) relist() {
	for id := range r.s.server.objects {
		r.enqueue(id)
	}
}

func (r *simReplica) crash() {
	s := r.s
	r.up = false
	if s.telling {
		s.tell(r.name, "", "crashes")
	}
	s.at(min(s.elapsed+s.between(50*time.Millisecond, 2*time.Minute), max(s.plan.calm, s.elapsed)), func() {
		if !r.up {
			r.boot()
		}
	})
}

// publish sends a version to the replica's watch. Versions arrive in order, and perhaps late.
func (r *simReplica) publish(id, rev int) {
	if !r.up {
		return
	}
	s := r.s
	r.watchAt = max(r.watchAt, s.elapsed+s.watchLag())
	s.at(r.watchAt, r.guard(func() {
		r.seen = max(r.seen, rev)
		r.enqueue(id)
		for _, other := range r.conversation(id) {
			r.enqueue(other)
		}
	}))
}

func (r *simReplica) read(id int) *v1alpha1.Delegation { return r.s.server.objects[id].asOf(r.seen) }

func (r *simReplica) enqueue(id int) {
	desk := r.desk(id)
	if desk.queued {
		return
	}
	desk.queued = true
	r.s.after(r.s.queueDelay(), r.guard(func() { r.reconcile(id) }))
}

// wakeAt queues a Delegation at a time. As in a work queue, of several times the earliest counts.
func (r *simReplica) wakeAt(id int, at time.Duration) {
	desk := r.desk(id)
	at = max(at, r.s.elapsed+time.Millisecond)
	if desk.timer != 0 && desk.timer <= at {
		return
	}
	desk.timer = at
	r.s.at(at, r.guard(func() {
		if desk.timer == at {
			desk.timer = 0
			r.enqueue(id)
		}
	}))
}

func (r *simReplica) reconcile(id int) {
	desk := r.desk(id)
	desk.queued = false
	switch {
	case desk.busy:
		desk.dirty = true
		return
	case r.seen < desk.own:
		// The client waits until the cache shows the write; its event comes.
		return
	}
	d := r.read(id)
	if d == nil {
		// What is held of an object that is gone is dropped, but for a call that is out.
		desk.track = nil
		if desk.running == CallNone {
			desk.result = nil
		}
		return
	}
	sc := r.open(id, d)
	if sc == nil {
		return
	}
	// What the courier holds is looked at no later than the object, so that it is never newer; the rest takes a while.
	sc.running, sc.result = desk.running, desk.result
	desk.busy = true
	r.s.after(r.s.queueDelay(), r.guard(func() { r.act(sc, 0) }))
}

// rest ends one pass.
func (r *simReplica) rest(id int, until time.Time) {
	desk := r.desk(id)
	desk.busy, desk.failures = false, 0
	if !until.IsZero() {
		r.wakeAt(id, until.Sub(start))
	}
	if desk.dirty {
		desk.dirty = false
		r.enqueue(id)
	}
}

// act decides and carries out one action after the other, as the controller does.
func (r *simReplica) act(sc *simScope, n int) {
	s := r.s
	if n == simMaxSteps {
		s.violate(promiseEnds, "%s: no rest after %d actions on %s", r.name, n, sc.d.Name)
		return
	}
	action := s.decide(Input{
		Now: s.time(), Self: r.name, Delegation: sc.d, Agent: sc.agent, Related: sc.related, Body: sc.body,
		Running: sc.running, Result: sc.result,
	})
	if s.telling {
		s.tell(r.name, sc.d.Name, "%s", tellAction(action))
	}
	s.checkPace(r, sc.id, action)
	switch a := action.(type) {
	case Send:
		r.send(sc, a)
		r.rest(sc.id, time.Time{})
	case Ask:
		r.ask(sc, a)
		r.rest(sc.id, time.Time{})
	case Follow:
		r.follow(sc, a)
		r.rest(sc.id, a.Until)
	case Wait:
		if sc.d.Status.Phase.Finished() {
			r.desk(sc.id).track = nil
		}
		r.rest(sc.id, a.Until)
	default:
		r.write(sc, action, n)
	}
}

// write carries out an action that is a write, and decides again after it.
func (r *simReplica) write(sc *simScope, action Action, n int) {
	w := &simWrite{id: sc.id, by: r, action: action, d: sc.d}
	then := func(*v1alpha1.Delegation) { r.rest(sc.id, time.Time{}) }
	switch a := action.(type) {
	case Record:
		if a.Protects {
			d := sc.d.DeepCopy()
			d.Finalizers = append(d.Finalizers, v1alpha1.DeliveryFinalizer)
			w.verb, w.d = verbProtect, d
			then = func(d *v1alpha1.Delegation) {
				sc.d, a.Protects = d, false
				r.write(sc, a, n)
			}
			break
		}
		d := *sc.d
		d.Status = a.Status
		result := sc.result
		w.verb, w.d = verbRecord, &d
		then = func(d *v1alpha1.Delegation) {
			sc.d = d
			if a.Settles {
				r.recorded(sc.id, result)
				sc.result = nil
			}
			r.act(sc, n+1)
		}
	case Claim:
		root := *a.Root
		root.Status.AnsweredBy = &a.Claim
		w.verb, w.d, w.blind, w.id = verbClaim, &root, r.s.hooks.blindClaim, r.s.idOf(a.Root.UID)
		then = func(root *v1alpha1.Delegation) {
			sc.related.Root, sc.related.Holder = root, sc.d
			r.act(sc, n+1)
		}
	case Release:
		d := sc.d.DeepCopy()
		d.Finalizers = slices.DeleteFunc(d.Finalizers, func(f string) bool { return f == v1alpha1.DeliveryFinalizer })
		w.verb, w.d = verbRelease, d
	case Delete:
		w.verb = verbDelete
	}
	r.s.server.request(w, func(d *v1alpha1.Delegation, err error) {
		r.wrote(sc.id, w, d, err, then)
	})
}

func (r *simReplica) wrote(id int, w *simWrite, d *v1alpha1.Delegation, err error, then func(*v1alpha1.Delegation)) {
	desk := r.desk(id)
	failures := desk.failures
	if err != nil && r.s.telling {
		r.s.tell(r.name, r.s.server.objects[w.id].name, "%s: %v", w.verb, err)
	}
	switch {
	case err == nil:
		r.ownWrite(w.id, d)
		then(d)
	case errors.Is(err, errSimGone):
		r.rest(id, time.Time{})
	case errors.Is(err, errSimConflict):
		r.rest(id, r.s.time().Add(simStaleRetry))
	default:
		r.rest(id, r.s.time().Add(5*time.Millisecond<<min(failures, 17)))
		r.desk(id).failures = failures + 1
	}
}

// ownWrite notes the revision of a write: nothing older is read from now on.
func (r *simReplica) ownWrite(id int, d *v1alpha1.Delegation) {
	if rev, err := strconv.Atoi(d.ResourceVersion); err == nil {
		r.desk(id).own = max(r.desk(id).own, rev)
	}
}
