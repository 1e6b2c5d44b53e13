package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

func TestLeaveOutOf(t *testing.T) {
	for words, want := range map[string][]string{
		"Reconcile September 2026":                         nil,
		"Once more, without the adjustment, please":        {"adjustments"},
		"Leave out bank fees.":                             {"bank fees"},
		"leave the bank fees out":                          {"bank fees"},
		"Exclude ADJ-0926-1, L-0274 and all adjustments!":  {"ADJ-0926-1", "L-0274", "adjustments"},
		"Excluding fees; the adjustment L-1 stays":         {"bank fees"},
		"Without fees. The adjustment L-1 stays":           {"bank fees"},
		"omit 2026 and the rest":                           nil,
		"Do it without delay, and leave nothing out there": nil,
	} {
		if got := leaveOutOf(words); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// shelf is a task store with tasks to refer to.
type shelf map[a2a.TaskID]*a2a.Task

func (s shelf) Get(_ context.Context, id a2a.TaskID) (*taskstore.StoredTask, error) {
	if task, ok := s[id]; ok {
		return &taskstore.StoredTask{Task: task}, nil
	}
	return nil, a2a.ErrTaskNotFound
}

func (s shelf) put(id a2a.TaskID, state a2a.TaskState, history ...*a2a.Message) *a2a.Task {
	s[id] = &a2a.Task{ID: id, ContextID: "c-recon-09", Status: a2a.TaskStatus{State: state}, History: history}
	return s[id]
}

func question(entryID string) *a2a.Message {
	msg := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Approve it?"))
	msg.SetMeta(askedAbout, entryID)
	return msg
}

func refers(msg *a2a.Message, ids ...a2a.TaskID) *a2a.Message {
	msg.ReferenceTasks = ids
	return msg
}

// revise runs a revision and returns its trail, its CSV and the text of its last state.
func revise(t *testing.T, e *Executor, msg *a2a.Message) (path, csv, said string) {
	t.Helper()
	ctx := &a2asrv.ExecutorContext{TaskID: "t-8c", ContextID: "c-recon-09", Message: msg}
	events := run(t.Context(), t, e, ctx)
	for _, event := range events {
		switch e := event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			csv = e.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			if e.Status.Message != nil {
				said = e.Status.Message.Parts[0].Text()
			}
		}
	}
	return trail(events), csv, said
}

const completed = "SUBMITTED WORKING report.md report.csv COMPLETED"

func TestRevision(t *testing.T) {
	tasks := shelf{}
	tasks.put("t-5a", a2a.TaskStateCompleted, adjustedRequest(), question("L-2"), answer("m-72", "approve by Jane"), question("L-3"), answer("m-73", "reject by Joe"))
	tasks.put("t-6", a2a.TaskStateCompleted, refers(user(a2a.NewTextPart("without ADJ-2")), "t-5a"))
	e := &Executor{Approval: true, Tasks: tasks}
	for name, test := range map[string]struct {
		msg  *a2a.Message
		has  []string
		said string
	}{
		"in words": {refers(user(a2a.NewTextPart("Without the adjustments")), "t-5a"),
			[]string{"left_out,L-2,", "left_out,L-3,"}, "revises the report of task t-5a: 2 rows left out."},
		"as data": {refers(user(data(map[string]any{"exclude": []any{"ADJ-1"}})), "t-5a", "t-5a"),
			[]string{"left_out,L-2,", "rejected_adjustment,L-3,"}, "revises the report of task t-5a: 1 row left out."},
		"nothing, with the decisions kept": {refers(user(a2a.NewTextPart("Once more")), "t-5a"),
			[]string{"approved_adjustment,L-2,", "approved by Jane", "rejected_adjustment,L-3,", "rejected by Joe"}, "task t-5a: no row left out."},
		"a revision's revision": {refers(user(a2a.NewTextPart("And leave out L-1")), "t-6"),
			[]string{"left_out,L-1,", "approved_adjustment,L-2,", "left_out,L-3,"}, "revises the report of task t-6: 2 rows left out."},
		"two tasks": {refers(user(a2a.NewTextPart("Once more")), "t-6", "t-5a"),
			[]string{"approved_adjustment,L-2,", "left_out,L-3,"}, "revises the report of task t-6, t-5a: 1 row left out."},
		"with a ledger of its own": {refers(user(text("ledger.csv", ledgerCSV)), "t-6"),
			[]string{"matched,L-1,B-1,"}, "revises the report of task t-6: no row left out."},
	} {
		path, csv, said := revise(t, e, test.msg)
		if path != completed || !strings.HasSuffix(said, test.said) {
			t.Errorf("%s: trail %q, %q", name, path, said)
		}
		for _, want := range test.has {
			if !strings.Contains(csv, want) {
				t.Errorf("%s: report lacks %q:\n%s", name, want, csv)
			}
		}
	}
}

// A decision is about what was shown: with another ledger, whose entries have the same ids, the agent asks
// again.
func TestRevisionWithOtherLedgerAsksAgain(t *testing.T) {
	tasks := shelf{}
	tasks.put("t-5a", a2a.TaskStateCompleted, adjustedRequest(), question("L-2"), answer("m-72", "approve"), question("L-3"), answer("m-73", "approve"))
	other := user(text("ledger.csv", strings.Replace(adjusted, "-48250.00", "-90000.00", 1)))
	tasks.put("t-6", a2a.TaskStateCanceled, refers(other, "t-5a"))
	for name, msg := range map[string]*a2a.Message{
		"its own":         refers(user(other.Parts...), "t-5a"),
		"that of another": refers(user(a2a.NewTextPart("Once more")), "t-6"),
	} {
		if path, _, said := revise(t, &Executor{Approval: true, Tasks: tasks}, msg); path != "SUBMITTED WORKING INPUT_REQUIRED" || !strings.Contains(said, "-90000.00") {
			t.Errorf("%s: trail %q, %q", name, path, said)
		}
	}
}

func TestRevisionRefused(t *testing.T) {
	tasks := shelf{}
	tasks.put("t-5a", a2a.TaskStateWorking, good())
	tasks.put("t-6", a2a.TaskStateCompleted, good()).ContextID = "c-other"
	tasks.put("t-7", a2a.TaskStateRejected, user(a2a.NewTextPart("Reconcile, please")))
	tasks.put("t-9", a2a.TaskStateCompleted, good())
	for name, test := range map[string]struct {
		msg  *a2a.Message
		path string
		said string
	}{
		"unknown":          {refers(user(a2a.NewTextPart("Once more")), "t-0"), "SUBMITTED REJECTED", `"t-0" in referenceTaskIds is not known`},
		"one of them":      {refers(user(a2a.NewTextPart("Once more")), "t-9", "t-0"), "SUBMITTED REJECTED", `"t-0" in referenceTaskIds is not known`},
		"not finished":     {refers(user(a2a.NewTextPart("Once more")), "t-5a"), "SUBMITTED REJECTED", "t-5a in referenceTaskIds is not finished"},
		"another context":  {refers(user(a2a.NewTextPart("Once more")), "t-6"), "SUBMITTED REJECTED", "t-6 in referenceTaskIds is in another context"},
		"without tables":   {refers(user(a2a.NewTextPart("Once more")), "t-7"), "SUBMITTED REJECTED", "missing input"},
		"no such row":      {refers(user(a2a.NewTextPart("Without L-99")), "t-9"), "SUBMITTED WORKING FAILED", `no row has the id or the reference "L-99"`},
		"a word with more": {refers(user(a2a.NewTextPart("ping")), "t-0"), "SUBMITTED REJECTED", "not known"},
	} {
		path, _, said := revise(t, &Executor{Tasks: tasks}, test.msg)
		if path != test.path || !strings.Contains(said, test.said) {
			t.Errorf("%s: trail %q, %q", name, path, said)
		}
	}
	if path, _, said := revise(t, &Executor{}, refers(good(), "t-9")); path != "SUBMITTED REJECTED" || !strings.Contains(said, "not known") {
		t.Errorf("without tasks: trail %q, %q", path, said)
	}
}
