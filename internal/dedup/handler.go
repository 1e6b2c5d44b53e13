// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Handler deduplicates the messages sent to the request handler it wraps. Calls other than SendMessage
// and SendStreamingMessage go through untouched, and so do messages without an id: A2A 1.0 requires one,
// so the wrapped handler refuses them.
//
// It has to sit inside the call interceptors that name the user, since the user is half of the key:
//
//	&a2asrv.InterceptedHandler{
//		Handler:      dedup.NewHandler(a2asrv.NewHandler(executor), store),
//		Interceptors: []a2asrv.CallInterceptor{auth},
//	}
//
// A repeat answers with the task as it is now, also where the sender asked to wait for its end, and a
// repeated stream holds that one event: follow the task with GetTask or SubscribeToTask. A repeat's
// other wishes, such as a push notification address, are not looked at. Where the agent answered the
// first copy with a direct Message, that Message was stored and is the answer again.
type Handler struct {
	a2asrv.RequestHandler
	table   *Table
	tracked bool
	lookup  Lookup
}

var _ a2asrv.RequestHandler = (*Handler)(nil)

// HandlerOption changes how a [Handler] works. Every [Option] is one.
type HandlerOption interface{ applyTo(h *Handler) }

func (o Option) applyTo(h *Handler) { o(h.table) }

type handlerOption func(*Handler)

func (o handlerOption) applyTo(h *Handler) { o(h) }

// Lookup finds the outcome of a first copy that came to no known end, or whose process did. It returns
// false only where it is certain that the message has made no task and will make none: then the message
// is executed. An error, also one that only says that this is not certain, leaves the row as it is.
type Lookup func(ctx context.Context, key Key) (Binding, bool, error)

// WithLookup makes the handler ask find about messages whose outcome is open. Without it they are
// answered with ErrOutcomeUnknown until their rows expire.
func WithLookup(find Lookup) HandlerOption {
	return handlerOption(func(h *Handler) { h.lookup = find })
}

// WithTracking says that the wrapped handler keeps its tasks in a store wrapped by [TrackTasks], and in
// no other. Then a row is bound in the moment its task is created, and a send that failed without a
// write to the task store is known to have left nothing behind, whatever its error says.
func WithTracking() HandlerOption { return handlerOption(func(h *Handler) { h.tracked = true }) }

// NewHandler puts the table of store in front of next.
func NewHandler(next a2asrv.RequestHandler, store Store, options ...HandlerOption) *Handler {
	h := &Handler{RequestHandler: next, table: newTable(store)}
	for _, option := range options {
		option.applyTo(h)
	}
	return h
}

// Table is the handler's, for [Table.Sweep].
func (h *Handler) Table() *Table { return h.table }

// SendMessage implements [a2asrv.RequestHandler]. Besides the wrapped handler's errors it returns
// ErrMismatch, ErrInProgress, ErrOutcomeUnknown, and the errors of the store and of the [Lookup]; after one
// of these nothing was executed.
func (h *Handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	key, ok := keyOf(ctx, req)
	if !ok {
		return h.RequestHandler.SendMessage(ctx, req)
	}
	ticket, known, err := h.claim(ctx, key, req)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		return h.replay(ctx, req, *known)
	}
	return h.sendFirst(ctx, ticket, req)
}

// SendStreamingMessage implements [a2asrv.RequestHandler]; its errors are those of SendMessage.
func (h *Handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	key, ok := keyOf(ctx, req)
	if !ok {
		return h.RequestHandler.SendStreamingMessage(ctx, req)
	}
	return func(yield func(a2a.Event, error) bool) {
		ticket, known, err := h.claim(ctx, key, req)
		switch {
		case err != nil:
			yield(nil, err)
		case known != nil:
			if result, err := h.replay(ctx, req, *known); err != nil {
				yield(nil, err)
			} else {
				yield(result, nil)
			}
		default:
			h.streamFirst(ctx, ticket, req, yield)
		}
	}
}

// replay answers a repeat. A task that is gone by now gives TaskNotFound and is not made anew.
func (h *Handler) replay(ctx context.Context, req *a2a.SendMessageRequest, outcome Binding) (a2a.SendMessageResult, error) {
	if outcome.TaskID == "" {
		var reply a2a.Message
		if err := json.Unmarshal(outcome.Reply, &reply); err != nil {
			return nil, fmt.Errorf("%w: stored reply: %w", a2a.ErrInternalError, err)
		}
		return &reply, nil
	}
	get := &a2a.GetTaskRequest{ID: outcome.TaskID, Tenant: req.Tenant}
	if req.Config != nil {
		get.HistoryLength = req.Config.HistoryLength
	}
	task, err := h.GetTask(ctx, get)
	if err != nil {
		return nil, fmt.Errorf("task of an earlier copy of the message: %w", err)
	}
	return task, nil
}

// Principal is the name of the authenticated user of the call that ctx belongs to, and "" where there is
// none: names given to callers that nobody authenticated don't separate anything.
func Principal(ctx context.Context) string {
	call, ok := a2asrv.CallContextFrom(ctx)
	if !ok || call.User == nil || !call.User.Authenticated {
		return ""
	}
	return call.User.Name
}

func keyOf(ctx context.Context, req *a2a.SendMessageRequest) (Key, bool) {
	if req == nil || req.Message == nil || req.Message.ID == "" {
		return Key{}, false
	}
	return Key{Principal: Principal(ctx), MessageID: req.Message.ID}, true
}
