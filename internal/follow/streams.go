// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
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

// DefaultMaxStreams is how many streams are open at once in all.
const DefaultMaxStreams = 1000

// Option changes how a follower works.
type Option func(*Follower)

// WithMaxStreams bounds the streams that are open at once in all; 0 means none. Without it there are DefaultMaxStreams.
func WithMaxStreams(n int) Option { return func(f *Follower) { f.streams.most = n } }

// streams keeps tasks listened to: one stream per task, as many per agent as it takes calls at once, and a number in all.
// A free place goes to the agent with the fewest streams, and there to the task that was followed last: a task that has
// been worked on for long is less likely to change soon. What has no place is polled.
type streams struct {
	pool  *courier.Pool
	clock clock.WithTicker
	hint  func(agent types.UID, task string)
	// queue brings the tasks whose pause is over.
	queue workqueue.TypedDelayingInterface[taskOf]

	mu      sync.Mutex
	most    int
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	// taken is how many places are in use, and born how many tasks there were.
	taken int
	born  uint64
	tasks map[taskOf]*stream
	lanes map[types.UID]*streamLane
}

// streamLane is what an agent's streams have in common.
type streamLane struct {
	name types.NamespacedName
	// tasks counts those that are followed, taken the places in use and open the streams that the agent opened.
	tasks, taken, open int
	limit              int
	waiting            map[*stream]bool
	notBefore          time.Time
}

func newStreams(pool *courier.Pool, clk clock.WithTicker, hint func(types.UID, string)) *streams {
	s := &streams{
		pool: pool, clock: clk, hint: hint, most: DefaultMaxStreams,
		tasks: map[taskOf]*stream{}, lanes: map[types.UID]*streamLane{},
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[taskOf]{Name: "streams", Clock: clk}),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// serve opens streams until ctx ends, and returns when none is left.
func (s *streams) serve(ctx context.Context) {
	go func() {
		<-ctx.Done()
		s.queue.ShutDown()
	}()
	for {
		key, shutdown := s.queue.Get()
		if shutdown {
			break
		}
		s.turn(key)
		s.queue.Done(key)
	}
	// No run begins once the lock was had after the end.
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.running.Wait()
}

// want has a task listened to where its agent has streams. An agent that is reached in another way than before, by its
// address or its credentials, is listened to anew.
func (s *streams) want(sub *Subject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sub.taskOf()
	if sub.Streams == nil || s.most <= 0 {
		s.remove(key)
		return
	}
	e := s.tasks[key]
	if e == nil {
		e = s.add(sub)
	}
	if e.agent != sub.Streams {
		e.agent, e.refused, e.notBefore, e.lane.notBefore = sub.Streams, false, time.Time{}, time.Time{}
		if e.end != nil {
			e.end()
		}
	}
	e.limits, e.lane.limit = sub.Limits, max(sub.Limits.InFlight, 1)
	s.queue.Add(key)
}

func (s *streams) add(sub *Subject) *stream {
	lane := s.lanes[sub.AgentID]
	if lane == nil {
		lane = &streamLane{name: sub.AgentName, waiting: map[*stream]bool{}}
		s.lanes[sub.AgentID] = lane
	}
	s.born++
	lane.tasks++
	e := &stream{key: sub.taskOf(), born: s.born, lane: lane, agent: sub.Streams, state: sub.State}
	s.tasks[e.key] = e
	return e
}

// drop ends the stream of a task that nobody follows any more.
func (s *streams) drop(key taskOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
}

func (s *streams) remove(key taskOf) {
	e := s.tasks[key]
	if e == nil {
		return
	}
	delete(s.tasks, key)
	delete(e.lane.waiting, e)
	e.lane.tasks--
	if e.end != nil {
		e.end()
	}
	s.tidy(key.agent, e.lane)
}

// observe notes the state that a look at a task showed.
func (s *streams) observe(key taskOf, state v1alpha1.TaskState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tasks[key]
	if e == nil || e.state == state {
		return
	}
	e.state, e.refused = state, false
	if e.wanted() {
		s.queue.Add(key)
		return
	}
	delete(e.lane.waiting, e)
	if e.end != nil {
		e.end()
	}
}

// live reports whether a task is listened to.
func (s *streams) live(key taskOf) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tasks[key]
	return e != nil && !e.open.IsZero()
}

// turn has a task wait for a place, once its pause and its agent's are over.
func (s *streams) turn(key taskOf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tasks[key]
	if e == nil || e.end != nil || !e.wanted() {
		return
	}
	from := e.notBefore
	if e.lane.notBefore.After(from) {
		from = e.lane.notBefore
	}
	if wait := from.Sub(s.clock.Now()); wait > 0 {
		s.queue.AddAfter(key, wait)
		return
	}
	e.lane.waiting[e] = true
	s.fill()
}

// fill gives the free places away. The caller holds the lock.
func (s *streams) fill() {
	for s.taken < s.most && s.ctx.Err() == nil {
		e := s.next()
		if e == nil {
			return
		}
		s.begin(e)
	}
}

// next is the task that a free place goes to; nil where none waits or may have it.
func (s *streams) next() *stream {
	var lane *streamLane
	for _, l := range s.lanes {
		if len(l.waiting) > 0 && l.taken < l.limit && (lane == nil || l.taken < lane.taken) {
			lane = l
		}
	}
	if lane == nil {
		return nil
	}
	var newest *stream
	for e := range lane.waiting {
		if newest == nil || e.born > newest.born {
			newest = e
		}
	}
	return newest
}

// begin starts a run of a stream. The caller holds the lock.
func (s *streams) begin(e *stream) {
	delete(e.lane.waiting, e)
	s.taken++
	e.lane.taken++
	if e.tried {
		metrics.Reconnect(e.lane.name.Namespace, e.lane.name.Name)
	}
	e.tried = true
	ctx, end := context.WithCancel(s.ctx)
	e.end = end
	s.running.Add(1)
	go s.run(ctx, e, e.agent, e.limits)
}

func (s *streams) run(ctx context.Context, e *stream, agent Streamer, limits courier.Limits) {
	defer s.running.Done()
	var ex outbox.Exchange
	if s.pool.Turn(ctx, e.key.agent, limits) == nil {
		ex = agent.Subscribe(ctx, e.key.task, func() { s.heard(e) })
	}
	if s.ended(ctx, e, agent, ex) {
		metrics.Hints(e.lane.name.Namespace, e.lane.name.Name, metrics.SourceStreamEnd, 1)
		s.hint(e.key.agent, e.key.task)
	}
}
