// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"github.com/a2aproject/a2a-go/v2/log"
)

// TrackTasks wraps the task store of the handler behind a [Handler] made with [WithTracking]. It binds
// the message to its task as soon as the store has the task, rather than when the send returns: a send
// may wait for the end of the task, and its repeats find the task all that time.
//
// In between lies one write to the task store. A process that dies there leaves an inserted row and a
// task; only a store that holds both in one transaction could do better.
func TrackTasks(tasks taskstore.Store) taskstore.Store {
	return &trackedTasks{Store: tasks}
}

type trackedTasks struct{ taskstore.Store }

// Create implements [taskstore.Store].
func (t *trackedTasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	first := attemptFrom(ctx)
	if first == nil || task == nil {
		return t.Store.Create(ctx, task)
	}
	first.touch()
	version, err := t.Store.Create(ctx, task)
	if err == nil {
		first.bindTo(ctx, task.ID)
	}
	return version, err
}

// Update implements [taskstore.Store]. The first update under a send is the one that puts a continuing
// message into its task's history.
func (t *trackedTasks) Update(ctx context.Context, update *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	first := attemptFrom(ctx)
	if first == nil || update == nil || update.Task == nil {
		return t.Store.Update(ctx, update)
	}
	first.touch()
	version, err := t.Store.Update(ctx, update)
	if err == nil {
		first.bindTo(ctx, update.Task.ID)
	}
	return version, err
}

// bindTo does not report its error to the task store's caller: the task is stored, and failing it now
// would be worse than a row bound a little later, by the next update or by the send's answer.
func (a *attempt) bindTo(ctx context.Context, id a2a.TaskID) {
	if err := a.bind(ctx, Binding{TaskID: id}); err != nil {
		log.Error(ctx, "deduplication row not bound yet", err)
	}
}
