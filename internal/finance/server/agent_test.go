package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
)

func (p *peer) stream(ctx context.Context, t *testing.T, req *a2a.SendMessageRequest) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for event, err := range p.SendStreamingMessage(ctx, req) {
		if err != nil {
			t.Fatalf("SendStreamingMessage: %v", err)
		}
		events = append(events, event)
	}
	if len(events) == 0 {
		t.Fatal("SendStreamingMessage: no events")
	}
	return events
}

func golden(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReconciliation(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		blocking := reconciliation(t, "m-71", "c-recon-09")
		blocking.Config = nil
		task := p.send(ctx, t, blocking)
		if task.Status.State != a2a.TaskStateCompleted || task.ContextID != "c-recon-09" || !hasMessage(task, "m-71") {
			t.Fatalf("task %+v", task.Status)
		}
		for _, artifact := range task.Artifacts {
			part := artifact.Parts[0]
			if want := golden(t, artifact.Name); part.Text() != want || part.Filename != artifact.Name {
				t.Errorf("artifact %s differs from the golden file", artifact.Name)
			}
		}
		if len(task.Artifacts) != 2 || task.Artifacts[0].Name != agent.MarkdownArtifact || task.Artifacts[1].Name != agent.CSVArtifact {
			t.Errorf("%d artifacts", len(task.Artifacts))
		}
	})
}

func TestStatesInOrder(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Delay = 20 * time.Millisecond }, func(ctx context.Context, t *testing.T, p *peer) {
		start := time.Now()
		var states []string
		for _, event := range p.stream(ctx, t, reconciliation(t, "m-71", "c-recon-09")) {
			switch e := event.(type) {
			case *a2a.Task:
				states = append(states, string(e.Status.State))
			case *a2a.TaskStatusUpdateEvent:
				states = append(states, string(e.Status.State))
			}
		}
		if got := strings.Join(states, " "); got != "TASK_STATE_SUBMITTED TASK_STATE_WORKING TASK_STATE_COMPLETED" {
			t.Errorf("states %s", got)
		}
		if took := time.Since(start); took < 20*time.Millisecond {
			t.Errorf("completed after %v, before the delay", took)
		}
	})
}

func TestMissingTables(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		req := words("m-71", "Reconcile, please")
		req.Config = nil
		task := p.send(ctx, t, req)
		if task.Status.State != a2a.TaskStateRejected || !strings.Contains(task.Status.Message.Parts[0].Text(), agent.HowToSend) {
			t.Errorf("status %+v", task.Status)
		}
	})
}

func TestLookupByContext(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		mine := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.send(ctx, t, reconciliation(t, "m-72", "c-other"))
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
		if err != nil {
			t.Fatalf("ListTasks: %v", err)
		}
		if len(list.Tasks) != 1 || list.Tasks[0].ID != mine.ID || !hasMessage(list.Tasks[0], "m-71") {
			t.Errorf("listed %d tasks, want %s with m-71 in its history", len(list.Tasks), mine.ID)
		}
	})
}

func TestHiddenHistory(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.History = false }, func(ctx context.Context, t *testing.T, p *peer) {
		sent := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		answers := map[string]*a2a.Task{
			"SendMessage":          sent,
			"GetTask":              p.until(ctx, t, sent.ID, a2a.TaskStateCompleted),
			"repeated message":     p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09")),
			"SendStreamingMessage": p.stream(ctx, t, reconciliation(t, "m-72", "c-stream"))[0].(*a2a.Task),
		}
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09", IncludeArtifacts: true})
		if err != nil || len(list.Tasks) != 1 {
			t.Fatalf("ListTasks: %+v, %v", list, err)
		}
		answers["ListTasks"] = list.Tasks[0]
		for name, task := range answers {
			if len(task.History) != 0 {
				t.Errorf("%s shows %d messages", name, len(task.History))
			}
		}
		if len(list.Tasks[0].Artifacts) != 2 {
			t.Error("the artifacts went with the history")
		}
	})
}

func TestCancel(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Delay = time.Hour }, func(ctx context.Context, t *testing.T, p *peer) {
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		for range 2 { // cancelling is idempotent (A2A 1.0, section 3.3.1)
			canceled, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			if err != nil || canceled.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("CancelTask: %+v, %v", canceled, err)
			}
		}
		if got := p.get(ctx, t, task.ID); got.Status.State != a2a.TaskStateCanceled || len(got.Artifacts) != 0 {
			t.Errorf("task is %s with %d artifacts", got.Status.State, len(got.Artifacts))
		}
		if _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "t-0"}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("cancel of no task: %v", err)
		}
	})
}

func TestCancelTooLate(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.until(ctx, t, task.ID, a2a.TaskStateCompleted)
		if _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("error %v, want TaskNotCancelable", err)
		}
	})
}

func TestCard(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"defaults":      func(*Config) {},
		"without dedup": func(c *Config) { c.Dedup = false },
		"public URL":    func(c *Config) { c.PublicURL = "https://finance.example.com/agents" },
		"bearer":        func(c *Config) { c.Token = "s3cret" },
	} {
		t.Run(name, func(t *testing.T) {
			onEachBinding(t, change, func(ctx context.Context, t *testing.T, p *peer) {
				cfg := Defaults()
				change(&cfg)
				checkCard(ctx, t, p, cfg)
			})
		})
	}
}

func checkCard(ctx context.Context, t *testing.T, p *peer, cfg Config) {
	t.Helper()
	got, err := agentcard.DefaultResolver.Resolve(ctx, p.base)
	if err != nil {
		t.Fatalf("card: %v", err)
	}
	base := p.base
	if cfg.PublicURL != "" {
		base = cfg.PublicURL
	}
	if len(got.SupportedInterfaces) != 2 || got.SupportedInterfaces[0].URL != base+JSONRPCPath || got.SupportedInterfaces[1].URL != base+RESTPath ||
		got.SupportedInterfaces[0].ProtocolVersion != "1.0" || !got.Capabilities.Streaming || len(got.Skills) != 1 {
		t.Errorf("card %+v", got)
	}
	wantExtensions := 0
	if cfg.Dedup {
		wantExtensions = 1
	}
	if len(got.Capabilities.Extensions) != wantExtensions {
		t.Errorf("extensions %+v", got.Capabilities.Extensions)
	}
	for _, ext := range got.Capabilities.Extensions {
		if ext.URI != dedup.ExtensionURI || ext.Params[dedup.ParamRetention] != "72h" || ext.Required {
			t.Errorf("extension %+v", ext)
		}
	}
	if (cfg.Token != "") != (len(got.SecuritySchemes) == 1) {
		t.Errorf("security schemes %+v", got.SecuritySchemes)
	}
	if cfg.PublicURL != "" || cfg.Token != "" {
		return
	}
	client, err := a2aclient.NewFromCard(ctx, got)
	if err != nil {
		t.Fatalf("client from the card: %v", err)
	}
	if _, err := client.SendMessage(ctx, reconciliation(t, "m-71", "c-recon-09")); err != nil {
		t.Errorf("send by the card: %v", err)
	}
}
