// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var errTimeout = errors.New("the agent did not answer in time")

// exchange is the one forward of a message. It stands behind a reverse proxy as its transport: what it returns has been
// settled in the table.
type exchange struct {
	proxy  *Proxy
	in     *http.Request // with the client's own context
	call   *call
	ticket *dedup.Ticket
	// ctx is the forward's: it does not end with the client.
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	result Result
	waited time.Duration
}

type exchangeKey struct{}

// forward sends the first copy and answers with what comes back. A client that hangs up does not end it.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, c *call, ticket *dedup.Ticket) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	x := &exchange{proxy: p, in: r, call: c, ticket: ticket, ctx: ctx, cancel: cancel}
	x.timer = time.AfterFunc(p.SendTimeout, func() { cancel(errTimeout) })
	defer x.timer.Stop()
	defer func() { // also when the copy to the client panics
		p.Metrics.countSend(x.result)
		spent(r.Context(), x.waited)
	}()
	p.sends.ServeHTTP(w, r.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
}

// sender is the transport of the reverse proxy for sends.
type sender struct{}

// RoundTrip implements http.RoundTripper.
func (sender) RoundTrip(out *http.Request) (*http.Response, error) {
	x, ok := out.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("dedupproxy: a send without its exchange")
	}
	return x.send(out), nil
}

func (x *exchange) send(out *http.Request) *http.Response {
	out.Header.Set("Accept-Encoding", "identity") // the answer has to be read
	// Only connections on which nothing was written may be tried again.
	out.GetBody = nil
	// The body as it was read, without what the reverse proxy puts around it: net/http sees that it is in memory, and
	// writes it together with the header.
	out.Body = x.in.Body
	if !x.ticket.Held() {
		x.ticket.Leave()
		return x.answered(ResultInProgress, problemInProgress)
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	start := time.Now()
	resp, err := x.proxy.Transport.RoundTrip(out.WithContext(httptrace.WithClientTrace(out.Context(), trace)))
	if err != nil {
		x.waitedSince(start)
		if !connected.Load() { // no byte can have left
			x.warn("no connection to the agent", err)
			x.release()
			return x.answered(ResultReleased, problemUnsent)
		}
		return x.unproved(x.cause(err), nil)
	}
	if isStream(resp.Header) {
		return x.stream(resp, start)
	}
	defer func() { _ = resp.Body.Close() }()
	whole, err := x.proxy.readAnswer(resp)
	x.waitedSince(start)
	if err != nil {
		return x.unproved(x.cause(err), nil)
	}
	return x.settle(whole)
}

// stream passes a stream on from the first event that binds the message. Until then it is read whatever the client does,
// after that it ends with the client.
func (x *exchange) stream(resp *http.Response, start time.Time) *http.Response {
	head, f, err := firstFinding(x.call, resp.Body, x.proxy.MaxResponse)
	x.waitedSince(start)
	switch {
	case err != nil:
		_ = resp.Body.Close()
		if ended(err) {
			err = errors.New("the stream ended without an event")
		}
		return x.unproved(x.cause(err), nil)
	case f.proof == open: // an error that proves nothing; it is the last event
		rest, _ := io.ReadAll(io.LimitReader(resp.Body, x.proxy.MaxResponse))
		_ = resp.Body.Close()
		return x.unproved(nil, &answer{status: resp.StatusCode, header: resp.Header, body: append(head, rest...)})
	}
	if instead := x.record(f); instead != nil {
		_ = resp.Body.Close()
		return instead
	}
	if !x.timer.Stop() {
		x.warn("stream cut off", errTimeout)
	}
	end := func() { x.cancel(nil) }
	stopClient, stopLife := context.AfterFunc(x.in.Context(), end), context.AfterFunc(x.proxy.life, end)
	resp.Body = resume(head, resp.Body, func() { stopClient(); stopLife() })
	return resp
}

func (x *exchange) settle(whole answer) *http.Response {
	f := judge(x.call, whole.status, whole.header, whole.body)
	if f.proof == open {
		return x.unproved(nil, &whole)
	}
	if instead := x.record(f); instead != nil {
		return instead
	}
	return whole.response(x.in)
}

// record writes what was proved into the table. It returns a response where the agent's own must not be the answer.
func (x *exchange) record(f finding) *http.Response {
	if f.fault == a2a.ErrorReason(a2a.ErrUnsupportedOperation) {
		x.proxy.Metrics.countUnsupported(x.ticket.Key().Principal)
	}
	if f.proof == refused {
		x.result = ResultReleased
		x.release()
		return nil
	}
	x.result = ResultFirst
	if errors.Is(x.proxy.bind(x.ctx, x.ticket, f.outcome), dedup.ErrBound) {
		return x.answered(ResultInProgress, problemInProgress)
	}
	return nil
}

func (x *exchange) release() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeTimeout)
	defer cancel()
	x.proxy.forget(x.ticket.Key())
	if err := x.ticket.Release(ctx); err != nil && !errors.Is(err, dedup.ErrNotHeld) {
		x.warn("refused message not released; it is looked up when it comes again", err)
	}
}

// unproved is for an exchange after which the agent may have the message or not. The agent is asked at once. Where that
// does not tell, the next copy finds the row abandoned, and this one gets the agent's own answer if there was a whole one.
func (x *exchange) unproved(err error, whole *answer) *http.Response {
	x.result = ResultOpen
	if whole != nil {
		err = fmt.Errorf("HTTP %d without proof", whole.status)
	}
	x.warn("send without a known outcome", err)
	x.proxy.remember(x.ticket.Key())
	if x.proxy.Lookup != LookupNone {
		ctx := context.WithoutCancel(x.ctx)
		s := asker{x.proxy, x.in, x.call}.find(ctx)
		if s.search == found {
			outcome := dedup.Binding{TaskID: a2a.TaskID(s.taskID)}
			x.proxy.Metrics.countRecovery(RecoveryFound)
			if x.proxy.bind(ctx, x.ticket, outcome) == nil {
				return x.proxy.replay(ctx, x.in, x.call, outcome).response(x.in)
			}
			return x.answered(ResultInProgress, problemInProgress)
		}
		x.proxy.Logger.InfoContext(ctx, "task not found at once", "messageId", x.call.message.id, "why", s.why)
	}
	x.ticket.Leave()
	switch {
	case whole != nil:
		return whole.response(x.in)
	case x.proxy.Lookup == LookupNone:
		return x.answered(ResultUnknown, problemUnresolved)
	}
	return x.answered(ResultInProgress, problemInProgress)
}

func (x *exchange) answered(result Result, p problem) *http.Response {
	x.result = result
	return p.answer(x.call).response(x.in)
}

// cause is the reason for the end of the forward, where it was ended here.
func (x *exchange) cause(err error) error {
	if why := context.Cause(x.ctx); why != nil {
		return why
	}
	return err
}

func (x *exchange) waitedSince(start time.Time) {
	x.waited += time.Since(start)
	x.proxy.Metrics.observeUpstream(x.call.method(), time.Since(start))
}

func (x *exchange) warn(text string, err error) {
	x.proxy.Logger.WarnContext(x.ctx, text, "messageId", x.call.message.id, "error", err)
}
