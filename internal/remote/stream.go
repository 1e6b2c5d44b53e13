// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// callSubscribe is a call of this package alone: no decision depends on it.
const callSubscribe outbox.Call = "SubscribeToTask"

const (
	// defaultStreamIdle is longer than the 15 to 60 seconds after which servers and proxies commonly show a sign of life or
	// close. Opening a stream anew that was alive costs one call.
	defaultStreamIdle = 2 * time.Minute
	// maxEvent is how much of one event is kept. What is longer is heard and not read: an event is a hint.
	maxEvent = 64 << 10
)

var (
	errStreamIdle   = errors.New("nothing came on the stream for too long")
	errClientClosed = errors.New("the client is closed")
)

// streams is what the streams of one client have in common.
type streams struct {
	wire *wire
	idle time.Duration
	// life ends with the client.
	life  context.Context
	close func()
	// posts says that the agent takes subscriptions by POST.
	posts *atomic.Bool
}

func newStreams(w *wire, idle time.Duration) streams {
	// Compressed events may stay in a compressor.
	w.transport.DisableCompression = true
	life, end := context.WithCancelCause(context.Background())
	return streams{wire: w, idle: idle, life: life, posts: &atomic.Bool{}, close: func() {
		end(errClientClosed)
		w.close()
	}}
}

// Subscribe listens to a task (A2A 1.0, section 3.1.6) until ctx, the client or the stream ends; a stream without a byte
// for Limits.StreamIdle is ended. heard is called when the stream is open, and for each event that may be about the task's
// state. Nothing that an event says is used: whoever hears of a task asks for it.
//
// Accepted says that the agent opened a stream, or gave an answer in its place, and that it is over; the reason says how,
// and is empty for a clean end. However a stream ends, the task may be in any state. Other outcomes are the error that the
// agent gave in place of a stream or on it. Absent is said by agents also of tasks that they only do not work on.
func (c *Client) Subscribe(ctx context.Context, taskID string, heard func()) outbox.Exchange {
	p, err := c.pack(request{call: callSubscribe, params: &a2a.SubscribeToTaskRequest{Tenant: c.tenant, ID: a2a.TaskID(taskID)}})
	if err != nil {
		return notEncodable(err)
	}
	if p.method != http.MethodGet {
		return c.listen(ctx, p, heard)
	}
	if c.streams.posts.Load() {
		return c.listen(ctx, posted(p), heard)
	}
	// The specification's binding of the operation is GET (a2a.proto). Servers that have it as POST know no such path, or
	// take it for the id of a task.
	ex := c.listen(ctx, p, heard)
	if ex.Outcome != outbox.Absent && ex.Reason != ReasonEndpointNotFound {
		return ex
	}
	again := c.listen(ctx, posted(p), func() { c.streams.posts.Store(true); heard() })
	if again.Reason == ReasonEndpointNotFound {
		return ex
	}
	return again
}

// posted is a GET as a POST.
func posted(p parcel) parcel {
	p.header = p.header.Clone()
	p.header.Set("Content-Type", "application/json")
	p.method, p.body = http.MethodPost, []byte("{}")
	return p
}

// accepted is the Accept header of a call: a subscription takes a stream first, and an error in the usual form.
func accepted(call outbox.Call, usual string) string {
	if call == callSubscribe {
		return eventStream + ", " + usual
	}
	return usual
}

// listen makes one subscription, and another one with other credentials where the first ones are not accepted any more.
func (c *Client) listen(ctx context.Context, p parcel, heard func()) outbox.Exchange {
	ex, presented := c.listenOnce(ctx, p, heard)
	if ex.Outcome == outbox.Unauthorized && c.streams.wire.renewed(ex, presented) {
		ex, _ = c.listenOnce(ctx, p, heard)
	}
	return ex
}

func (c *Client) listenOnce(ctx context.Context, p parcel, heard func()) (outbox.Exchange, http.Header) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.streams.life, func() { cancel(errClientClosed) })()
	watch := &watchdog{idle: c.streams.idle, timer: time.AfterFunc(c.streams.idle, func() { cancel(errStreamIdle) })}
	defer watch.timer.Stop()

	ev, resp := c.streams.wire.open(ctx, p)
	if resp == nil {
		return overdue(ctx, judge(ev, c.binding.decode(callSubscribe, p, ev), c.wire.now())), ev.presented
	}
	defer resp.close()
	watch.alive()
	watch.ReadCloser, resp.Body = resp.Body, watch
	if ev.status != http.StatusOK || !c.binding.streams(ev.header) {
		ev.read(ctx, resp.Response, c.wire.limit, p.message)
		return overdue(ctx, absent(judge(ev, c.binding.decode(callSubscribe, p, ev), c.wire.now()))), ev.presented
	}
	heard()
	a := c.binding.listen(p, resp.Response, heard)
	if a.fault != nil {
		return absent(judge(ev, a, c.wire.now())), ev.presented
	}
	return overdue(ctx, outbox.Exchange{Outcome: outbox.Accepted, Reason: a.reason}), ev.presented
}

func absent(ex outbox.Exchange) outbox.Exchange {
	if ex.Outcome == outbox.Refused && ex.Reason == ReasonTaskNotFound {
		ex.Outcome = outbox.Absent
	}
	return ex
}

// overdue names what ended an exchange that this package or its caller cut off.
func overdue(ctx context.Context, ex outbox.Exchange) outbox.Exchange {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStreamIdle):
		ex.Reason = ReasonTimeout
	case cause != nil:
		ex.Reason = ReasonCanceled
	}
	return ex
}

// watchdog is a body whose reader is cut off when no byte came for a while.
type watchdog struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
}

// Read implements io.Reader.
func (w *watchdog) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if n > 0 {
		w.alive()
	}
	return n, err
}

// alive gives the stream its time anew. One that is being cut off stays cut off.
func (w *watchdog) alive() { w.timer.Reset(w.idle) }
