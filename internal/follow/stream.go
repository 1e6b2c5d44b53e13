// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Streamer is an agent that tells of changes to a task while it is listened to.
type Streamer interface {
	// Subscribe listens to a task until ctx or the stream ends, and calls heard when the stream is open and for each event
	// that may be news. What it returns says why there was no stream; Accepted, that there was one.
	Subscribe(ctx context.Context, taskID string, heard func()) outbox.Exchange
}

const (
	// A stream that ended is opened again after firstPause, then twice as long each time.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// missingPause is how long an agent is not asked for streams that has no such operation.
	missingPause = 10 * time.Minute
)

// stream is what is known of the stream of one task.
type stream struct {
	key taskOf
	// born orders the tasks by when they were first followed.
	born   uint64
	lane   *streamLane
	agent  Streamer
	limits courier.Limits
	state  v1alpha1.TaskState
	// end ends the run that is out; nil without one. open is when the agent opened its stream; zero while it has not.
	end  context.CancelFunc
	open time.Time
	// refused says that the agent gave an error for which the task's state may be the cause.
	refused bool
	// tried says that there was a run before; pause is the last one between two runs, and notBefore when the next may begin.
	tried     bool
	pause     time.Duration
	notBefore time.Time
}

// wanted reports whether there is to be a stream. A task that waits for a message changes by that message alone, and agents
// on the Go SDK deny that it is there to be listened to.
func (e *stream) wanted() bool {
	return !e.refused && !e.state.Terminal() && !e.state.Interrupted()
}

// verdict is what the end of a run means for the next one.
type verdict int

const (
	// again: the stream is opened again after a pause.
	again verdict = iota
	// refused: not before the task's state has changed.
	refused
	// missing: the agent has no such operation, whatever the task.
	missing
)

// judge reads the end of a run. That an agent does not know the task is no news about the task: it may only not work on it.
func judge(ex outbox.Exchange) verdict {
	switch {
	case ex.Reason == remote.ReasonEndpointNotFound, ex.Reason == remote.ReasonMethodNotFound:
		return missing
	case ex.Outcome == outbox.Refused, ex.Outcome == outbox.Absent:
		return refused
	}
	return again
}

// nextPause is the pause after a run whose stream was open for a time. One that was open longer than the pause before it
// was worth it: the pauses begin anew.
func nextPause(last, lived time.Duration) time.Duration {
	if lived > last {
		return firstPause
	}
	return min(max(2*last, firstPause), longestPause)
}

// jitter is d ± 50 %, so that the streams that an agent lost together do not come back together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
