// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

type resumedKey struct{}

// Resumed marks the context of a message that a run was at work on when its process ended: the next run goes on where
// the journal says that it was.
func Resumed(ctx context.Context) context.Context { return context.WithValue(ctx, resumedKey{}, true) }

// Interrupted returns the message that a run was at work on when its process ended, with the task's ids, or nil where
// there was no run: a task that has ended stays so, and one that waits for an answer waits.
func Interrupted(task *a2a.Task) *a2a.Message {
	var last *a2a.Message
	switch task.Status.State {
	case a2a.TaskStateSubmitted, a2a.TaskStateWorking:
		for _, msg := range slices.Backward(task.History) {
			if msg.Role == a2a.MessageRoleUser {
				last = msg
				break
			}
		}
	case a2a.TaskStateInputRequired:
		last = Untaken(task)
	}
	if last == nil {
		return nil
	}
	message := *last
	message.TaskID, message.ContextID = task.ID, task.ContextID
	return &message
}

// Untaken returns the answer that a stored task got although its state says that it waits: the SDK appended it to the
// history, and the process ended before the agent took it. Nil is the usual case.
func Untaken(task *a2a.Task) *a2a.Message {
	n := len(task.History)
	if task.Status.State != a2a.TaskStateInputRequired || n < 2 {
		return nil
	}
	// Between two messages that were taken there is a question.
	last, before := task.History[n-1], task.History[n-2]
	if last.Role != a2a.MessageRoleUser || before.Role != a2a.MessageRoleUser {
		return nil
	}
	return last
}
