package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// laggingTasks hides a new task from listings for a while, as an index does that is filled in the
// background. Everything else shows the task at once.
type laggingTasks struct {
	taskstore.Store
	lag time.Duration

	mu     sync.Mutex
	hidden map[a2a.TaskID]time.Time // until when
}

func newLaggingTasks(tasks taskstore.Store, lag time.Duration) *laggingTasks {
	return &laggingTasks{Store: tasks, lag: lag, hidden: make(map[a2a.TaskID]time.Time)}
}

// Create implements [taskstore.Store].
func (l *laggingTasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	l.mu.Lock()
	l.hidden[task.ID] = time.Now().Add(l.lag) // before it can be listed
	l.mu.Unlock()
	return l.Store.Create(ctx, task)
}

// List implements [taskstore.Store]. A page may come out shorter than was asked for.
func (l *laggingTasks) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	page, err := l.Store.List(ctx, req)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := len(page.Tasks)
	page.Tasks = slices.DeleteFunc(page.Tasks, func(task *a2a.Task) bool { return l.hides(task.ID) })
	page.TotalSize -= all - len(page.Tasks)
	return page, nil
}

// hides needs the lock held. It forgets a task that shows.
func (l *laggingTasks) hides(id a2a.TaskID) bool {
	until, ok := l.hidden[id]
	if ok && !time.Now().Before(until) {
		delete(l.hidden, id)
		return false
	}
	return ok
}
