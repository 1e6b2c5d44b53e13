// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedup/sqlstore"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
	"github.com/delegation-dev/delegation-operator/internal/finance/database"
	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
	"github.com/delegation-dev/delegation-operator/internal/finance/taskdb"
)

// durable is an agent on a data directory that is stopped and started again.
type durable struct {
	t   *testing.T
	cfg Config
}

func newDurable(t *testing.T, change func(*Config)) *durable {
	t.Helper()
	cfg := Defaults()
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	if change != nil {
		change(&cfg)
	}
	return &durable{t: t, cfg: cfg}
}

// run starts the agent for the time of a test function.
func (d *durable) run(test func(ctx context.Context, p *peer)) {
	d.t.Helper()
	server, err := New(d.t.Context(), d.cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer func() {
		cancel()
		srv.Close()
		if err := server.Close(); err != nil {
			d.t.Errorf("closing the agent: %v", err)
		}
	}()
	test(ctx, connect(ctx, d.t, srv.URL, a2a.TransportProtocolJSONRPC, d.cfg.Token))
}

func (d *durable) file(name string) string { return filepath.Join(d.cfg.DataDir, name) }

// postings reads the ledger that the agent serves.
func (p *peer) postings(t *testing.T) []ledgerapi.Record {
	t.Helper()
	resp, err := p.http.Get(p.base + ledgerapi.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var all []ledgerapi.Record
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return all
}

// A restart loses nothing: a task that waits waits on, its messages are known, and it ends as if nothing had been.
func TestRestart(t *testing.T) {
	d := newDurable(t, func(c *Config) { c.Token = "s3cret" })
	var asked, done *a2a.Task
	approval := func() *a2a.SendMessageRequest { return answer("m-72", asked, a2a.NewTextPart("approve by Jane Doe")) }
	d.run(func(ctx context.Context, p *peer) {
		asked = p.question(ctx, t)
		p.wantRecord(t, "m-71", 1, 1, 1)
	})
	d.run(func(ctx context.Context, p *peer) {
		if now := p.get(ctx, t, asked.ID); now.Status.State != a2a.TaskStateInputRequired || !now.Status.Timestamp.Equal(*asked.Status.Timestamp) {
			t.Errorf("the waiting task is in %s since %v", now.Status.State, now.Status.Timestamp)
		}
		if again := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09")); again.ID != asked.ID {
			t.Errorf("the message made another task, %s", again.ID)
		}
		if _, err := p.SendMessage(ctx, reconciliation(t, "m-71", "c-other")); dedup.Reason(err) != dedup.ReasonMismatch {
			t.Errorf("another body: %v", err)
		}
		p.wantRecord(t, "m-71", 2, 1, 2)
		p.send(ctx, t, approval())
		done = p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
		if said(done) != "m-71 ? m-72" || len(done.Artifacts) != 2 {
			t.Errorf("history %s, %d artifacts", said(done), len(done.Artifacts))
		}
	})
	d.run(func(ctx context.Context, p *peer) {
		if again := p.send(ctx, t, approval()); again.ID != asked.ID || again.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the answer again: %+v", again.Status)
		}
		p.wantRecord(t, "m-71", 0, 1, 0)
		if got := p.records(t)["m-72"]; got.Continued != 1 || got.Received != 1 || got.Principal != bearerUser {
			t.Errorf("the answer's record: %+v", got)
		}
		all, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
		if err != nil || len(all.Tasks) != 1 {
			t.Errorf("listed: %+v, %v", all, err)
		}
		postings := p.postings(t)
		if len(postings) != 4 {
			t.Errorf("%d postings", len(postings))
		}
		for i, posting := range postings {
			if posting.Key != agent.StepKey(asked.ID, 5+i) || posting.Received != 1 {
				t.Errorf("posting %d: %+v", i, posting)
			}
		}
		resp, err := http.Get(p.base + ledgerapi.Path)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the ledger without a token: %s", resp.Status)
		}
	})
}

// A task that was at work when the agent ended goes on by itself, from wherever it was.
func TestRestartOfWork(t *testing.T) {
	d := newDurable(t, func(c *Config) { c.Delay, c.Approval = time.Hour, false })
	var task *a2a.Task
	d.run(func(ctx context.Context, p *peer) { task = p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09")) })
	d.run(func(ctx context.Context, p *peer) { // at the end of another agent's time too
		if now := p.get(ctx, t, task.ID); now.Status.State != a2a.TaskStateSubmitted {
			t.Errorf("state %s", now.Status.State)
		}
		if _, err := p.SendMessage(ctx, answer("m-72", task, a2a.NewTextPart("approve"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a message to the task: %v", err)
		}
	})
	d.cfg.Delay = 0
	d.run(func(ctx context.Context, p *peer) {
		if done := p.until(ctx, t, task.ID, a2a.TaskStateCompleted); len(done.Artifacts) != 2 || said(done) != "m-71" {
			t.Errorf("%d artifacts, history %s", len(done.Artifacts), said(done))
		}
		p.wantRecord(t, "m-71", 0, 1, 0)
	})
}

func TestCancelAfterRestart(t *testing.T) {
	d := newDurable(t, func(c *Config) { c.Delay = time.Hour })
	var task *a2a.Task
	d.run(func(ctx context.Context, p *peer) { task = p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09")) })
	d.run(func(ctx context.Context, p *peer) {
		if canceled, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil || canceled.Status.State != a2a.TaskStateCanceled {
			t.Errorf("CancelTask: %+v, %v", canceled, err)
		}
	})
	d.cfg.Delay = 0
	d.run(func(ctx context.Context, p *peer) {
		p.until(ctx, t, task.ID, a2a.TaskStateCanceled)
		if postings := p.postings(t); len(postings) != 0 {
			t.Errorf("%d postings", len(postings))
		}
	})
}

// edit changes a stored task, as an agent does that ends right afterwards.
func (d *durable) edit(id a2a.TaskID, change func(*a2a.Task)) {
	d.t.Helper()
	db, err := taskdb.Open(d.t.Context(), d.file(tasksFile))
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tasks, ctx := db.Tasks(a2asrv.NewTaskStoreAuthenticator()), asUser(d.t.Context(), anonymousUser)
	stored, err := tasks.Get(ctx, id)
	if err != nil {
		d.t.Fatal(err)
	}
	change(stored.Task)
	if _, err := tasks.Update(ctx, &taskstore.UpdateRequest{Task: stored.Task}); err != nil {
		d.t.Fatal(err)
	}
}

// The SDK stores an answer before the agent takes it. An end in between must not leave the task waiting for ever.
func TestRestartBeforeTheAnswerIsTaken(t *testing.T) {
	d := newDurable(t, nil)
	var asked *a2a.Task
	d.run(func(ctx context.Context, p *peer) { asked = p.question(ctx, t) })
	approval := answer("m-72", asked, a2a.NewTextPart("approve")).Message
	d.edit(asked.ID, func(task *a2a.Task) { task.History = append(task.History, approval) })
	d.run(func(ctx context.Context, p *peer) {
		if done := p.until(ctx, t, asked.ID, a2a.TaskStateCompleted); said(done) != "m-71 ? m-72" {
			t.Errorf("history %s", said(done))
		}
		if got := p.records(t)["m-72"]; got.Received != 0 || got.Continued != 1 {
			t.Errorf("the answer's record: %+v", got)
		}
	})
}

// abandon leaves a row behind as an agent does that ends between its insert and the task.
func (d *durable) abandon(msg *a2a.Message) {
	d.t.Helper()
	table, err := sqlstore.OpenSQLite(d.file(messagesFile))
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = table.Close() }()
	digest, err := dedup.Digest(msg)
	if err != nil {
		d.t.Fatal(err)
	}
	_, inserted, err := table.Insert(d.t.Context(), dedup.Claim{
		Key: dedup.Key{MessageID: msg.ID}, Digest: digest, Owner: "gone", Now: time.Now(), Retention: time.Hour, Lease: time.Millisecond,
	})
	if err != nil || !inserted {
		d.t.Fatalf("inserted %v, %v", inserted, err)
	}
}

// A row without a task is settled by a look at the tasks: where the message is among them it is bound, else executed.
func TestRestartBetweenInsertAndBind(t *testing.T) {
	d := newDurable(t, func(c *Config) { c.Approval = false })
	made, lost := reconciliation(t, "m-71", "c-1"), reconciliation(t, "m-80", "c-2")
	var task *a2a.Task
	d.cfg.Dedup = false // so that there is a task and no row
	d.run(func(ctx context.Context, p *peer) {
		task = p.send(ctx, t, made)
		p.until(ctx, t, task.ID, a2a.TaskStateCompleted)
	})
	d.abandon(made.Message)
	d.abandon(lost.Message)
	d.cfg.Dedup = true
	d.run(func(ctx context.Context, p *peer) {
		if id := p.insist(ctx, t, made); id != task.ID {
			t.Errorf("the message made another task, %s", id)
		}
		first := p.insist(ctx, t, lost)
		if again := p.insist(ctx, t, lost); again != first || first == task.ID || first == "" {
			t.Errorf("the lost message made the tasks %s and %s", first, again)
		}
		p.wantRecord(t, "m-71", 1, 1, 1)
		p.until(ctx, t, first, a2a.TaskStateCompleted)
	})
}

// A revision posts what the revised report did not, which is nothing here, also in another life of the agent.
func TestRestartBeforeARevision(t *testing.T) {
	d := newDurable(t, func(c *Config) { c.Approval = false })
	var first *a2a.Task
	d.run(func(ctx context.Context, p *peer) {
		first = p.send(ctx, t, reconciliation(t, "m-71", "c-1"))
		p.until(ctx, t, first.ID, a2a.TaskStateCompleted)
	})
	d.run(func(ctx context.Context, p *peer) {
		revision := words("m-91", "The same without bank fees")
		revision.Message.ContextID, revision.Message.ReferenceTasks = "c-1", []a2a.TaskID{first.ID}
		p.until(ctx, t, p.send(ctx, t, revision).ID, a2a.TaskStateCompleted)
		if postings := p.postings(t); len(postings) != 4 {
			t.Errorf("%d postings after the revision, want the first report's 4", len(postings))
		}
	})
}

func TestDataDirInUse(t *testing.T) {
	d := newDurable(t, nil)
	d.run(func(context.Context, *peer) {
		if _, err := New(t.Context(), d.cfg); !errors.Is(err, database.ErrLocked) {
			t.Errorf("error %v, want that the directory is in use", err)
		}
	})
	d.run(func(context.Context, *peer) {}) // and free afterwards
}
