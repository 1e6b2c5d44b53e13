// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// runs are the tasks that are being worked on or canceled in this process. The SDK has one of each per task at most.
type runs struct {
	mu      sync.Mutex
	active  map[a2a.TaskID]*execution
	closing chan struct{} // closed by close; made by the first who asks
	closed  bool
	working sync.WaitGroup
}

type execution struct {
	stop     context.CancelFunc // nil while nothing is executed
	ended    chan struct{}      // closed when the execution has ended
	created  chan struct{}      // closed when the task store has the task
	canceled bool
	unsent   bool // the last recorded posting can't have reached the ledger; to be read once ended is closed
}

// get returns the task's entry; the caller holds the lock.
func (r *runs) get(id a2a.TaskID) *execution {
	if r.active == nil {
		r.active = make(map[a2a.TaskID]*execution)
	}
	one, ok := r.active[id]
	if !ok {
		one = &execution{ended: make(chan struct{}), created: make(chan struct{})}
		r.active[id] = one
	}
	return one
}

// begin enters an execution. It returns false for a task that is being canceled, and when all is to end.
func (r *runs) begin(ctx context.Context, id a2a.TaskID) (context.Context, *execution, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ctx, nil, false
	}
	one := r.get(id)
	if one.canceled {
		return ctx, nil, false
	}
	ctx, one.stop = context.WithCancel(ctx)
	r.working.Add(1)
	return ctx, one, true
}

func (r *runs) end(id a2a.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.get(id)
	one.stop()
	one.stop = nil
	close(one.ended)
	if !one.canceled {
		delete(r.active, id)
	}
	r.working.Done()
}

// cancel stops the task's execution, and keeps others from beginning until forget is called. What it returns has ended
// once nothing is executed.
func (r *runs) cancel(id a2a.TaskID) *execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.get(id)
	one.canceled = true
	if one.stop != nil {
		one.stop()
		return one
	}
	idle := &execution{ended: make(chan struct{})}
	close(idle.ended)
	return idle
}

// forget ends a cancellation.
func (r *runs) forget(id a2a.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.active[id]; one != nil {
		one.canceled = false
		if one.stop == nil {
			delete(r.active, id)
		}
	}
}

func (r *runs) noteCreated(id a2a.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.active[id]; one != nil {
		close(one.created)
	}
}

// done is closed when all is to end.
func (r *runs) done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doneLocked()
}

func (r *runs) doneLocked() chan struct{} {
	if r.closing == nil {
		r.closing = make(chan struct{})
	}
	return r.closing
}

// close stops everything, and waits until it has ended or ctx is done.
func (r *runs) close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.doneLocked())
	}
	for _, one := range r.active {
		if one.stop != nil {
			one.stop()
		}
	}
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() { r.working.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// trackedTasks tells of tasks that the store has.
type trackedTasks struct {
	taskstore.Store
	runs *runs
}

// Create implements [taskstore.Store].
func (t *trackedTasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	version, err := t.Store.Create(ctx, task)
	if err == nil {
		t.runs.noteCreated(task.ID)
	}
	return version, err
}
