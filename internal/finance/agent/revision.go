package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// HowToRevise tells a sender how to have a finished report changed.
const HowToRevise = `For a revised report send a new message with the task's contextId, its id in referenceTaskIds and no taskId, and say what to leave out: ` +
	`"without the adjustment", "leave out bank fees", or a data part {"exclude": ["ADJ-1"]} with ids of rows or references. ` +
	`The tables need not be sent again.`

// resolve finds the tasks that the request refers to, and those that these revised in their turn: each
// needs what the one before it was given. A task of somebody else is not known here, nor told apart from
// one that never was.
func resolve(ctx context.Context, j *job) bool {
	seen := map[a2a.TaskID]bool{j.TaskID: true}
	next := request(j.history).ReferenceTasks
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		task, refusal := j.find(ctx, id)
		if refusal != "" {
			return j.end(a2a.TaskStateRejected, refusal)
		}
		j.revised = append(j.revised, task)
		if first := request(task.History); first != nil {
			next = append(next, first.ReferenceTasks...)
		}
	}
	return true
}

// find returns the task, or why it can't be revised.
func (j *job) find(ctx context.Context, id a2a.TaskID) (task *a2a.Task, refusal string) {
	if j.Tasks == nil {
		return nil, fmt.Sprintf("The task %q in referenceTaskIds is not known.", clip(string(id), maxName))
	}
	stored, err := j.Tasks.Get(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("The task %q in referenceTaskIds is not known.", clip(string(id), maxName))
	case stored.Task.ContextID != j.ContextID:
		return nil, fmt.Sprintf("The task %s in referenceTaskIds is in another context: send its contextId with the message.", id)
	case !stored.Task.Status.State.Terminal():
		return nil, fmt.Sprintf("The task %s in referenceTaskIds is not finished, so there is no report to revise yet.", id)
	}
	return stored.Task, ""
}

// revises are the tasks that the request itself refers to.
func (j *job) revises() []string {
	var ids []string
	for _, id := range request(j.history).ReferenceTasks {
		if !slices.Contains(ids, string(id)) {
			ids = append(ids, string(id))
		}
	}
	return ids
}

// request is the message that made the task of this history, or nil.
func request(history []*a2a.Message) *a2a.Message {
	if len(history) == 0 {
		return nil
	}
	return history[0]
}
