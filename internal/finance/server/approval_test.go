package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

func asking(c *Config) { c.Approval = true }

// answer is a message that continues a task.
func answer(id string, task *a2a.Task, parts ...*a2a.Part) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	msg.ID, msg.TaskID, msg.ContextID = id, task.ID, task.ContextID
	return &a2a.SendMessageRequest{Message: msg, Config: &a2a.SendMessageConfig{ReturnImmediately: true}}
}

// question sends the worked example's message and waits for the agent's question.
func (p *peer) question(ctx context.Context, t *testing.T) *a2a.Task {
	t.Helper()
	task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
	return p.until(ctx, t, task.ID, a2a.TaskStateInputRequired)
}

// said are the ids of the user's messages, with a question mark for each of the agent's.
func said(task *a2a.Task) string {
	var ids []string
	for _, msg := range task.History {
		if msg.Role == a2a.MessageRoleUser {
			ids = append(ids, msg.ID)
		} else {
			ids = append(ids, "?")
		}
	}
	return strings.Join(ids, " ")
}

func report(t *testing.T, task *a2a.Task) string {
	t.Helper()
	for _, artifact := range task.Artifacts {
		if artifact.Name == agent.CSVArtifact {
			return artifact.Parts[0].Text()
		}
	}
	t.Fatalf("task %s in %s has no report", task.ID, task.Status.State)
	return ""
}

func TestQuestionAndAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		part *a2a.Part
		want string
	}{
		"approved as data": {a2a.NewDataPart(map[string]any{"approve": true, "by": "Jane Doe"}), "approved by Jane Doe"},
		"approved in text": {a2a.NewTextPart("approve"), "approved by the sender of m-72"},
		"rejected":         {a2a.NewTextPart("reject by Jane Doe"), "rejected by Jane Doe"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
				asked := p.question(ctx, t)
				text := asked.Status.Message.Parts[0].Text()
				for _, want := range []string{"L-0274", "ADJ-0926-1", "-48250.00", `"approve"`, `"reject"`} {
					if !strings.Contains(text, want) {
						t.Errorf("the question lacks %s: %s", want, text)
					}
				}
				if len(asked.Artifacts) != 0 {
					t.Error("a report before the answer")
				}
				sent := p.send(ctx, t, answer("m-72", asked, test.part))
				if sent.ID != asked.ID || !sent.Status.Timestamp.After(*asked.Status.Timestamp) {
					t.Errorf("the answer gave %s at %v", sent.ID, sent.Status.Timestamp)
				}
				done := p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
				category, _, _ := strings.Cut(test.want, " ")
				if csv := report(t, done); !strings.Contains(csv, category+"_adjustment,L-0274,") || !strings.Contains(csv, test.want) {
					t.Errorf("the report lacks %q:\n%s", test.want, csv[:600])
				}
				if said(done) != "m-71 ? m-72" || !strings.Contains(done.Status.Message.Parts[0].Text(), test.want) {
					t.Errorf("history %q, end %q", said(done), done.Status.Message.Parts[0].Text())
				}
				p.wantRecord(t, "m-71", 1, 1, 1)
				p.wantContinued(t, "m-72", 1, 1)
			})
		})
	}
}

func TestUnclearAnswer(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		blocking := answer("m-72", asked, a2a.NewTextPart("What is it for?"))
		blocking.Config = nil
		again := p.send(ctx, t, blocking)
		if again.ID != asked.ID || again.Status.State != a2a.TaskStateInputRequired || !again.Status.Timestamp.After(*asked.Status.Timestamp) {
			t.Fatalf("after an unclear answer %s is in %s since %v", again.ID, again.Status.State, again.Status.Timestamp)
		}
		if text := again.Status.Message.Parts[0].Text(); !strings.HasPrefix(text, "The answer was not understood.") {
			t.Errorf("asked again: %s", text)
		}
		p.send(ctx, t, answer("m-73", asked, a2a.NewTextPart("approve")))
		if done := p.until(ctx, t, asked.ID, a2a.TaskStateCompleted); said(done) != "m-71 ? m-72 ? m-73" {
			t.Errorf("history %q", said(done))
		}
	})
}

func TestStreamedAnswer(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		first := p.stream(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		last, ok := first[len(first)-1].(*a2a.TaskStatusUpdateEvent)
		if !ok || last.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("the stream ends with %+v", first[len(first)-1])
		}
		events := p.stream(ctx, t, answer("m-72", p.get(ctx, t, last.TaskID), a2a.NewTextPart("approve")))
		task, ok := events[0].(*a2a.Task)
		if !ok || task.ID != last.TaskID || task.Status.State != a2a.TaskStateWorking || said(task) != "m-71 ? m-72" {
			t.Errorf("the stream of the answer begins with %+v", events[0])
		}
		if end, ok := events[len(events)-1].(*a2a.TaskStatusUpdateEvent); !ok || end.Status.State != a2a.TaskStateCompleted {
			t.Errorf("and ends with %+v", events[len(events)-1])
		}
	})
}

func TestRepeatedAnswer(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		unclear := answer("m-72", asked, a2a.NewTextPart("hm"))
		p.send(ctx, t, unclear)
		again := p.until(ctx, t, asked.ID, a2a.TaskStateInputRequired)
		if repeat := p.send(ctx, t, unclear); repeat.ID != asked.ID || repeat.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("repeat gives %s in %s", repeat.ID, repeat.Status.State)
		}
		if now := p.get(ctx, t, asked.ID); !now.Status.Timestamp.Equal(*again.Status.Timestamp) || said(now) != said(again) {
			t.Errorf("the repeat did something: %s at %v, before %s at %v", said(now), now.Status.Timestamp, said(again), again.Status.Timestamp)
		}
		p.wantContinued(t, "m-72", 2, 1)

		approval := answer("m-73", asked, a2a.NewTextPart("approve"))
		p.send(ctx, t, approval)
		p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
		if repeat := p.send(ctx, t, approval); repeat.Status.State != a2a.TaskStateCompleted || len(repeat.Artifacts) != 2 || said(repeat) != "m-71 ? m-72 ? m-73" {
			t.Errorf("repeat gives %s with %d artifacts, history %s", repeat.Status.State, len(repeat.Artifacts), said(repeat))
		}
		p.wantContinued(t, "m-73", 2, 1)
	})
}

// Without deduplication a copy of an answer is taken as often as the task waits for one.
func TestRepeatedAnswerWithoutDedup(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no dedup":         func(c *Config) { c.Approval, c.Dedup = true, false },
		"promise not kept": func(c *Config) { c.Approval, c.Faults.DuplicateTasks = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			onEachBinding(t, change, func(ctx context.Context, t *testing.T, p *peer) {
				asked := p.question(ctx, t)
				unclear := answer("m-72", asked, a2a.NewTextPart("hm"))
				unclear.Config = nil
				first, second := p.send(ctx, t, unclear), p.send(ctx, t, unclear)
				if !second.Status.Timestamp.After(*first.Status.Timestamp) || said(second) != "m-71 ? m-72 ? m-72" {
					t.Errorf("after the copy: history %s at %v, before at %v", said(second), second.Status.Timestamp, first.Status.Timestamp)
				}
				p.wantContinued(t, "m-72", 2, 2)

				approval := answer("m-73", asked, a2a.NewTextPart("approve"))
				approval.Config = nil
				p.send(ctx, t, approval)
				if _, err := p.SendMessage(ctx, approval); !errors.Is(err, a2a.ErrUnsupportedOperation) {
					t.Errorf("a copy to the completed task: %v", err)
				}
				p.wantContinued(t, "m-73", 2, 1)
			})
		})
	}
}

// Two answers to one question: one is taken, the other refused by name, never an internal error.
func TestAnswersThatRace(t *testing.T) {
	const answers = 8
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		var (
			group sync.WaitGroup
			errs  [answers]error
			gate  = make(chan struct{})
		)
		for i := range answers {
			req := answer("m-72-"+string(rune('a'+i)), asked, a2a.NewTextPart("approve"))
			group.Go(func() {
				<-gate
				_, errs[i] = p.SendMessage(ctx, req)
			})
		}
		close(gate)
		group.Wait()
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, a2a.ErrUnsupportedOperation):
				t.Errorf("a late answer: %v", err)
			}
		}
		continued := 0
		for _, record := range p.records(t) {
			continued += record.Continued
		}
		if taken != 1 || continued != 1 {
			t.Errorf("%d answers were taken, %d by the ledger", taken, continued)
		}
		p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
	})
}

// A client that answers the moment it sees the question is never told to come back.
func TestFastAnswers(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		for _, event := range p.stream(ctx, t, reconciliation(t, "m-71", "c-recon-09")) {
			if e, ok := event.(*a2a.TaskStatusUpdateEvent); !ok || e.Status.State != a2a.TaskStateInputRequired {
				continue
			}
			asked := &a2a.Task{ID: event.TaskInfo().TaskID, ContextID: event.TaskInfo().ContextID}
			for i := range 20 {
				p.send(ctx, t, answer("m-72-"+string(rune('a'+i)), asked, a2a.NewTextPart("hm")))
				p.until(ctx, t, asked.ID, a2a.TaskStateInputRequired)
			}
		}
	})
}

func TestAnswersThatAreRefused(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		elsewhere := answer("m-72", asked, a2a.NewTextPart("approve"))
		elsewhere.Message.ContextID = "c-other"
		asAgent := answer("m-73", asked, a2a.NewTextPart("approve"))
		asAgent.Message.Role = a2a.MessageRoleAgent
		empty := answer("m-74", asked)
		for name, req := range map[string]*a2a.SendMessageRequest{"another context": elsewhere, "as the agent": asAgent, "no parts": empty} {
			if _, err := p.SendMessage(ctx, req); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// None of them holds the task up.
		p.send(ctx, t, answer("m-75", asked, a2a.NewTextPart("approve")))
		p.until(ctx, t, asked.ID, a2a.TaskStateCompleted)
		if _, err := p.SendMessage(ctx, answer("m-90", asked, a2a.NewTextPart("approve"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("to the completed task: %v", err)
		}
	})
}

func TestAnswerToWorkingTask(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Delay = time.Hour }, func(ctx context.Context, t *testing.T, p *peer) {
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if _, err := p.SendMessage(ctx, answer("m-72", task, a2a.NewTextPart("approve"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCancelOfQuestion(t *testing.T) {
	onEachBinding(t, asking, func(ctx context.Context, t *testing.T, p *peer) {
		asked := p.question(ctx, t)
		if canceled, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: asked.ID}); err != nil || canceled.Status.State != a2a.TaskStateCanceled {
			t.Fatalf("CancelTask: %+v, %v", canceled, err)
		}
		if _, err := p.SendMessage(ctx, answer("m-72", asked, a2a.NewTextPart("approve"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("answer to the canceled task: %v", err)
		}
		p.wantContinued(t, "m-72", 1, 0)
	})
}
