package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// oneTask is a handler that knows one task, in a state that the test sets, and refuses every send.
type oneTask struct {
	a2asrv.RequestHandler
	state    atomic.Value
	failures atomic.Int32 // of cancellations, before one succeeds
}

var errRefused = errors.New("refused")

func (o *oneTask) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return &a2a.Task{ID: "t-5a", ContextID: "c", Status: a2a.TaskStatus{State: o.state.Load().(a2a.TaskState)}}, nil
}

func (o *oneTask) SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return nil, errRefused
}

func (o *oneTask) CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if o.failures.Add(-1) >= 0 {
		return nil, a2a.ErrTaskNotCancelable
	}
	return &a2a.Task{ID: "t-5a"}, nil
}

func waitingTask() (*rules, *oneTask, *a2a.SendMessageRequest) {
	handler := &oneTask{}
	handler.state.Store(a2a.TaskStateInputRequired)
	return &rules{RequestHandler: handler, turns: newTurns()}, handler, answer("m-72", &a2a.Task{ID: "t-5a"}, a2a.NewTextPart("approve"))
}

// An answer that waits behind another one is told as soon as that one is being worked on, not at the end of
// the work.
func TestLateAnswerIsRefusedWhenTheWorkBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, handler, req := waitingTask()
		r.turns.begin("t-5a")
		late := make(chan error, 1)
		go func() {
			_, err := r.SendMessage(t.Context(), req)
			late <- err
		}()
		synctest.Wait()
		r.turns.change("t-5a") // of something else than the state
		synctest.Wait()
		select {
		case err := <-late:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		handler.state.Store(a2a.TaskStateWorking)
		r.turns.change("t-5a")
		if err := <-late; !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAnswerWaitsForTheEndOfTheRunThatAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, req := waitingTask()
		r.turns.begin("t-5a")
		impatient, giveUp := context.WithCancel(t.Context())
		gone, fast := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := r.SendMessage(impatient, req)
			gone <- err
		}()
		go func() {
			_, err := r.SendMessage(t.Context(), req)
			fast <- err
		}()
		synctest.Wait()
		giveUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("client that gave up: %v", err)
		}
		r.turns.end("t-5a")
		if err := <-fast; !errors.Is(err, errRefused) {
			t.Errorf("error %v, want that of the handler behind", err)
		}
		if _, ok := r.turns.take("t-5a"); !ok {
			t.Error("the refused message kept the turn")
		}
	})
}

// The turn of a run that began is the run's to end, whatever becomes of the send.
func TestTurnOfARun(t *testing.T) {
	turns := newTurns()
	if _, ok := turns.take("t-5a"); !ok {
		t.Fatal("no turn")
	}
	turns.begin("t-5a")
	turns.giveBack("t-5a")
	if _, ok := turns.take("t-5a"); ok {
		t.Error("the turn was given back under the run")
	}
	turns.end("t-5a")
	turns.end("t-5a")
	turns.giveBack("t-5a")
	turns.change("t-5a")
	if len(turns.taken) != 0 {
		t.Errorf("%d turns left", len(turns.taken))
	}
}

// What changes in the store is what waiting messages hear of.
func TestStoredChangeIsAnnounced(t *testing.T) {
	tasks := &announcedTasks{Store: taskstore.NewInMemory(nil), turns: newTurns()}
	task := &a2a.Task{ID: "t-5a", ContextID: "c"}
	if _, err := tasks.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	tasks.turns.begin(task.ID)
	changed, _ := tasks.turns.take(task.ID)
	if _, err := tasks.Update(t.Context(), &taskstore.UpdateRequest{Task: task}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("no word of the change")
	}
}

// A cancellation that comes just when the agent asks succeeds all the same; one that can't is given up.
func TestCancelIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, handler, _ := waitingTask()
		for failures, want := range map[int32]error{0: nil, cancelTries - 1: nil, cancelTries: a2a.ErrTaskNotCancelable} {
			handler.failures.Store(failures)
			if _, err := r.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "t-5a"}); !errors.Is(err, want) {
				t.Errorf("after %d failures: error %v, want %v", failures, err, want)
			}
		}
		handler.failures.Store(2)
		handler.state.Store(a2a.TaskStateCompleted)
		if _, err := r.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "t-5a"}); !errors.Is(err, a2a.ErrTaskNotCancelable) || handler.failures.Load() != 1 {
			t.Errorf("completed task: error %v", err)
		}
	})
}
