package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

const (
	ledgerCSV = "entry_id,date,account,counterparty,reference,description,kind,amount\nL-1,2026-09-01,3300,Elbtal,INV-1,Bill,payment,-1.00\n"
	bankCSV   = "line_id,date,counterparty,reference,description,amount\nB-1,2026-09-02,Elbtal,INV-1,Bill,-1.00\n"
)

func file(name, mediaType string, part *a2a.Part) *a2a.Part {
	part.Filename, part.MediaType = name, mediaType
	return part
}

func text(name, content string) *a2a.Part { return file(name, "text/csv", a2a.NewTextPart(content)) }

func meta(key, name, content string) *a2a.Part {
	part := a2a.NewTextPart(content)
	part.SetMeta(key, name)
	return part
}

func user(parts ...*a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }

func TestReadInputs(t *testing.T) {
	for name, messages := range map[string][]*a2a.Message{
		"text parts with file names": {user(a2a.NewTextPart("Reconcile, please"), text("ledger.csv", ledgerCSV), text("bank.csv", bankCSV))},
		"bytes": {user(file("LEDGER-2026-09.CSV", "", a2a.NewRawPart([]byte(ledgerCSV))),
			file("in/bank_september.csv", "text/csv", a2a.NewRawPart([]byte(bankCSV))))},
		"names in the metadata": {user(meta("filename", "ledger.csv", ledgerCSV), meta("name", "bank.csv", bankCSV))},
		"one data part":         {user(a2a.NewDataPart(map[string]any{"ledger": ledgerCSV, "bank": bankCSV}))},
		"data parts and a file": {user(a2a.NewDataPart(map[string]any{"ledger": ledgerCSV, "x": 1.0}), text("bank.csv", bankCSV))},
		"recognised by header":  {user(text("september.csv", bankCSV), file("", "text/csv; charset=utf-8", a2a.NewTextPart(ledgerCSV)))},
		"in two messages":       {user(text("ledger.csv", ledgerCSV)), nil, user(text("bank.csv", bankCSV))},
		"an earlier one too":    {user(text("ledger.csv", ledgerCSV)), user(text("ledger.csv", "old"), text("bank.csv", bankCSV))},
		"the agent's words aside": {user(text("ledger.csv", ledgerCSV)),
			a2a.NewMessage(a2a.MessageRoleAgent, text("bank.csv", "other")), user(text("bank.csv", bankCSV))},
	} {
		in, err := ReadInputs(messages[0], messages[1:]...)
		if err != nil || string(in.Ledger) != ledgerCSV || string(in.Bank) != bankCSV || in.Period != "" {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

func TestReadInputsRefuses(t *testing.T) {
	ledger, bank := text("ledger.csv", ledgerCSV), text("bank.csv", bankCSV)
	for name, test := range map[string]struct {
		message *a2a.Message
		want    error
	}{
		"nothing":             {user(a2a.NewTextPart("Reconcile, please")), ErrMissingInput},
		"no bank statement":   {user(ledger, a2a.NewTextPart(bankCSV)), ErrMissingInput},
		"no ledger":           {user(bank, file("ledger.txt", "text/plain", a2a.NewTextPart(ledgerCSV))), ErrMissingInput},
		"a link":              {user(bank, file("ledger.csv", "text/csv", a2a.NewFileURLPart("http://localhost/ledger.csv", "text/csv"))), ErrMissingInput},
		"data of other type":  {user(bank, a2a.NewDataPart(map[string]any{"ledger": []any{ledgerCSV}})), ErrMissingInput},
		"data, not an object": {user(bank, a2a.NewDataPart([]any{ledgerCSV})), ErrMissingInput},
		"two ledgers":         {user(ledger, bank, text("ledger-old.csv", ledgerCSV)), ErrAmbiguousInput},
		"twice in two forms":  {user(ledger, bank, a2a.NewDataPart(map[string]any{"bank": bankCSV})), ErrAmbiguousInput},
		"period":              {user(ledger, bank, a2a.NewDataPart(map[string]any{"period": "September"})), ErrPeriod},
		"exclude, one text":   {user(ledger, bank, a2a.NewDataPart(map[string]any{"exclude": "L-1"})), ErrExclude},
		"exclude, a number":   {user(ledger, bank, a2a.NewDataPart(map[string]any{"exclude": []any{1.0}})), ErrExclude},
		"exclude, too much":   {user(ledger, bank, a2a.NewTextPart("without"+manyNames())), ErrExclude},
	} {
		if _, err := ReadInputs(test.message); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
}

func manyNames() string {
	var b strings.Builder
	for i := range maxLeaveOut + 1 {
		fmt.Fprintf(&b, " L-%d", i)
	}
	return b.String()
}

func run(ctx context.Context, t *testing.T, e *Executor, call *a2asrv.ExecutorContext) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for event, err := range e.Execute(ctx, call) {
		if err != nil {
			t.Fatalf("Execute: %v", err)
		}
		if info := event.TaskInfo(); info != call.TaskInfo() {
			t.Errorf("event of %+v, want %+v", info, call.TaskInfo())
		}
		events = append(events, event)
	}
	return events
}

// trail writes the states and artifacts of a run in order.
func trail(events []a2a.Event) string {
	var out []string
	for _, event := range events {
		switch e := event.(type) {
		case *a2a.Task:
			out = append(out, string(e.Status.State))
		case *a2a.TaskStatusUpdateEvent:
			out = append(out, string(e.Status.State))
		case *a2a.TaskArtifactUpdateEvent:
			out = append(out, e.Artifact.Name)
		}
	}
	return strings.ReplaceAll(strings.Join(out, " "), "TASK_STATE_", "")
}

func call(msg *a2a.Message) *a2asrv.ExecutorContext {
	return &a2asrv.ExecutorContext{TaskID: "t-5a", ContextID: "c-recon-09", Message: msg}
}

func good() *a2a.Message {
	return user(text("ledger.csv", ledgerCSV), text("bank.csv", bankCSV), a2a.NewDataPart(map[string]any{"period": "2026-10"}))
}

func TestExecute(t *testing.T) {
	msg := good()
	events := run(t.Context(), t, &Executor{Delay: 2 * time.Millisecond}, call(msg))
	if got := trail(events); got != "SUBMITTED WORKING report.md report.csv COMPLETED" {
		t.Fatalf("trail %q", got)
	}
	task := events[0].(*a2a.Task)
	if len(task.History) != 1 || task.History[0].ID != msg.ID || task.Status.Timestamp == nil {
		t.Errorf("submitted task %+v", task)
	}
	report := events[2].(*a2a.TaskArtifactUpdateEvent)
	part := report.Artifact.Parts[0]
	if part.MediaType != "text/markdown" || part.Filename != MarkdownArtifact || !report.LastChunk || report.Append ||
		!strings.Contains(part.Text(), "# Reconciliation of 2026-10") {
		t.Errorf("artifact %+v", part)
	}
}

func TestExecuteBadInput(t *testing.T) {
	bad := strings.Replace(ledgerCSV, "-1.00", "-1,00", 1)
	for want, msg := range map[string]*a2a.Message{
		"SUBMITTED REJECTED":       user(a2a.NewTextPart("Reconcile, please")),
		"SUBMITTED WORKING FAILED": user(text("ledger.csv", bad), text("bank.csv", "")),
	} {
		events := run(t.Context(), t, &Executor{}, call(msg))
		if got := trail(events); got != want {
			t.Errorf("trail %q, want %q", got, want)
		}
		last := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
		if said := last.Status.Message.Parts[0].Text(); !strings.Contains(said, "ledger") || !strings.Contains(said, "bank") {
			t.Errorf("%s without a reason: %q", want, said)
		}
	}
}

// A message to a task that exists starts the steps again, with the first message's tables and no second
// submission.
func TestExecuteContinuation(t *testing.T) {
	answer := user(a2a.NewTextPart("approved"))
	ctx := call(answer)
	ctx.StoredTask = &a2a.Task{ID: ctx.TaskID, ContextID: ctx.ContextID, History: []*a2a.Message{good(), answer}}
	if got := trail(run(t.Context(), t, &Executor{}, ctx)); got != "WORKING report.md report.csv COMPLETED" {
		t.Errorf("trail %q", got)
	}
}

func TestExecuteStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &Executor{Delay: time.Hour}
	for event, err := range e.Execute(ctx, call(good())) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := event.(*a2a.Task); !ok {
			t.Errorf("event %T after the end of the context", event)
		}
		cancel()
	}
	if got := trail(run(ctx, t, &Executor{}, call(good()))); got != "SUBMITTED" {
		t.Errorf("trail %q with a context that is done", got)
	}
}

func TestCancel(t *testing.T) {
	var events []a2a.Event
	for event, err := range (&Executor{}).Cancel(t.Context(), call(nil)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	if got := trail(events); got != "CANCELED" {
		t.Errorf("trail %q", got)
	}
}

func TestSentence(t *testing.T) {
	got := sentence(errors.New(strings.Repeat("ü", maxSentence)))
	if len(got) > maxSentence+10 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := sentence(errors.Join(errors.New("one"), errors.New("two"))); got != "one; two." {
		t.Errorf("joined errors read %q", got)
	}
}
