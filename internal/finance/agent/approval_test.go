package agent

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

func data(members map[string]any) *a2a.Part { return a2a.NewDataPart(members) }

func TestReadAnswer(t *testing.T) {
	yes := func(by string) *finance.Decision { return &finance.Decision{Approved: true, By: by} }
	no := func(by string) *finance.Decision { return &finance.Decision{By: by} }
	const sender = "the sender of m-72"
	for name, test := range map[string]struct {
		parts []*a2a.Part
		want  *finance.Decision
	}{
		"approve":                   {[]*a2a.Part{a2a.NewTextPart("approve")}, yes(sender)},
		"in a sentence":             {[]*a2a.Part{a2a.NewTextPart("  Approved.\n")}, yes(sender)},
		"by somebody":               {[]*a2a.Part{a2a.NewTextPart("Approved, by Jane A. Doe.")}, yes("Jane A. Doe")},
		"reject":                    {[]*a2a.Part{a2a.NewTextPart("REJECT")}, no(sender)},
		"rejected by somebody":      {[]*a2a.Part{a2a.NewTextPart("rejected by Jane")}, no("Jane")},
		"data":                      {[]*a2a.Part{data(map[string]any{"approve": true, "by": " Jane "})}, yes("Jane")},
		"data, no":                  {[]*a2a.Part{data(map[string]any{"approve": false})}, no(sender)},
		"data with a comment":       {[]*a2a.Part{a2a.NewTextPart("I can't reject this."), data(map[string]any{"approve": true})}, yes(sender)},
		"twice the same":            {[]*a2a.Part{a2a.NewTextPart("approve by Jane"), a2a.NewTextPart("approved")}, yes("Jane")},
		"a long name":               {[]*a2a.Part{data(map[string]any{"approve": true, "by": strings.Repeat("x", maxName+1)})}, yes(strings.Repeat("x", maxName) + "…")},
		"a negation":                {[]*a2a.Part{a2a.NewTextPart("do not approve")}, nil},
		"a condition":               {[]*a2a.Part{a2a.NewTextPart("approve if the auditor agrees")}, nil},
		"a condition, in two":       {[]*a2a.Part{a2a.NewTextPart("approve"), a2a.NewTextPart("if the auditor agrees")}, nil},
		"yes":                       {[]*a2a.Part{a2a.NewTextPart("yes")}, nil},
		"both":                      {[]*a2a.Part{a2a.NewTextPart("approve"), a2a.NewTextPart("reject")}, nil},
		"both, as data":             {[]*a2a.Part{data(map[string]any{"approve": true}), data(map[string]any{"approve": false})}, nil},
		"data of another type":      {[]*a2a.Part{data(map[string]any{"approve": "true"})}, nil},
		"data about something":      {[]*a2a.Part{data(map[string]any{"by": "Jane"})}, nil},
		"data that is no object":    {[]*a2a.Part{a2a.NewDataPart([]any{true})}, nil},
		"bytes, which nobody reads": {[]*a2a.Part{a2a.NewRawPart([]byte("approve"))}, nil},
	} {
		msg := user(test.parts...)
		msg.ID = "m-72"
		got, ok := readAnswer(msg)
		if ok != (test.want != nil) || ok && got != *test.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// adjusted is a ledger with two unusual adjustments.
const adjusted = ledgerCSV +
	"L-2,2026-09-28,3950,,ADJ-1,Accrual,adjustment,-48250.00\n" +
	"L-3,2026-09-29,3950,,ADJ-2,Provision,adjustment,12000.00\n"

func adjustedRequest() *a2a.Message {
	return user(text("ledger.csv", adjusted), text("bank.csv", bankCSV))
}

// dialogue runs a task over several messages, as the SDK does, and returns the last run's events.
type dialogue struct {
	executor *Executor
	task     *a2a.Task
}

func (d *dialogue) say(t *testing.T, msg *a2a.Message) []a2a.Event {
	t.Helper()
	ctx := call(msg)
	if d.task != nil {
		ctx.StoredTask = d.task
		if !hasMessage(d.task, msg) { // an earlier copy of it stays the only one
			d.task.History = append(d.task.History, msg)
		}
	}
	events := run(t.Context(), t, d.executor, ctx)
	d.follow(events)
	return events
}

func hasMessage(task *a2a.Task, msg *a2a.Message) bool {
	for _, said := range task.History {
		if said.ID == msg.ID {
			return true
		}
	}
	return false
}

// follow does to the task what the SDK does on events, on copies as the store makes them.
func (d *dialogue) follow(events []a2a.Event) {
	for _, event := range events {
		switch e := event.(type) {
		case *a2a.Task:
			task := *e
			task.History = nil
			for _, msg := range e.History {
				copied := *msg
				task.History = append(task.History, &copied)
			}
			d.task = &task
		case *a2a.TaskStatusUpdateEvent:
			if d.task.Status.Message != nil {
				d.task.History = append(d.task.History, d.task.Status.Message)
			}
			d.task.Status = e.Status
		case *a2a.TaskArtifactUpdateEvent:
			d.task.Artifacts = append(d.task.Artifacts, e.Artifact)
		}
	}
}

func (d *dialogue) said() string {
	var ids []string
	for _, msg := range d.task.History {
		if id := asked(msg); id != "" {
			ids = append(ids, "?"+id)
		} else if msg.Role == a2a.MessageRoleUser {
			ids = append(ids, msg.ID)
		}
	}
	return strings.Join(ids, " ")
}

func answer(id, words string) *a2a.Message {
	msg := user(a2a.NewTextPart(words))
	msg.ID = id
	return msg
}

func TestApprovalOfEach(t *testing.T) {
	d := &dialogue{executor: &Executor{Approval: true}}
	request := adjustedRequest()
	request.ID = "m-71"
	if got := trail(d.say(t, request)); got != "SUBMITTED WORKING INPUT_REQUIRED" {
		t.Fatalf("trail %q", got)
	}
	question := d.task.Status.Message.Parts[0].Text()
	for _, want := range []string{"L-2", "2026-09-28", "3950", "Accrual", "ADJ-1", "-48250.00", `"approve"`, `"reject"`, `{"approve": true, "by": "your name"}`} {
		if !strings.Contains(question, want) {
			t.Errorf("the question lacks %s: %s", want, question)
		}
	}
	if got := trail(d.say(t, answer("m-72", "hm"))); got != "WORKING INPUT_REQUIRED" {
		t.Fatalf("trail %q", got)
	}
	if again := d.task.Status.Message.Parts[0].Text(); again != "The answer was not understood. "+question {
		t.Errorf("asked again: %s", again)
	}
	if got := trail(d.say(t, answer("m-73", "approve by Jane"))); got != "WORKING INPUT_REQUIRED" {
		t.Fatalf("trail %q", got)
	}
	if other := d.task.Status.Message.Parts[0].Text(); strings.Contains(other, "not understood") || !strings.Contains(other, "L-3") {
		t.Errorf("second question: %s", other)
	}
	if got := trail(d.say(t, answer("m-74", "reject"))); got != "WORKING report.md report.csv COMPLETED" {
		t.Fatalf("trail %q", got)
	}
	if got := d.said(); got != "m-71 ?L-2 m-72 ?L-2 m-73 ?L-3 m-74" {
		t.Errorf("history %s", got)
	}
	report := d.task.Artifacts[1].Parts[0].Text()
	if !strings.Contains(report, "approved_adjustment,L-2,") || !strings.Contains(report, "Accrual; approved by Jane") ||
		!strings.Contains(report, "rejected_adjustment,L-3,") || !strings.Contains(report, "Provision; rejected by the sender of m-74") {
		t.Errorf("report:\n%s", report)
	}
}

// Without deduplication a second copy of an answer is an answer to the next question. That is the harm that
// deduplication prevents, so it has to show.
func TestCopyOfAnAnswerAnswersTheNextQuestion(t *testing.T) {
	d := &dialogue{executor: &Executor{Approval: true}}
	request := adjustedRequest()
	request.ID = "m-71"
	d.say(t, request)
	d.say(t, answer("m-72", "approve"))
	if got := trail(d.say(t, answer("m-72", "approve"))); got != "WORKING report.md report.csv COMPLETED" {
		t.Fatalf("trail %q", got)
	}
	if got := d.said(); got != "m-71 ?L-2 m-72 ?L-3 m-72" {
		t.Errorf("history %s", got)
	}
}

// A request is no answer, whatever it says.
func TestRequestIsNoAnswer(t *testing.T) {
	request := adjustedRequest()
	request.Parts = append(request.Parts, data(map[string]any{"approve": true}))
	if got := trail(run(t.Context(), t, &Executor{Approval: true}, call(request))); got != "SUBMITTED WORKING INPUT_REQUIRED" {
		t.Errorf("trail %q", got)
	}
	if got := trail(run(t.Context(), t, &Executor{}, call(request))); got != "SUBMITTED WORKING report.md report.csv COMPLETED" {
		t.Errorf("trail %q without approval", got)
	}
}

func TestReply(t *testing.T) {
	for words, want := range map[string]string{"ping": "pong", " Ping!\n": "pong", "help": HowToRevise, "HELP?": HowToAnswer} {
		var events []a2a.Event
		for event, err := range (&Executor{}).Execute(t.Context(), call(user(a2a.NewTextPart(words)))) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, event)
		}
		msg, ok := events[0].(*a2a.Message)
		if len(events) != 1 || !ok || !strings.Contains(msg.Parts[0].Text(), want) || msg.Role != a2a.MessageRoleAgent || msg.ContextID != "c-recon-09" {
			t.Errorf("%q is answered by %+v", words, events)
		}
	}
	for name, msg := range map[string]*a2a.Message{
		"more than a word": user(a2a.NewTextPart("ping the bank")),
		"more than a part": user(a2a.NewTextPart("ping"), a2a.NewTextPart("help")),
		"bytes":            user(a2a.NewRawPart([]byte("ping"))),
	} {
		if got := trail(run(t.Context(), t, &Executor{}, call(msg))); got != "SUBMITTED REJECTED" {
			t.Errorf("%s: trail %q", name, got)
		}
	}
}
