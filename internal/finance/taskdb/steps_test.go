// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

// onEachJournal runs a test on the journal in memory and on ours, both with the task t-1.
func onEachJournal(t *testing.T, test func(t *testing.T, journal agent.Journal)) {
	t.Run("memory", func(t *testing.T) { test(t, &agent.MemoryJournal{}) })
	t.Run("file", func(t *testing.T) {
		db, err := Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		create(t, db.Tasks(caller), "alice", &a2a.Task{ID: "t-1", ContextID: "c"})
		test(t, db.Journal())
	})
}

func trail(t *testing.T, journal agent.Journal) string {
	t.Helper()
	steps, err := journal.Steps(t.Context(), "t-1")
	if err != nil {
		t.Fatal(err)
	}
	text := func(value any) string {
		if raw, ok := value.(json.RawMessage); ok {
			return string(raw)
		}
		if value == nil {
			return ""
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	var out []string
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%d %s %s>%s %v", s.Number, s.Kind, text(s.Input), text(s.Result), s.Done))
	}
	return strings.Join(out, "; ")
}

func TestJournal(t *testing.T) {
	planned := func(n int, kind, input string) agent.Step { return agent.Step{Number: n, Kind: kind, Input: input} }
	ended := func(n int, kind, result string) agent.Step {
		return agent.Step{Number: n, Kind: kind, Done: true, Result: result}
	}
	onEachJournal(t, func(t *testing.T, journal agent.Journal) {
		for _, test := range []struct {
			name  string
			steps []agent.Step
			want  error
			trail string
		}{
			{"nothing", nil, nil, ""},
			{"end of none", []agent.Step{ended(1, "a", "r")}, agent.ErrJournal, ""},
			{"first", []agent.Step{planned(1, "a", "i")}, nil, `1 a "i"> false`},
			{"first again", []agent.Step{planned(1, "a", "other")}, agent.ErrJournal, `1 a "i"> false`},
			{"end of another kind", []agent.Step{ended(1, "b", "r")}, agent.ErrJournal, `1 a "i"> false`},
			{"all or none", []agent.Step{ended(1, "a", "r"), ended(2, "b", "r")}, agent.ErrJournal, `1 a "i"> false`},
			{"end and next", []agent.Step{ended(1, "a", "r"), planned(2, agent.KindPost, "p")}, nil, `1 a "i">"r" true; 2 post "p"> false`},
			{"end again", []agent.Step{ended(1, "a", "other")}, agent.ErrJournal, `1 a "i">"r" true; 2 post "p"> false`},
			{"end", []agent.Step{ended(2, agent.KindPost, "q")}, nil, `1 a "i">"r" true; 2 post "p">"q" true`},
		} {
			if err := journal.Write(t.Context(), "t-1", test.steps...); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
			if got := trail(t, journal); got != test.trail {
				t.Errorf("%s: %s, want %s", test.name, got, test.trail)
			}
		}
		for range 2 {
			if err := journal.Settle(t.Context(), "t-1"); err != nil {
				t.Fatal(err)
			}
			if got := trail(t, journal); !strings.HasSuffix(got, `2 post "p">"q" true`) || strings.Contains(got, `"r"`) {
				t.Errorf("settled: %s", got)
			}
		}
	})
}

// A step can't be recorded of a task that the store doesn't have: after a crash nobody would find it.
func TestStepOfNoTask(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Journal().Write(t.Context(), "t-0", agent.Step{Number: 1, Kind: "a"}); err == nil {
		t.Error("a step of a task that isn't there was recorded")
	}
}

func TestFileKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for state, id := range map[a2a.TaskState]a2a.TaskID{a2a.TaskStateCompleted: "t-done", a2a.TaskStateWorking: "t-1"} {
		task := full(id)
		task.Status.State = state
		create(t, db.Tasks(caller), "alice", task)
		if err := db.Journal().Write(t.Context(), id, agent.Step{Number: 1, Kind: "a", Input: "i"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids := []string{}
	for stored, err := range db.All(t.Context()) {
		if err != nil || stored.User != "alice" || stored.Version != 1 {
			t.Errorf("%+v, %v", stored, err)
		}
		ids = append(ids, string(stored.Task.ID))
	}
	if len(ids) != 2 {
		t.Errorf("tasks %v", ids)
	}
	if got := trail(t, db.Journal()); got != `1 a "i"> false` {
		t.Errorf("steps of the task at work: %s", got)
	}
	steps, err := db.Journal().Steps(t.Context(), "t-done")
	if err != nil || len(steps) != 1 || len(steps[0].Input.(json.RawMessage)) != 0 {
		t.Errorf("steps of the finished task: %+v, %v", steps, err)
	}
}

func TestByMessage(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tasks := db.Tasks(caller)
	task := full("t-5a")
	create(t, tasks, "alice", task)
	question, answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("?")), a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("approve"))
	question.ID, answer.ID = "q-1", "m-72"
	task.History = append(task.History, question, answer)
	if _, err := tasks.Update(as(t, "alice"), &taskstore.UpdateRequest{Task: task}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ user, message, want string }{
		{"alice", "m-71", "t-5a"}, {"alice", "m-72", "t-5a"}, {"alice", "q-1", ""}, {"alice", "m-0", ""}, {"bob", "m-71", ""},
	} {
		id, found, err := tasks.ByMessage(as(t, test.user), test.message)
		if err != nil || string(id) != test.want || found != (test.want != "") {
			t.Errorf("%s of %s: %q, %v, %v", test.message, test.user, id, found, err)
		}
	}
}
