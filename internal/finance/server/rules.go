package server

import (
	"context"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// rules refuses messages that the specification has refused, by the error that it names. The SDK refuses
// them as well, or fails on them, with errors that say less.
type rules struct{ a2asrv.RequestHandler }

// SendMessage implements [a2asrv.RequestHandler].
func (r *rules) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	if err := r.check(ctx, req); err != nil {
		return nil, err
	}
	return r.RequestHandler.SendMessage(ctx, req)
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (r *rules) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if err := r.check(ctx, req); err != nil {
			yield(nil, err)
			return
		}
		r.RequestHandler.SendStreamingMessage(ctx, req)(yield)
	}
}

// check leaves malformed requests to the SDK. A message to a task that is working is refused too: the
// specification leaves it to the agent, and this one takes nothing in while it works.
func (r *rules) check(ctx context.Context, req *a2a.SendMessageRequest) error {
	if req == nil || req.Message == nil {
		return nil
	}
	msg := req.Message
	if req.Config != nil && req.Config.PushConfig != nil { // section 3.3.4
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
