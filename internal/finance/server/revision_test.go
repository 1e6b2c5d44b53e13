package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// refinement is a follow-up to finished tasks.
func refinement(id, contextID string, part *a2a.Part, of ...a2a.TaskID) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, part)
	msg.ID, msg.ContextID, msg.ReferenceTasks = id, contextID, of
	return &a2a.SendMessageRequest{Message: msg}
}

// The worked example from the first message to the revised report.
func TestWorkedExample(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		first := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if again := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09")); again.ID != first.ID {
			t.Errorf("the resent message made %s beside %s", again.ID, first.ID)
		}
		asked := p.until(ctx, t, first.ID, a2a.TaskStateInputRequired)
		p.send(ctx, t, answer("m-72", asked, a2a.NewDataPart(map[string]any{"approve": true, "by": "Jane Doe"})))
		p.until(ctx, t, first.ID, a2a.TaskStateCompleted)
		if _, err := p.SendMessage(ctx, answer("m-90", asked, a2a.NewTextPart("without the adjustment"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("message to the finished task: %v", err)
		}
		revised := p.send(ctx, t, refinement("m-91", "c-recon-09", a2a.NewTextPart("Without the adjustment, please"), first.ID))
		if revised.ID == first.ID || revised.ContextID != "c-recon-09" || revised.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("the revision is %s in %s: %s", revised.ID, revised.ContextID, revised.Status.State)
		}
		if csv := report(t, revised); !strings.Contains(csv, "left_out,L-0274,") || strings.Contains(csv, "_adjustment,") {
			t.Errorf("the revised report:\n%s", csv[:600])
		}
		if md := revised.Artifacts[0].Parts[0].Text(); !strings.Contains(md, "revises the report of task "+string(first.ID)+": 1 row left out") {
			t.Errorf("the revised report:\n%s", md)
		}
		p.wantRecord(t, "m-91", 1, 1, 1)
	})
}

// A decision is not asked for again by a revision of a revision.
func TestRevisionOfRevision(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		p.send(ctx, t, answer("m-72", asked, a2a.NewTextPart("reject by Jane Doe")))
		p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
		second := p.send(ctx, t, refinement("m-73", "c-recon-09", a2a.NewTextPart("leave out bank fees"), asked.ID))
		third := p.send(ctx, t, refinement("m-74", "c-recon-09", a2a.NewDataPart(map[string]any{"exclude": []any{"L-0197"}}), second.ID))
		for _, want := range []string{"left_out,L-0197,", "left_out,,B-0299,", "rejected_adjustment,L-0274,", "rejected by Jane Doe"} {
			if csv := report(t, third); !strings.Contains(csv, want) {
				t.Errorf("the report lacks %q:\n%s", want, csv[:600])
			}
		}
		again := p.send(ctx, t, refinement("m-74", "c-recon-09", a2a.NewDataPart(map[string]any{"exclude": []any{"L-0197"}}), second.ID))
		if again.ID != third.ID {
			t.Errorf("the repeat made %s beside %s", again.ID, third.ID)
		}
	})
}

func TestRevisionOfUndecided(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		early := p.send(ctx, t, refinement("m-73", "c-recon-09", a2a.NewTextPart("leave out bank fees"), asked.ID))
		if early.Status.State != a2a.TaskStateRejected || !strings.Contains(early.Status.Message.Parts[0].Text(), "not finished") {
			t.Errorf("before the end: %+v", early.Status)
		}
		if _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: asked.ID}); err != nil {
			t.Fatal(err)
		}
		revised := p.send(ctx, t, refinement("m-74", "c-recon-09", a2a.NewTextPart("leave out bank fees"), asked.ID))
		if revised.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("the revision is in %s, want the question that nobody answered", revised.Status.State)
		}
		p.send(ctx, t, answer("m-75", revised, a2a.NewTextPart("approve")))
		p.until(ctx, t, revised.ID, a2a.TaskStateCompleted)
	})
}

func TestRevisionRefused(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Token = "s3cret" }, func(ctx context.Context, t *testing.T, p *peer) {
		done := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.until(ctx, t, done.ID, a2a.TaskStateCompleted)
		for want, req := range map[string]*a2a.SendMessageRequest{
			`"t-0" in referenceTaskIds is not known`: refinement("m-91", "c-recon-09", a2a.NewTextPart("Once more"), done.ID, "t-0"),
			"is in another context":                  refinement("m-92", "c-other", a2a.NewTextPart("Once more"), done.ID),
			"send its contextId":                     refinement("m-93", "", a2a.NewTextPart("Once more"), done.ID),
		} {
			task := p.send(ctx, t, req)
			if task.Status.State != a2a.TaskStateRejected || !strings.Contains(task.Status.Message.Parts[0].Text(), want) {
				t.Errorf("want %q, got %s: %s", want, task.Status.State, task.Status.Message.Parts[0].Text())
			}
		}
	})
}

func TestDirectReply(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		ping := words("m-1", "ping")
		ping.Message.ContextID = "c-1"
		first := p.reply(ctx, t, ping)
		if first.Parts[0].Text() != "pong" || first.ContextID != "c-1" {
			t.Errorf("reply %+v", first)
		}
		if again := p.reply(ctx, t, ping); again.ID != first.ID {
			t.Errorf("the repeat is answered by %s, not by %s again", again.ID, first.ID)
		}
		events := p.stream(ctx, t, words("m-2", "help"))
		if msg, ok := events[0].(*a2a.Message); len(events) != 1 || !ok || !strings.Contains(msg.Parts[0].Text(), "ledger.csv") {
			t.Errorf("streamed reply %+v", events)
		}
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{})
		if err != nil || len(list.Tasks) != 0 {
			t.Errorf("tasks %+v, %v", list, err)
		}
		if got := p.records(t)["m-1"]; got.Received != 2 || got.Replied != 1 || got.Accepted != 0 || len(got.TaskIDs) != 0 {
			t.Errorf("ledger has %+v", got)
		}
	})
}

func TestDirectReplyWithoutDedup(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Dedup = false }, func(ctx context.Context, t *testing.T, p *peer) {
		if first, again := p.reply(ctx, t, words("m-1", "ping")), p.reply(ctx, t, words("m-1", "ping")); first.ID == again.ID {
			t.Error("one reply for two sends")
		}
		if got := p.records(t)["m-1"]; got.Received != 2 || got.Replied != 2 || got.Accepted != 0 {
			t.Errorf("ledger has %+v", got)
		}
	})
}

func (p *peer) reply(ctx context.Context, t *testing.T, req *a2a.SendMessageRequest) *a2a.Message {
	t.Helper()
	result, err := p.SendMessage(ctx, req)
	if err != nil {
		t.Fatalf("SendMessage: %v", err)
	}
	msg, ok := result.(*a2a.Message)
	if !ok {
		t.Fatalf("SendMessage: got %#v, want a message", result)
	}
	return msg
}
