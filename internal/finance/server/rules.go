package server

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// rules refuses messages that the specification has refused, by the error that it names. The SDK refuses
// them as well, or fails on them, with errors that say less.
type rules struct {
	a2asrv.RequestHandler
	turns *turns
	// push says that the agent takes configurations for push notifications.
	push bool
}

// SendMessage implements [a2asrv.RequestHandler].
func (r *rules) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	ctx, err := r.admit(ctx, req)
	if err != nil {
		return nil, err
	}
	result, err := r.RequestHandler.SendMessage(ctx, req)
	r.settle(req, err)
	return result, err
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (r *rules) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, err := r.admit(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		for event, err := range r.RequestHandler.SendStreamingMessage(ctx, req) {
			r.settle(req, err)
			if !yield(event, err) {
				return
			}
		}
	}
}

// admit checks a message, and waits for its turn if it is to a task. The context it returns then doesn't
// end with the caller's: a send that breaks off doesn't tell whether the agent is about to be started, and
// so whether the turn is to be given back.
func (r *rules) admit(ctx context.Context, req *a2a.SendMessageRequest) (context.Context, error) {
	if req == nil || req.Message == nil || req.Message.TaskID == "" {
		return ctx, r.check(ctx, req)
	}
	for {
		changed, mine := r.turns.take(req.Message.TaskID)
		err := r.check(ctx, req)
		switch {
		case err != nil && mine:
			r.turns.giveBack(req.Message.TaskID)
			return nil, err
		case err != nil:
			return nil, err
		case mine:
			return context.WithoutCancel(ctx), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settle gives back the turn of a message that was refused before the agent was started.
func (r *rules) settle(req *a2a.SendMessageRequest, err error) {
	if err != nil && req != nil && req.Message != nil {
		r.turns.giveBack(req.Message.TaskID)
	}
}

// cancelTries bounds how often a cancellation is tried; the waits between add up to 45 ms.
const cancelTries = 10

// CancelTask implements [a2asrv.RequestHandler]. The SDK fails on a task whose run is just ending in a
// question: it tells the run to end otherwise, which doesn't listen any more. A moment later it succeeds.
func (r *rules) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	for try := 1; ; try++ {
		task, err := r.RequestHandler.CancelTask(ctx, req)
		if err == nil || req == nil || try == cancelTries {
			return task, err
		}
		now, failed := r.GetTask(ctx, &a2a.GetTaskRequest{ID: req.ID, Tenant: req.Tenant})
		if failed != nil || now.Status.State.Terminal() {
			return task, err
		}
		timer := time.NewTimer(time.Duration(try) * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// check leaves malformed requests to the SDK. A message to a task that is working is refused too: the
// specification leaves it to the agent, and this one takes nothing in while it works.
func (r *rules) check(ctx context.Context, req *a2a.SendMessageRequest) error {
	if req == nil || req.Message == nil {
		return nil
	}
	msg := req.Message
	if msg.Role == a2a.MessageRoleAgent { // section 4.1.4; in a history it would pass for the agent's own
		return a2a.NewError(a2a.ErrInvalidParams, "the role of a client's message is ROLE_USER")
	}
	if !r.push && req.Config != nil && req.Config.PushConfig != nil { // section 3.3.4
		return a2a.ErrPushNotificationNotSupported
	}
	if err := storable(msg); err != nil {
		return err
	}
	if msg.TaskID == "" {
		return nil
	}
	task, err := r.GetTask(ctx, &a2a.GetTaskRequest{ID: msg.TaskID, Tenant: req.Tenant})
	if err != nil {
		return err // TaskNotFound, section 3.4.2
	}
	state := task.Status.State
	switch {
	case msg.ContextID != "" && msg.ContextID != task.ContextID: // section 3.4.3
		return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("contextId is not that of task %s", task.ID))
	case state.Terminal(): // section 3.1.1
		return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf(
			"task %s is in the terminal state %s: send a new message without taskId, with its id in referenceTaskIds", task.ID, state))
	case state != a2a.TaskStateInputRequired && state != a2a.TaskStateAuthRequired:
		return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf("task %s is in the state %s and waits for no message", task.ID, state))
	}
	return nil
}

// storable refuses null where any value may stand. The SDK's task store can't hold it and would fail
// after the message was taken, which looks to the sender like a send with no known outcome.
func storable(msg *a2a.Message) error {
	held := []any{msg.Metadata}
	for _, part := range msg.Parts {
		held = append(held, part.Metadata)
		if data, ok := part.Content.(a2a.Data); ok {
			held = append(held, data.Value)
		}
	}
	for _, value := range held {
		if hasNull(value) {
			return a2a.NewError(a2a.ErrInvalidParams, "null in data or metadata: leave the member out")
		}
	}
	return nil
}

func hasNull(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range v {
			if hasNull(member) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if hasNull(element) {
				return true
			}
		}
	}
	return false
}
