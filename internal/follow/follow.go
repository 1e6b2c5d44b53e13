// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow keeps a fresh view of the tasks that are under way and reports what changed. All that it knows is in
// memory: after a restart every task is looked at anew.
package follow

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// Agent looks at a task.
type Agent interface {
	Get(ctx context.Context, taskID string) outbox.Exchange
}

// Subject is one task to follow.
type Subject struct {
	Key    courier.Key
	TaskID string
	// State is what the task is known to be in, and Timestamp the agent's time of that; zero where none is.
	State     v1alpha1.TaskState
	Timestamp time.Time
	// Agent, its name, its id and its limits.
	Agent     Agent
	AgentName types.NamespacedName
	AgentID   types.UID
	Limits    courier.Limits
	// Streams is where the task is listened to; nil for an agent that is only asked.
	Streams Streamer
	// Lister lists the agent's tasks that changed; nil where each is to be looked at by itself.
	Lister Lister
	// MinInterval and MaxInterval bound the time between two looks. It grows while nothing changes.
	MinInterval, MaxInterval time.Duration
}

// Timeout bounds one look at a task.
const Timeout = 30 * time.Second

const (
	growth = 1.5
	// newsGap is the least time between two pieces of news of a task that goes on.
	newsGap = time.Second
)

// Follower keeps tasks fresh: it looks at them, and takes hints when to from their streams and from their agents' listings.
type Follower struct {
	pool    *courier.Pool
	deliver func(courier.Key, *outbox.Result) bool
	clock   clock.WithTicker
	queue   workqueue.TypedDelayingInterface[types.UID]
	mu      sync.Mutex
	tracked map[types.UID]*track
	// byTask has those that follow one task: a Delegation's and its continuations'.
	byTask map[taskOf]map[types.UID]bool
	// streams is asked and told while mu is held, and never the other way round.
	streams *streams
	// early has the Delegations that a hint came for before their tasks were followed.
	early map[types.UID]bool
	// sweeps has the agents that tasks are followed at, and sweepQueue those to be swept.
	sweeps     map[types.UID]*sweep
	sweepQueue workqueue.TypedDelayingInterface[types.UID]
}

type track struct {
	Subject
	interval time.Duration
	seen     signature
	busy     bool
	// notBefore is the earliest time of the next look, hinted whether something came that may be news, and prompted whether
	// that is why the look is out.
	notBefore        time.Time
	hinted, prompted bool
	// asked is when the look that is out began, and before when the one did that saw what is in seen.
	asked, before time.Time
	// told is when news was last delivered.
	told time.Time
}

// signature is what has to differ for a look at a task to be news.
type signature struct {
	mark
	message string
}

// New returns a follower that makes its calls in a pool and reports through deliver, which returns false for news that it
// could not take; it is told again. Once Drop returned, deliver is not called for that Delegation any more. It must not
// call the follower itself.
func New(pool *courier.Pool, clk clock.WithTicker, deliver func(courier.Key, *outbox.Result) bool, options ...Option) *Follower {
	f := &Follower{
		pool: pool, deliver: deliver, clock: clk, tracked: map[types.UID]*track{}, byTask: map[taskOf]map[types.UID]bool{},
		early: map[types.UID]bool{}, sweeps: map[types.UID]*sweep{},
		queue:      workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.UID]{Name: "follow", Clock: clk}),
		sweepQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.UID]{Name: "sweep", Clock: clk}),
	}
	f.streams = newStreams(pool, clk, f.Hint)
	for _, set := range options {
		set(f)
	}
	return f
}

// Track follows a task from now on. Calling it again renews what is known of the agent and changes no timing.
func (f *Follower) Track(s Subject) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tracked[s.Key.UID]; t != nil && t.taskOf() == s.taskOf() {
		t.Subject = s
		f.streams.want(&s)
		f.join(s)
		return
	}
	f.forget(s.Key.UID)
	t := &track{Subject: s, interval: s.MinInterval}
	f.remember(t)
	f.streams.want(&s)
	f.join(s)
	if f.hintedEarly(s.Key.UID) {
		f.queue.Add(s.Key.UID)
		return
	}
	f.queue.AddAfter(s.Key.UID, f.admit(s, spread(t.interval)))
}

// Drop ends the following of a Delegation's task.
func (f *Follower) Drop(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.early, uid)
	f.forget(uid)
}

// Start looks at tasks and listens to them until ctx ends. No stream is left when it returns.
func (f *Follower) Start(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { f.streams.serve(ctx) })
	others.Go(f.startSweeps)
	others.Go(func() {
		<-ctx.Done()
		f.queue.ShutDown()
		f.sweepQueue.ShutDown()
	})
	for {
		uid, shutdown := f.queue.Get()
		if shutdown {
			return nil
		}
		f.look(uid)
		f.queue.Done(uid)
	}
}

// look queues one GetTask. At most one is out for a task.
func (f *Follower) look(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tracked[uid]
	if t == nil || t.busy {
		return
	}
	// A hint that comes from here on may be about what this look does not see.
	t.asked, t.prompted = f.clock.Now(), t.hinted
	t.notBefore, t.hinted = t.asked.Add(hintGap), false
	t.busy = f.pool.RunFor(t.Key.Namespace, t.AgentID, t.Limits, func(ctx context.Context) {
		if s, ok := f.subject(uid, t); ok {
			ctx, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			ex := s.Agent.Get(ctx, s.TaskID)
			metrics.Look(s.AgentName, ex.Outcome)
			f.seen(uid, t, ex)
		}
	})
}

// subject returns what is known now of a task whose turn has come; false where it is not followed any more.
func (f *Follower) subject(uid types.UID, t *track) (Subject, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return t.Subject, f.tracked[uid] == t
}

// seen reports a look that brought news, and plans the next one.
func (f *Follower) seen(uid types.UID, t *track, ex outbox.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.busy = false
	if f.tracked[uid] != t {
		return
	}
	if ex.Outcome == outbox.Accepted {
		f.streams.observe(t.taskOf(), ex.Task.State)
	}
	news := ex.Outcome != outbox.Accepted || sign(ex.Task) != t.seen
	if news && f.tooSoon(t, ex) {
		f.plan(uid, t, newsGap)
		return
	}
	known := f.take(t, ex, news)
	if ex.RetryAfter > 0 {
		t.notBefore = f.clock.Now().Add(ex.RetryAfter)
	}
	f.plan(uid, t, max(f.pause(t, known), ex.RetryAfter))
}

// plan queues the next look, at once where a hint came meanwhile. The caller holds the lock.
func (f *Follower) plan(uid types.UID, t *track, in time.Duration) {
	if t.hinted {
		in = f.untilNext(t)
	}
	f.queue.AddAfter(uid, in)
}

// take keeps what a look brought and tells of it where it is news. It reports whether the task's state is known, to this
// follower and to whom it told. The caller holds the lock.
func (f *Follower) take(t *track, ex outbox.Exchange, news bool) bool {
	known := ex.Outcome == outbox.Accepted
	if known {
		f.compare(t, ex.Task)
		t.before = t.asked
	}
	if known && news {
		t.seen, t.interval = sign(ex.Task), t.MinInterval
	} else {
		t.interval = min(time.Duration(float64(t.interval)*growth), t.MaxInterval)
	}
	if !news {
		return known
	}
	t.told = f.clock.Now()
	told := f.deliver(t.Key, &outbox.Result{Call: outbox.CallGet, Exchange: ex})
	if !known || !told {
		// A failed look is told each time, since how long it has been failing matters, and forgets what was seen, so that the
		// first good one after it is news.
		t.seen = signature{}
	}
	return known && told
}

// tooSoon reports whether news is to wait, since each is a write: that of a task which goes on, right after other news. A look
// after the gap brings the newest of it.
func (f *Follower) tooSoon(t *track, ex outbox.Exchange) bool {
	goesOn := ex.Outcome == outbox.Accepted && !ex.Task.State.Terminal() && !ex.Task.State.Interrupted()
	return goesOn && !t.told.IsZero() && f.clock.Since(t.told) < newsGap
}

// pause is how long to leave a task alone that nothing is heard of. One with a stream is looked at all the same, since a
// stream may be broken and not show it; when the stream is gone the looks begin anew with the shortest interval.
func (f *Follower) pause(t *track, known bool) time.Duration {
	if !f.streams.live(t.taskOf()) {
		return f.untold(t, known)
	}
	t.interval = t.MinInterval
	return spread(t.MaxInterval)
}

func sign(t *outbox.Task) signature {
	return signature{mark: markOf(t), message: t.Message}
}

// spread is d ± 10 %, so that tasks that began together are not looked at together for ever.
func spread(d time.Duration) time.Duration {
	return d*9/10 + time.Duration(rand.Int64N(int64(d)/5+1))
}
