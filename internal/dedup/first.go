// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/log"
)

// errPanicked marks a send of which nothing is known, not even whether it goes on in the background.
var errPanicked = errors.New("request handler panicked")

// attempt is the first copy of a message on its way through the wrapped handler. It travels in the
// context, which the SDK hands on to the task store.
type attempt struct {
	ticket  *Ticket
	tracked bool

	mu      sync.Mutex
	touched bool // a write to the task store was begun
	bound   bool
}

type attemptKey struct{}

func attemptFrom(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// begin detaches the first copy from its client: a client that hangs up must not leave a row behind that
// nobody binds or releases.
func (h *Handler) begin(ctx context.Context, ticket *Ticket) (context.Context, *attempt) {
	a := &attempt{ticket: ticket, tracked: h.tracked}
	return context.WithValue(context.WithoutCancel(ctx), attemptKey{}, a), a
}

func (h *Handler) sendFirst(ctx context.Context, ticket *Ticket, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	type answer struct {
		result a2a.SendMessageResult
		err    error
	}
	detached, first := h.begin(ctx, ticket)
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.err = guard(detached, func() (err error) {
			a.result, err = h.RequestHandler.SendMessage(detached, req)
			return err
		})
		first.settle(detached, a.result, a.err)
		done <- a
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type streamItem struct {
	event a2a.Event
	err   error
}

// streamFirst passes the stream on and settles the row by its first event. When the client leaves before
// that event, the stream is read on until it came; after it, the stream is dropped at once.
func (h *Handler) streamFirst(ctx context.Context, ticket *Ticket, req *a2a.SendMessageRequest, yield func(a2a.Event, error) bool) {
	detached, first := h.begin(ctx, ticket)
	detached, drop := context.WithCancel(detached)
	items, settled, left := make(chan streamItem), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(items)
		h.pump(detached, first, req, items, settled, left)
	}()
	defer func() {
		close(left)
		go func() { <-settled; drop() }()
	}()
	for {
		select {
		case item, ok := <-items:
			if !ok || !yield(item.event, item.err) || item.err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (h *Handler) pump(
	ctx context.Context, first *attempt, req *a2a.SendMessageRequest,
	items chan<- streamItem, settled chan<- struct{}, left <-chan struct{},
) {
	settle := sync.OnceFunc(func() { close(settled) })
	defer settle()
	seen := false
	err := guard(ctx, func() error {
		for event, err := range h.RequestHandler.SendStreamingMessage(ctx, req) {
			if !seen {
				seen = true
				first.settle(ctx, event, err)
				settle()
			}
			select {
			case items <- streamItem{event, err}:
			case <-left:
				return nil
			}
		}
		if !seen {
			return fmt.Errorf("%w: stream without an event", a2a.ErrInvalidAgentResponse)
		}
		return nil
	})
	if err == nil {
		return
	}
	if !seen {
		first.settle(ctx, nil, err)
	}
	select {
	case items <- streamItem{err: err}:
	case <-left:
	}
}

// guard turns a panic into an error. The handler runs in a goroutine of ours, where a panic would end the
// process instead of one request.
func guard(ctx context.Context, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error(ctx, "request handler panicked", fmt.Errorf("%v\n%s", r, debug.Stack()))
			err = fmt.Errorf("%w: %w", a2a.ErrInternalError, errPanicked)
		}
	}()
	return f()
}

// settle ends the first copy's time as "in progress" by what came out of it. Where the outcome is open,
// and where it can't be recorded, the row is given up, and the next copy has it looked up.
func (a *attempt) settle(ctx context.Context, result a2a.Event, err error) {
	var failed error
	switch {
	case err == nil && result != nil:
		failed = a.bindResult(ctx, result)
	case a.leftNothing(err):
		failed = a.ticket.Release(ctx)
	case errors.Is(err, errPanicked):
		a.ticket.lapse() // what is left of it may make a task yet
	}
	if failed != nil {
		log.Error(ctx, "deduplication row not settled", failed)
	}
	a.ticket.Leave()
}

func (a *attempt) bindResult(ctx context.Context, result a2a.Event) error {
	msg, ok := result.(*a2a.Message)
	if !ok {
		return a.bind(ctx, Binding{TaskID: result.TaskInfo().TaskID})
	}
	reply, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	return a.bind(ctx, Binding{Reply: reply})
}

func (a *attempt) bind(ctx context.Context, outcome Binding) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bound || !outcome.Known() {
		return nil
	}
	err := a.ticket.Bind(ctx, outcome)
	a.bound = err == nil
	return err
}

func (a *attempt) touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.touched = true
}

// leftNothing reports whether a send that ended with err is certain to have made or changed no task.
//
// With tracking that is so when it never began a write to the task store. The send is over by then: the
// context given to it has no end, so an error comes either from before the execution was started or
// from the end of it. Without tracking the error itself has to say that the message was refused.
func (a *attempt) leftNothing(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil, a.touched, a.bound, errors.Is(err, errPanicked):
		return false
	case a.tracked:
		return true
	}
	return slices.ContainsFunc(refusedByName, func(name error) bool { return errors.Is(err, name) })
}

// refusedByName are the errors by which an agent says that it did not take a message (A2A 1.0, section 3.3.2).
var refusedByName = []error{
	a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams,
	a2a.ErrTaskNotFound, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType,
	a2a.ErrPushNotificationNotSupported, a2a.ErrExtensionSupportRequired, a2a.ErrVersionNotSupported,
	a2a.ErrUnauthenticated, a2a.ErrUnauthorized,
}
