package agent

import (
	"context"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// Executor runs reconciliations as A2A tasks. Its zero value is ready to use.
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
}

// TaskReader is the part of a task store that revisions need. It shows a caller's own tasks only.
type TaskReader interface {
	// Get returns a copy of the task, or an error where the caller has no such task.
	Get(ctx context.Context, id a2a.TaskID) (*taskstore.StoredTask, error)
}

var _ a2asrv.AgentExecutor = (*Executor)(nil)

// Execute implements [a2asrv.AgentExecutor]. Whatever goes wrong with the work is a state of the task,
// not an error: once there is a task, its state is what the client looks at.
func (e *Executor) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		j := &job{Executor: e, ExecutorContext: call, yield: yield}
		for _, step := range steps {
			if !step(ctx, j) {
				return
			}
		}
	}
}

// Cancel implements [a2asrv.AgentExecutor]. The SDK ends the context of a running Execute once the task is
// in its canceled state, so nothing else has to be told.
func (e *Executor) Cancel(_ context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCanceled, say(call, "Canceled on request.")), nil)
	}
}

// say makes the agent's message that goes with a state.
func say(task a2a.TaskInfoProvider, text string) *a2a.Message {
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart(text))
}
