package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// A new task is found by its id at once and by listings not yet.
func TestListLag(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.ListLag = time.Hour }, func(ctx context.Context, t *testing.T, p *peer) {
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.until(ctx, t, task.ID, a2a.TaskStateCompleted)
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
		if err != nil || len(list.Tasks) != 0 || list.TotalSize != 0 {
			t.Errorf("ListTasks: %+v, %v", list, err)
		}
	})
}

func TestListLagPasses(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.ListLag = 50 * time.Millisecond }, func(ctx context.Context, t *testing.T, p *peer) {
		start := time.Now()
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		for {
			list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
			if err != nil {
				t.Fatalf("ListTasks: %v", err)
			}
			if len(list.Tasks) == 1 && list.Tasks[0].ID == task.ID && list.TotalSize == 1 {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		if took := time.Since(start); took < 50*time.Millisecond {
			t.Errorf("listed after %v", took)
		}
	})
}

// Old tasks are listed beside new ones that are not.
func TestListLagByTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := newLaggingTasks(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
			Authenticator: func(context.Context) (string, error) { return "jane", nil },
		}), time.Minute)
		create := func(id a2a.TaskID) {
			t.Helper()
			if _, err := tasks.Create(t.Context(), &a2a.Task{ID: id, ContextID: "c"}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(ids ...a2a.TaskID) {
			t.Helper()
			list, err := tasks.List(t.Context(), &a2a.ListTasksRequest{})
			if err != nil || len(list.Tasks) != len(ids) || list.TotalSize != len(ids) {
				t.Fatalf("listed %+v, %v, want %v", list, err, ids)
			}
			for i, task := range list.Tasks {
				if task.ID != ids[i] {
					t.Errorf("listed %s, want %s", task.ID, ids[i])
				}
			}
		}
		create("t-1")
		want()
		time.Sleep(40 * time.Second)
		create("t-2")
		want()
		time.Sleep(20 * time.Second)
		want("t-1")
		time.Sleep(40 * time.Second)
		want("t-2", "t-1")
	})
}
