package dedup

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"
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
	store     Store
	retention time.Duration
	now       func() time.Time
	tracked   bool
}

var _ a2asrv.RequestHandler = (*Handler)(nil)

// Option changes how a [Handler] works.
type Option func(*Handler)

// WithRetention sets how long a message is remembered; [DefaultRetention] otherwise.
func WithRetention(d time.Duration) Option { return func(h *Handler) { h.retention = d } }

// WithClock replaces the clock that rows expire by.
func WithClock(now func() time.Time) Option { return func(h *Handler) { h.now = now } }

// WithTracking says that the wrapped handler keeps its tasks in a store wrapped by [TrackTasks], and in
// no other. Then a row is bound in the moment its task is created, and a send that failed without a
// write to the task store is known to have left nothing behind, whatever its error says.
func WithTracking() Option { return func(h *Handler) { h.tracked = true } }

// NewHandler puts the table in front of next.
func NewHandler(next a2asrv.RequestHandler, store Store, options ...Option) *Handler {
	h := &Handler{RequestHandler: next, store: store, retention: DefaultRetention, now: time.Now}
	for _, option := range options {
		option(h)
	}
	return h
}

// SendMessage implements [a2asrv.RequestHandler]. Besides the wrapped handler's errors it returns
// ErrMismatch, ErrInProgress and the errors of the store; after one of the latter nothing was executed.
func (h *Handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	key, ok := keyOf(ctx, req)
	if !ok {
		return h.RequestHandler.SendMessage(ctx, req)
	}
	known, err := h.claim(ctx, key, req)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		return h.replay(ctx, req, *known)
	}
	return h.sendFirst(ctx, key, req)
}

// SendStreamingMessage implements [a2asrv.RequestHandler]; its errors are those of SendMessage.
func (h *Handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	key, ok := keyOf(ctx, req)
	if !ok {
		return h.RequestHandler.SendStreamingMessage(ctx, req)
	}
	return func(yield func(a2a.Event, error) bool) {
		known, err := h.claim(ctx, key, req)
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
			h.streamFirst(ctx, key, req, yield)
		}
	}
}

// claim decides whether this copy is the first: then it returns neither a binding nor an error. For a
// repeat it returns the first copy's outcome.
func (h *Handler) claim(ctx context.Context, key Key, req *a2a.SendMessageRequest) (*Binding, error) {
	digest, err := Digest(req.Message)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	row, inserted, err := h.store.Insert(ctx, key, digest, h.now(), h.retention)
	switch {
	case err != nil:
		// Not executed, since nothing would protect it. The cause is for the log: it may name machines.
		log.Error(ctx, "deduplication table failed", err)
		return nil, a2a.NewError(fmt.Errorf("%w: %w", a2a.ErrInternalError, err), "deduplication table is not available")
	case inserted:
		return nil, nil
	case row.Digest != digest:
		return nil, mismatch(key)
	case !row.Binding.Known():
		noteInProgress(ctx)
		return nil, inProgress(key)
	}
	return &row.Binding, nil
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
