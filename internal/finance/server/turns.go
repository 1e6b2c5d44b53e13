package server

import (
	"context"
	"iter"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

// turns lets one message at a time work on a task. The SDK fails with an internal error on a message that
// comes while the run that asked for it is winding up, as a fast client's does, and on one of two answers
// that come together. With turns the first waits a moment, and the second learns that it came too late.
type turns struct {
	mu    sync.Mutex
	taken map[a2a.TaskID]*turn
}

type turn struct {
	begun   bool          // the agent has been started, and will end the turn
	changed chan struct{} // closed at the task's next change, or at the end of the turn
}

func newTurns() *turns { return &turns{taken: make(map[a2a.TaskID]*turn)} }

// take gives the caller the turn at a task if nobody has it, and otherwise a channel to wait on before
// another try.
func (t *turns) take(id a2a.TaskID) (changed <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, busy := t.taken[id]; busy {
		return other.changed, false
	}
	t.taken[id] = &turn{changed: make(chan struct{})}
	return nil, true
}

// begin marks the turn as the agent's, and takes it for a task that is new.
func (t *turns) begin(id a2a.TaskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[id] == nil {
		t.taken[id] = &turn{changed: make(chan struct{})}
	}
	t.taken[id].begun = true
}

// giveBack ends a turn that the agent was not started in.
func (t *turns) giveBack(id a2a.TaskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.taken[id]; own != nil && !own.begun {
		t.endLocked(id)
	}
}

func (t *turns) end(id a2a.TaskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(id)
}

func (t *turns) endLocked(id a2a.TaskID) {
	if own := t.taken[id]; own != nil {
		close(own.changed)
		delete(t.taken, id)
	}
}

// change wakes those who wait for a turn at a task, since its state may tell them now not to.
func (t *turns) change(id a2a.TaskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.taken[id]; own != nil {
		close(own.changed)
		own.changed = make(chan struct{})
	}
}

// takingTurns is the executor whose runs are turns. It also tells the ledger of direct replies, which no
// task store sees.
type takingTurns struct {
	*agent.Executor
	turns  *turns
	ledger *ledger
}

// Execute implements [a2asrv.AgentExecutor].
func (e *takingTurns) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		e.turns.begin(call.TaskID)
		for event, err := range e.Executor.Execute(ctx, call) {
			if _, direct := event.(*a2a.Message); direct {
				e.ledger.note(ctx, call.Message.ID, func(r *Record) { r.Replied++ })
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// Cleanup implements [a2asrv.AgentExecutionCleaner]. The SDK calls it once after each run, when a new
// message would start another one. A cancellation, which has no message, is no turn.
func (e *takingTurns) Cleanup(ctx context.Context, call *a2asrv.ExecutorContext, result a2a.SendMessageResult, err error) {
	e.Executor.Cleanup(ctx, call, result, err)
	if call.Message != nil {
		e.turns.end(call.TaskID)
	}
}

// announcedTasks says when a task has changed.
type announcedTasks struct {
	taskstore.Store
	turns *turns
}

// Update implements [taskstore.Store].
func (a *announcedTasks) Update(ctx context.Context, update *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	version, err := a.Store.Update(ctx, update)
	if err == nil {
		a.turns.change(update.Task.ID)
	}
	return version, err
}
