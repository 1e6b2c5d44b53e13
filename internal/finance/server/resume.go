// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

// resumeWait is the time between two tries to go on with a task.
const resumeWait = time.Second

// resume goes on with the tasks that an earlier process was at work on, and enters all that it stored into the ledger of
// messages. It takes the turns of these tasks before it returns, so that no message comes in between.
func (s *Server) resume(ctx context.Context, sdk a2asrv.RequestHandler, turns *turns, messages *ledger) error {
	if s.storage.stored == nil {
		return nil
	}
	for stored, err := range s.storage.stored.All(ctx) {
		if err != nil {
			return err
		}
		messages.restore(stored)
		message := agent.Interrupted(stored.Task)
		if message == nil {
			continue
		}
		turns.take(message.TaskID)
		s.running.Go(func() { goOn(ctx, sdk, turns, stored.User, message) })
	}
	return nil
}

// goOn has the SDK execute a task with the message that it has already, until there is nothing to be gone on with.
func goOn(ctx context.Context, sdk a2asrv.RequestHandler, turns *turns, user string, message *a2a.Message) {
	for ctx.Err() == nil {
		slog.InfoContext(ctx, "going on with a task", "task", message.TaskID, "message", message.ID)
		_, err := sdk.SendMessage(asUser(agent.Resumed(ctx), user), &a2a.SendMessageRequest{Message: message})
		turns.giveBack(message.TaskID)
		task, failed := sdk.GetTask(asUser(ctx, user), &a2a.GetTaskRequest{ID: message.TaskID})
		if failed == nil && agent.Interrupted(task) == nil {
			return
		}
		slog.WarnContext(ctx, "a task does not go on", "task", message.TaskID, "cause", err)
		timer := time.NewTimer(resumeWait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// asUser is the context of a call by a stored task's user.
func asUser(ctx context.Context, user string) context.Context {
	ctx, call := a2asrv.NewCallContext(ctx, nil)
	call.User = &a2asrv.User{Name: user, Authenticated: user != anonymousUser}
	return ctx
}

// restore enters what is stored of an earlier process: the message that made the task, and those that it went on with.
func (l *ledger) restore(stored *taskstore.StoredTask) {
	ctx := asUser(context.Background(), stored.User)
	untaken := agent.Untaken(stored.Task)
	for i, msg := range stored.Task.History {
		if msg.Role != a2a.MessageRoleUser || msg == untaken {
			continue
		}
		l.note(ctx, msg.ID, func(r *Record) {
			if i > 0 {
				r.Continued++
				return
			}
			r.Accepted++
			r.TaskIDs = append(r.TaskIDs, stored.Task.ID)
		})
	}
}
