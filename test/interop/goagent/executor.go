// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// executor works on messages.
type executor struct {
	ledger *ledger
	gates  *gates
}

// Execute implements a2asrv.AgentExecutor.
func (e *executor) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		publish := func(event a2a.Event) bool { return yield(event, nil) }
		e.ledger.note(call.Message.ID, func(r *record) { r.Executed++ })
		if call.StoredTask != nil {
			e.ledger.note(call.Message.ID, func(r *record) { r.Continued++ })
			finish(call, "The answer is: "+textOf(call.Message), publish)
			return
		}
		word, argument := command(call.Message)
		if word == "reply" {
			e.ledger.note(call.Message.ID, func(r *record) { r.Replied++ })
			publish(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("pong")))
			return
		}
		if word == "throw" {
			yield(nil, errThrown) // and the SDK makes no task
			return
		}
		e.ledger.note(call.Message.ID, func(r *record) {
			r.Accepted++
			r.TaskIDs = append(r.TaskIDs, call.TaskID)
		})
		// The SDK keeps the message in the task's history only where the task is published with it.
		if !publish(a2a.NewSubmittedTask(call, call.Message)) {
			return
		}
		if word == "wait" {
			e.wait(ctx, call, publish)
			return
		}
		behave, known := behaviours[word]
		if !known {
			publish(state(call, a2a.TaskStateFailed, fmt.Sprintf("unknown command %q", word)))
			return
		}
		behave(ctx, call, argument, publish)
	}
}

// wait works until the task is released or canceled.
func (e *executor) wait(ctx context.Context, task a2a.TaskInfoProvider, publish func(a2a.Event) bool) {
	released := e.gates.add(task.TaskInfo().TaskID)
	if !publish(state(task, a2a.TaskStateWorking, "")) {
		return
	}
	select {
	case <-released:
		finish(task, "42", publish)
	case <-ctx.Done():
	}
}

// Cancel implements a2asrv.AgentExecutor. The SDK ends the context of the execution.
func (*executor) Cancel(_ context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(state(call, a2a.TaskStateCanceled, ""), nil) }
}
