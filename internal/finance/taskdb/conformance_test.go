// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"github.com/google/go-cmp/cmp"
)

type userKey struct{}

func as(t *testing.T, user string) context.Context {
	return context.WithValue(t.Context(), userKey{}, user)
}

var errNobody = errors.New("nobody")

// caller is the authenticator of all stores.
func caller(ctx context.Context) (string, error) {
	user, ok := ctx.Value(userKey{}).(string)
	if !ok {
		return "", errNobody
	}
	return user, nil
}

// clock gives each call a time of its own, or the same to all.
func clock(step time.Duration) func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(step)
		return now
	}
}

// onEachStore runs a test on the SDK's store, which is the standard, and on ours.
func onEachStore(t *testing.T, step time.Duration, test func(t *testing.T, store taskstore.Store)) {
	t.Run("SDK", func(t *testing.T) {
		test(t, taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: caller, TimeProvider: clock(step)}))
	})
	t.Run("SQLite", func(t *testing.T) {
		db, err := Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		tasks := db.Tasks(caller)
		tasks.now = clock(step)
		test(t, tasks)
	})
}

func at(day int) *time.Time {
	when := time.Date(2026, 9, day, 0, 0, 0, 123456789, time.UTC)
	return &when
}

// full is a task with something in every member.
func full(id a2a.TaskID) *a2a.Task {
	raw := a2a.NewRawPart([]byte{0, 1, 255})
	raw.Filename, raw.MediaType = "a.bin", "application/octet-stream"
	request := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("ü\x00<"), raw, a2a.NewDataPart(map[string]any{"a": []any{1.5, "b", true}}),
		a2a.NewFileURLPart("https://example.com/a", "text/csv"))
	request.ID, request.ReferenceTasks, request.Metadata = "m-71", []a2a.TaskID{"t-1"}, map[string]any{"k": map[string]any{"n": 1.0}}
	return &a2a.Task{
		ID: id, ContextID: "c-1", History: []*a2a.Message{request}, Metadata: map[string]any{"x": "y"},
		Status:    a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: at(3), Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("w"))},
		Artifacts: []*a2a.Artifact{{ID: "a", Name: "n", Description: "d", Parts: a2a.ContentParts{a2a.NewTextPart("x")}, Metadata: map[string]any{"y": "z"}}},
	}
}

func create(t *testing.T, store taskstore.Store, user string, tasks ...*a2a.Task) {
	t.Helper()
	for _, task := range tasks {
		if version, err := store.Create(as(t, user), task); err != nil || version != 1 {
			t.Fatalf("Create: version %d, %v", version, err)
		}
	}
}

func TestStoredAsGiven(t *testing.T) {
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		want := full("t-5a")
		create(t, store, "alice", want)
		got, err := store.Get(as(t, "alice"), "t-5a")
		if err != nil || got.Version != 1 || got.User != "alice" {
			t.Fatalf("Get: %+v, %v", got, err)
		}
		if diff := cmp.Diff(want, got.Task); diff != "" {
			t.Errorf("stored and given differ:\n%s", diff)
		}
		got.Task.ContextID, got.Task.History[0].ID = "changed", "changed" // a copy
		want.Metadata["x"] = "changed"
		if again, err := store.Get(as(t, "alice"), "t-5a"); err != nil || again.Task.ContextID != "c-1" || again.Task.History[0].ID != "m-71" || again.Task.Metadata["x"] != "y" {
			t.Errorf("what was given and got is shared with the store: %+v, %v", again.Task, err)
		}
	})
}

func TestErrors(t *testing.T) {
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		create(t, store, "alice", &a2a.Task{ID: "t-1", ContextID: "c"})
		alice, bob := as(t, "alice"), as(t, "bob")
		update := func(ctx context.Context, id a2a.TaskID, prev taskstore.TaskVersion) error {
			_, err := store.Update(ctx, &taskstore.UpdateRequest{Task: &a2a.Task{ID: id, ContextID: "c"}, PrevVersion: prev})
			return err
		}
		createAs := func(ctx context.Context, task *a2a.Task) error { _, err := store.Create(ctx, task); return err }
		get := func(ctx context.Context, id a2a.TaskID) error { _, err := store.Get(ctx, id); return err }
		list := func(ctx context.Context) error { _, err := store.List(ctx, &a2a.ListTasksRequest{}); return err }
		for _, test := range []struct {
			name      string
			got, want error
		}{
			{"created twice", createAs(alice, &a2a.Task{ID: "t-1"}), taskstore.ErrTaskAlreadyExists},
			{"created by another", createAs(bob, &a2a.Task{ID: "t-1"}), taskstore.ErrTaskAlreadyExists},
			{"get unknown", get(alice, "t-0"), a2a.ErrTaskNotFound},
			{"get another's", get(bob, "t-1"), a2a.ErrTaskNotFound},
			{"update unknown", update(alice, "t-0", 0), a2a.ErrTaskNotFound},
			{"update another's", update(bob, "t-1", 0), a2a.ErrTaskNotFound},
			{"update of a later one", update(alice, "t-1", 2), taskstore.ErrConcurrentModification},
			{"create as nobody", createAs(t.Context(), &a2a.Task{ID: "t-2"}), errNobody},
			{"update as nobody", update(t.Context(), "t-1", 0), errNobody},
			{"get as nobody", get(t.Context(), "t-1"), errNobody},
			{"list as nobody", list(t.Context()), a2a.ErrUnauthenticated},
			{"list as nameless", list(as(t, "")), a2a.ErrUnauthenticated},
			{"update", update(alice, "t-1", 1), nil},
			{"update of an earlier one", update(alice, "t-1", 1), taskstore.ErrConcurrentModification},
			{"update of any", update(alice, "t-1", 0), nil},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: %v, want %v", test.name, test.got, test.want)
			}
		}
		_, unstorable := store.Create(alice, &a2a.Task{ID: "t-3", Metadata: map[string]any{"f": func() {}}})
		if unstorable == nil {
			t.Error("a function was stored")
		}
	})
}

func TestVersions(t *testing.T) {
	onEachStore(t, time.Second, func(t *testing.T, store taskstore.Store) {
		create(t, store, "alice", &a2a.Task{ID: "t-1", ContextID: "c"})
		var group sync.WaitGroup
		var mu sync.Mutex
		versions, conflicts := map[taskstore.TaskVersion]bool{}, 0
		for range 20 {
			group.Go(func() {
				version, err := store.Update(as(t, "alice"), &taskstore.UpdateRequest{Task: &a2a.Task{ID: "t-1", ContextID: "c"}})
				_, conflict := store.Update(as(t, "alice"), &taskstore.UpdateRequest{Task: &a2a.Task{ID: "t-1", ContextID: "c"}, PrevVersion: 1})
				mu.Lock()
				defer mu.Unlock()
				versions[version] = err == nil
				if errors.Is(conflict, taskstore.ErrConcurrentModification) {
					conflicts++
				}
			})
		}
		group.Wait()
		if len(versions) != 20 || !versions[21] || versions[1] || conflicts != 20 {
			t.Errorf("versions %v, %d conflicts", versions, conflicts)
		}
	})
}
