// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
)

// unposted is a message about two movements that the ledger doesn't have.
func unposted() *a2a.Message {
	return user(text("ledger.csv", ledgerCSV), text("bank.csv", bankCSV+"B-2,2026-09-03,Alder,INV-2,Invoice,7.00\nB-3,2026-09-04,Birch,INV-3,Invoice,8.00\n"))
}

// posting is an executor on a real ledger.
func posting() (*Executor, ledgerapi.Store) {
	store := ledgerapi.NewMemory()
	return &Executor{Journal: &MemoryJournal{}, Ledger: ledgerapi.NewLocalClient(ledgerapi.Handler(store))}, store
}

func keys(t *testing.T, store ledgerapi.Store) string {
	t.Helper()
	records, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		out = append(out, r.Key+" "+r.Posting.About)
	}
	return strings.Join(out, ", ")
}

func status(event a2a.Event) string {
	update, ok := event.(*a2a.TaskStatusUpdateEvent)
	if !ok || update.Status.Message == nil {
		return ""
	}
	return update.Status.Message.Parts[0].Text()
}

func TestPostings(t *testing.T) {
	e, store := posting()
	c := call(unposted())
	events := run(t.Context(), t, e, c)
	first, second := StepKey(c.TaskID, 5), StepKey(c.TaskID, 6)
	if got, want := keys(t, store), first+" B-2, "+second+" B-3"; got != want || first != "a2a:"+string(c.TaskID)+":step:5" {
		t.Errorf("posted %q, want %q", got, want)
	}
	if end := status(events[len(events)-1]); !strings.Contains(end, "2 postings made") {
		t.Errorf("the end says %q", end)
	}
}

// A task whose posting the ledger won't make fails, and says what it posted before.
func TestRefusedPosting(t *testing.T) {
	e, store := posting()
	c := call(unposted())
	other := finance.Posting{Account: "1", Date: time.Unix(0, 0), Amount: 1}
	if _, _, err := store.Post(t.Context(), StepKey(c.TaskID, 6), other); err != nil {
		t.Fatal(err)
	}
	events := run(t.Context(), t, e, c)
	end := status(events[len(events)-1])
	if !strings.HasSuffix(trail(events), "WORKING FAILED") || !strings.Contains(end, "step 6") || !strings.Contains(end, "B-2 7.00 (P-2)") || strings.Contains(end, "B-3") {
		t.Errorf("trail %q, end %q", trail(events), end)
	}
}

// gate stops a posting before the ledger, as often as it is asked to.
type gate struct {
	Ledger
	before func(key string) error
}

func (g gate) Post(ctx context.Context, key string, p finance.Posting) (string, error) {
	if err := g.before(key); err != nil {
		return "", err
	}
	return g.Ledger.Post(ctx, key, p)
}

// A ledger that isn't there is waited for; what it gets is what was recorded.
func TestLedgerComesBack(t *testing.T) {
	e, store := posting()
	tries := 0
	e.Ledger = gate{e.Ledger, func(string) error {
		if tries++; tries == 1 {
			return ledgerapi.ErrNotSent
		}
		return nil
	}}
	c := call(unposted())
	if got := trail(run(t.Context(), t, e, c)); !strings.HasSuffix(got, "COMPLETED") || tries != 3 || strings.Count(keys(t, store), ":step:") != 2 {
		t.Errorf("trail %q, %d tries, posted %q", got, tries, keys(t, store))
	}
}

// A run that takes over makes the posting that is recorded and not done, and asks nothing that was decided again.
func TestReplay(t *testing.T) {
	e, store := posting()
	c := call(unposted())
	ctx, stop := context.WithCancel(t.Context())
	e.Ledger = gate{e.Ledger, func(string) error { stop(); return ledgerapi.ErrNotSent }}
	run(ctx, t, e, c)
	if steps, err := e.Journal.Steps(t.Context(), c.TaskID); err != nil || len(steps) != 5 || steps[4].Done || !steps[3].Done {
		t.Fatalf("journal %+v, %v", steps, err)
	}
	e.Ledger = ledgerapi.NewLocalClient(ledgerapi.Handler(store))
	c.StoredTask = &a2a.Task{ID: c.TaskID, ContextID: c.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateWorking},
		History: []*a2a.Message{user(a2a.NewTextPart("the tables are not needed any more"))}}
	events := run(Resumed(t.Context()), t, e, c)
	if got := trail(events); got != "report.md report.csv COMPLETED" {
		t.Errorf("trail %q", got)
	}
	if got := keys(t, store); got != StepKey(c.TaskID, 5)+" B-2, "+StepKey(c.TaskID, 6)+" B-3" {
		t.Errorf("posted %q", got)
	}
}

func TestInterrupted(t *testing.T) {
	first, second, third := user(), user(), user()
	first.ID, second.ID, third.ID = "m-71", "m-72", "m-73"
	question := a2a.NewMessage(a2a.MessageRoleAgent)
	for name, test := range map[string]struct {
		state   a2a.TaskState
		history []*a2a.Message
		want    string
	}{
		"submitted":           {a2a.TaskStateSubmitted, []*a2a.Message{first}, "m-71"},
		"working":             {a2a.TaskStateWorking, []*a2a.Message{first}, "m-71"},
		"working on answer":   {a2a.TaskStateWorking, []*a2a.Message{first, question, second}, "m-72"},
		"waiting":             {a2a.TaskStateInputRequired, []*a2a.Message{first}, ""},
		"waiting again":       {a2a.TaskStateInputRequired, []*a2a.Message{first, question, second}, ""},
		"answer not taken":    {a2a.TaskStateInputRequired, []*a2a.Message{first, second}, "m-72"},
		"2nd answer no taken": {a2a.TaskStateInputRequired, []*a2a.Message{first, question, second, third}, "m-73"},
		"completed":           {a2a.TaskStateCompleted, []*a2a.Message{first}, ""},
		"canceled":            {a2a.TaskStateCanceled, []*a2a.Message{first, second}, ""},
	} {
		task := &a2a.Task{ID: "t-5a", ContextID: "c", Status: a2a.TaskStatus{State: test.state}, History: test.history}
		got := Interrupted(task)
		switch {
		case got == nil && test.want != "", got != nil && (got.ID != test.want || got.TaskID != "t-5a" || got.ContextID != "c"):
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
	if first.TaskID != "" {
		t.Error("the stored message was changed")
	}
}
