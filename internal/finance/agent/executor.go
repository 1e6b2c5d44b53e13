package agent

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// ErrClosed says that the agent is ending. What it was asked for is to be asked of the next one.
var ErrClosed = errors.New("the agent is ending")

// Executor runs reconciliations as A2A tasks. Its zero value is ready to use. It must not be copied once used.
type Executor struct {
	// Delay is the time from a message to the end of what it starts, or to the agent's question. Half of a
	// new task's passes before the work visibly starts. It makes the states of a task observable; the work
	// itself takes milliseconds.
	Delay time.Duration
	// Options is the policy of the reconciliations.
	Options finance.Options
	// Approval makes a task ask about each unusual adjustment. Without it they are only reported.
	Approval bool
	// Tasks finds the tasks that a message refers to; where it is nil, none is known.
	Tasks TaskReader
	// Journal records the steps; where it is nil, a task's steps end with the execution, and nothing can be replayed.
	Journal Journal
	// Ledger takes the postings; where it is nil, nothing is posted.
	Ledger Ledger

	runs    runs
	tracked bool
}

// TaskReader is the part of a task store that revisions need. It shows a caller's own tasks only.
type TaskReader interface {
	// Get returns a copy of the task, or an error where the caller has no such task.
	Get(ctx context.Context, id a2a.TaskID) (*taskstore.StoredTask, error)
}

var (
	_ a2asrv.AgentExecutor         = (*Executor)(nil)
	_ a2asrv.AgentExecutionCleaner = (*Executor)(nil)
)

// Track wraps the task store that the SDK writes to. With it no step of a new task is recorded or executed before the
// store has the task: a posting of a task that a crash leaves no trace of would be made again by the next copy of the
// message.
func (e *Executor) Track(tasks taskstore.Store) taskstore.Store {
	e.tracked = true
	return &trackedTasks{Store: tasks, runs: &e.runs}
}

// Execute implements [a2asrv.AgentExecutor]. Whatever goes wrong with the work is a state of the task,
// not an error: once there is a task, its state is what the client looks at.
func (e *Executor) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, run, ok := e.runs.begin(ctx, call.TaskID)
		if !ok {
			return // the cancellation has the last word
		}
		defer e.runs.end(call.TaskID)
		j := &job{Executor: e, ExecutorContext: call, run: run, journal: e.Journal, yield: yield}
		if j.journal == nil {
			j.journal = &MemoryJournal{}
		}
		defer j.flush(ctx)
		for _, step := range steps {
			if !step(ctx, j) {
				return
			}
		}
	}
}

// WaitsForStep is logged when a cancellation was taken: from then on no further step begins.
const WaitsForStep = "cancellation waits for the step under way"

// Cancel implements [a2asrv.AgentExecutor]. A step under way ends first: a posting that may have left is made, and
// recorded, and none follows. What was posted stays in the ledger, and the status says so: each posting is right by
// itself, and a ledger is corrected by further postings, which are for a person to decide.
func (e *Executor) Cancel(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		run := e.runs.cancel(call.TaskID)
		slog.InfoContext(ctx, WaitsForStep, "task", call.TaskID)
		select {
		case <-run.ended:
		case <-e.runs.done():
			yield(nil, ErrClosed)
			return
		}
		made, err := e.settle(ctx, call.TaskID, run.unsent)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCanceled, say(call, "Canceled on request."+kept(made))), nil)
	}
}

// Cleanup implements [a2asrv.AgentExecutionCleaner]. A cancellation is the call without a message.
func (e *Executor) Cleanup(ctx context.Context, call *a2asrv.ExecutorContext, result a2a.SendMessageResult, _ error) {
	if call.Message == nil {
		e.runs.forget(call.TaskID)
	}
	task, ok := result.(*a2a.Task)
	if !ok || !task.Status.State.Terminal() || e.Journal == nil {
		return
	}
	if err := e.Journal.Settle(ctx, task.ID); err != nil {
		slog.WarnContext(ctx, "steps of a finished task not dropped", "task", task.ID, "cause", err)
	}
}

// Close ends all executions at the next point where they can be resumed from, and waits for that until ctx is done.
// Further ones don't begin.
func (e *Executor) Close(ctx context.Context) error { return e.runs.close(ctx) }

// say makes the agent's message that goes with a state.
func say(task a2a.TaskInfoProvider, text string) *a2a.Message {
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart(text))
}
