package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

func TestRepeatedMessage(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		first := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.until(ctx, t, first.ID, a2a.TaskStateCompleted)
		again := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if again.ID != first.ID || again.Status.State != a2a.TaskStateCompleted || len(again.Artifacts) != 2 {
			t.Errorf("repeat gives %s in %s with %d artifacts, want %s as it is now", again.ID, again.Status.State, len(again.Artifacts), first.ID)
		}
		p.wantRecord(t, "m-71", 2, 1, 1)
	})
}

func TestRepeatedMessageWithoutDedup(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Dedup = false }, func(ctx context.Context, t *testing.T, p *peer) {
		first := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		again := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if first.ID == again.ID {
			t.Error("one task for two sends without deduplication")
		}
		p.wantRecord(t, "m-71", 2, 2, 1)
		if got := p.records(t)["m-71"].TaskIDs; len(got) != 2 || got[0] != first.ID || got[1] != again.ID {
			t.Errorf("ledger has tasks %v, want %s and %s", got, first.ID, again.ID)
		}
	})
}

// Identical sends that race make one task. A copy that comes while the first is being taken is told to
// come back, and gets the same task then.
func TestRaceMakesOneTask(t *testing.T) {
	const copies = 32
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		var (
			group sync.WaitGroup
			ids   [copies]a2a.TaskID
			gate  = make(chan struct{})
		)
		for i := range copies {
			req := reconciliation(t, "m-71", "c-recon-09")
			group.Go(func() {
				<-gate
				ids[i] = p.insist(ctx, t, req)
			})
		}
		close(gate)
		group.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("tasks %v for one message", ids)
			}
		}
		if got := p.records(t)["m-71"]; got.Accepted != 1 || got.Received < copies || got.Bodies != 1 {
			t.Errorf("ledger has %+v", got)
		}
	})
}

// insist sends until it is not told to come back any more.
func (p *peer) insist(ctx context.Context, t *testing.T, req *a2a.SendMessageRequest) a2a.TaskID {
	for {
		result, err := p.SendMessage(ctx, req)
		if err == nil {
			return result.TaskInfo().TaskID
		}
		if dedup.Reason(err) != dedup.ReasonInProgress || !errors.Is(err, a2a.ErrServerError) {
			t.Errorf("SendMessage: %v", err)
			return ""
		}
		time.Sleep(time.Millisecond)
	}
}

func TestOtherBody(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		_, err := p.SendMessage(ctx, reconciliation(t, "m-71", "c-other"))
		if !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("error %v, want InvalidParams", err)
		}
		wantReason(t, err, dedup.ReasonMismatch)
		p.wantRecord(t, "m-71", 2, 1, 2)
	})
}

// A repeat finds the task while the first copy still waits for the task's end, and doesn't wait itself.
func TestRepeatWhileTheFirstWaits(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Delay = time.Hour }, func(ctx context.Context, t *testing.T, p *peer) {
		waiting := reconciliation(t, "m-71", "c-recon-09")
		waiting.Config = nil
		first := make(chan error, 1)
		go func() {
			_, err := p.SendMessage(ctx, waiting)
			first <- err
		}()
		for p.records(t)["m-71"].Accepted == 0 {
			if ctx.Err() != nil {
				t.Fatal("no task")
			}
			time.Sleep(time.Millisecond)
		}
		id := p.insist(ctx, t, waiting)
		if _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
		if err := <-first; err != nil {
			t.Errorf("first copy: %v", err)
		}
		p.wantRecord(t, "m-71", 2, 1, 1)
	})
}

func TestRepeatedStream(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		first := p.stream(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		again := p.stream(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if len(again) != 1 || again[0].TaskInfo() != first[0].TaskInfo() {
			t.Errorf("repeated stream has %d events of %+v, want the task %+v alone", len(again), again[0].TaskInfo(), first[0].TaskInfo())
		}
		p.wantRecord(t, "m-71", 2, 1, 1)
	})
}

// A refused message leaves no row behind: it is refused again in the same words, not held up, and the
// agent's own refusals keep their identity.
func TestRefusalsAreReleased(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Delay = time.Hour }, func(ctx context.Context, t *testing.T, p *peer) {
		working := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		done := p.send(ctx, t, reconciliation(t, "m-70", "c-recon-08"))
		if _, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: done.ID}); err != nil {
			t.Fatal(err)
		}
		to := func(id a2a.TaskID, contextID string) *a2a.SendMessageRequest {
			req := words("m-90-"+string(id)+contextID, "again, please")
			req.Message.TaskID, req.Message.ContextID = id, contextID
			return req
		}
		null := words("m-91", "x")
		null.Message.Parts = append(null.Message.Parts, a2a.NewDataPart(map[string]any{"period": nil}))
		push := words("m-92", "x")
		push.Config.PushConfig = &a2a.PushConfig{URL: "http://localhost/hook"}
		for name, test := range map[string]struct {
			req  *a2a.SendMessageRequest
			want error
		}{
			"task in a terminal state": {to(done.ID, ""), a2a.ErrUnsupportedOperation},
			"task at work":             {to(working.ID, ""), a2a.ErrUnsupportedOperation},
			"task of another context":  {to(working.ID, "c-recon-08"), a2a.ErrInvalidParams},
			"no such task":             {to("t-0", ""), a2a.ErrTaskNotFound},
			"null":                     {null, a2a.ErrInvalidParams},
			"push notifications":       {push, a2a.ErrPushNotificationNotSupported},
		} {
			for range 2 {
				_, err := p.SendMessage(ctx, test.req)
				if !errors.Is(err, test.want) {
					t.Errorf("%s: error %v, want %v", name, err, test.want)
				}
				wantReason(t, err, "")
			}
			p.wantRecord(t, test.req.Message.ID, 2, 0, 1)
		}
	})
}
