package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// HowToRevise tells a sender how to have a finished report changed.
const HowToRevise = `For a revised report send a new message with the task's contextId, its id in referenceTaskIds and no taskId, and say what to leave out: ` +
	`"without the adjustment", "leave out bank fees", or a data part {"exclude": ["ADJ-1"]} with ids of rows or references. ` +
	`The tables need not be sent again.`

// given is what a task works on.
type given struct {
	Inputs
	// Revises are the tasks that the request refers to.
	Revises []string
	// Decided and Posted are what the tasks that this one revises decided and posted on the same ledger.
	Decided map[string]finance.Decision
	Posted  []finance.Posting
}

// read collects what the task works on. Nothing of it can change later: the tasks that it revises have ended.
func read(ctx context.Context, j *job) (ok bool) {
	j.given, ok = perform(ctx, j, KindRead, request(j.history).ID, func(string) (given, bool) {
		revised, ok := j.resolve(ctx)
		if !ok {
			return given{}, false
		}
		earlier := make([]*a2a.Message, 0, len(revised))
		for _, task := range revised {
			earlier = append(earlier, request(task.History))
		}
		inputs, err := ReadInputs(request(j.history), earlier...)
		if err != nil {
			return given{}, j.end(a2a.TaskStateRejected, sentence(err)+" "+HowToSend)
		}
		sameLedger := revised[:inputs.LedgerFrom]
		g := given{Inputs: inputs, Revises: j.revises(), Decided: make(map[string]finance.Decision)}
		for _, task := range slices.Backward(sameLedger) { // the nearest has the last word
			decide(task.History, g.Decided)
		}
		g.Posted, ok = j.posted(ctx, sameLedger)
		return g, ok
	})
	return ok
}

// posted are the postings of the tasks.
func (j *job) posted(ctx context.Context, tasks []*a2a.Task) ([]finance.Posting, bool) {
	var all []finance.Posting
	for _, task := range tasks {
		var made []Made
		ok := j.insist(ctx, "read the postings of a task that is revised", func() error {
			steps, err := j.journal.Steps(ctx, task.ID)
			if err != nil {
				return err
			}
			made, err = madeOf(steps)
			return err
		})
		if !ok {
			return nil, false
		}
		for _, m := range made {
			all = append(all, m.Posting)
		}
	}
	return all, true
}

// resolve finds the tasks that the request refers to, nearest first, and those that these revised in their turn: each
// needs what the one before it was given. A task of somebody else is not known here, nor told apart from one that
// never was.
func (j *job) resolve(ctx context.Context) (revised []*a2a.Task, ok bool) {
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
			return nil, j.end(a2a.TaskStateRejected, refusal)
		}
		revised = append(revised, task)
		if first := request(task.History); first != nil {
			next = append(next, first.ReferenceTasks...)
		}
	}
	return revised, true
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
