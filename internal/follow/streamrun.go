// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// heard notes a sign of news on the stream of a run, of which the first is that it is open.
func (s *streams) heard(e *stream) {
	s.mu.Lock()
	if e.open.IsZero() {
		e.open = s.clock.Now()
		e.lane.open++
		metrics.Streams(e.lane.name.Namespace, e.lane.name.Name, e.lane.open)
	}
	s.mu.Unlock()
	metrics.Hints(e.lane.name.Namespace, e.lane.name.Name, metrics.SourceStream, 1)
	s.hint(e.key.agent, e.key.task)
}

// ended takes a run back, plans the next one and gives the place away. It reports whether the run ended by itself: then
// the task may have changed behind it.
func (s *streams) ended(ctx context.Context, e *stream, agent Streamer, ex outbox.Exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	itself := ctx.Err() == nil
	lived := s.release(e)
	switch {
	case s.tasks[e.key] != e || s.ctx.Err() != nil:
	case e.agent != agent || !itself:
		s.queue.Add(e.key)
	default:
		s.pause(e, ex, lived)
	}
	s.tidy(e.key.agent, e.lane)
	s.fill()
	return itself
}

// release gives back the place of a run and returns how long its stream was open.
func (s *streams) release(e *stream) time.Duration {
	e.end()
	e.end = nil
	s.taken--
	e.lane.taken--
	if e.open.IsZero() {
		return 0
	}
	lived := s.clock.Since(e.open)
	e.open = time.Time{}
	e.lane.open--
	metrics.Streams(e.lane.name.Namespace, e.lane.name.Name, e.lane.open)
	return lived
}

// pause plans the next run after one that ended by itself.
func (s *streams) pause(e *stream, ex outbox.Exchange, lived time.Duration) {
	now := s.clock.Now()
	switch verdict := judge(ex); {
	case verdict == refused:
		e.refused = true
		return
	case verdict == missing:
		s.rest(e.lane, now.Add(missingPause))
	case ex.RetryAfter > 0:
		s.rest(e.lane, now.Add(ex.RetryAfter))
	}
	e.pause = nextPause(e.pause, lived)
	e.notBefore = now.Add(jitter(e.pause))
	s.queue.Add(e.key)
}

// rest leaves an agent alone. What waits for a place there waits for the end of that.
func (s *streams) rest(lane *streamLane, until time.Time) {
	lane.notBefore = until
	for e := range lane.waiting {
		s.queue.Add(e.key)
	}
	clear(lane.waiting)
}

// tidy forgets an agent without tasks and runs. The caller holds the lock.
func (s *streams) tidy(agent types.UID, lane *streamLane) {
	if lane.tasks == 0 && lane.taken == 0 && s.lanes[agent] == lane {
		delete(s.lanes, agent)
		metrics.Streams(lane.name.Namespace, lane.name.Name, -1)
	}
}
