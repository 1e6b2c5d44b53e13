// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// fakeAgent answers sends as told and knows one task.
type fakeAgent struct {
	a2asrv.RequestHandler // panics on calls that no test expects
	send                  func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	stream                func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
	task                  *a2a.Task
	sends                 atomic.Int32
}

func (f *fakeAgent) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	f.sends.Add(1)
	return f.send(ctx, req)
}

func (f *fakeAgent) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	f.sends.Add(1)
	return f.stream(ctx, req)
}

func (f *fakeAgent) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if f.task == nil || f.task.ID != req.ID {
		return nil, a2a.ErrTaskNotFound
	}
	return f.task, nil
}

func returns(result a2a.SendMessageResult, err error) func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) { return result, err }
}

func task(id a2a.TaskID, state a2a.TaskState) *a2a.Task {
	return &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: state}}
}

func request(id, text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		ID: id, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(text)},
	}}
}

func as(ctx context.Context, user *a2asrv.User) context.Context {
	ctx, call := a2asrv.NewCallContext(ctx, nil)
	call.User = user
	return ctx
}

func wantTask(t *testing.T, what string, got a2a.Event, err error, id a2a.TaskID) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if task, ok := got.(*a2a.Task); !ok || task.ID != id {
		t.Fatalf("%s: got %#v, want task %s", what, got, id)
	}
}

func wantErr(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("%s: error %v, want %v", what, err, w)
		}
	}
}

func TestRepeatReturnsTheTaskAsItIsNow(t *testing.T) {
	agent := &fakeAgent{send: returns(task("t-5a", a2a.TaskStateSubmitted), nil), task: task("t-5a", a2a.TaskStateWorking)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	got, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantTask(t, "first", got, err, "t-5a")
	for range 3 {
		got, err = h.SendMessage(t.Context(), request("m-71", "x"))
		wantTask(t, "repeat", got, err, "t-5a")
		if state := got.(*a2a.Task).Status.State; state != a2a.TaskStateWorking {
			t.Errorf("repeat shows state %s, want the current one", state)
		}
	}
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("agent got %d sends, want 1", n)
	}
	agent.task = nil
	_, err = h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "repeat of a purged task", err, a2a.ErrTaskNotFound)
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("a purged task was made again: %d sends", n)
	}
}

func TestOtherBodyIsAMismatch(t *testing.T) {
	agent := &fakeAgent{send: returns(task("t-1", a2a.TaskStateSubmitted), nil)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	if _, err := h.SendMessage(t.Context(), request("m-71", "x")); err != nil {
		t.Fatal(err)
	}
	_, err := h.SendMessage(t.Context(), request("m-71", "y"))
	wantErr(t, "other body", err, dedup.ErrMismatch, a2a.ErrInvalidParams)
	if got := dedup.Reason(err); got != dedup.ReasonMismatch {
		t.Errorf("reason %q", got)
	}
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("agent got %d sends, want 1", n)
	}
}

func TestFirstCopyStillRunning(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	agent := &fakeAgent{task: task("t-1", a2a.TaskStateWorking)}
	agent.send = func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		close(entered)
		<-finish
		return agent.task, nil
	}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	first := make(chan error, 1)
	go func() {
		_, err := h.SendMessage(t.Context(), request("m-71", "x"))
		first <- err
	}()
	<-entered
	_, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "second copy", err, dedup.ErrInProgress, a2a.ErrServerError)
	if got := dedup.Reason(err); got != dedup.ReasonInProgress {
		t.Errorf("reason %q", got)
	}
	_, err = h.SendMessage(t.Context(), request("m-71", "y"))
	wantErr(t, "second copy with another body", err, dedup.ErrMismatch)
	close(finish)
	if err := <-first; err != nil {
		t.Fatalf("first copy: %v", err)
	}
	got, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantTask(t, "after the first", got, err, "t-1")
}

func TestPrincipalsDoNotShareIds(t *testing.T) {
	agent := &fakeAgent{send: returns(task("t-1", a2a.TaskStateSubmitted), nil), task: task("t-1", a2a.TaskStateWorking)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	send := func(ctx context.Context) {
		t.Helper()
		_, err := h.SendMessage(ctx, request("m-71", "x"))
		if err != nil {
			t.Fatal(err)
		}
	}
	send(as(t.Context(), a2asrv.NewAuthenticatedUser("alice", nil)))
	send(as(t.Context(), a2asrv.NewAuthenticatedUser("bob", nil)))
	send(t.Context())
	if n := agent.sends.Load(); n != 3 {
		t.Errorf("agent got %d sends, want one per principal", n)
	}
	// A name that nobody checked is no principal, and a missing user is the same anonymous caller.
	send(as(t.Context(), &a2asrv.User{Name: "mallory"}))
	send(as(t.Context(), nil))
	if n := agent.sends.Load(); n != 3 {
		t.Errorf("agent got %d sends: callers that are not authenticated differ", n)
	}
}

func TestDirectReplyIsKept(t *testing.T) {
	reply := &a2a.Message{ID: "r-1", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("done")}}
	agent := &fakeAgent{send: returns(reply, nil)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	for range 2 {
		got, err := h.SendMessage(t.Context(), request("m-71", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := got.(*a2a.Message); !ok || msg.ID != "r-1" || msg.Parts[0].Text() != "done" {
			t.Fatalf("got %#v", got)
		}
	}
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("agent got %d sends, want 1", n)
	}
}

func TestNothingToDeduplicateBy(t *testing.T) {
	agent := &fakeAgent{send: returns(nil, a2a.ErrInvalidParams)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	for _, req := range []*a2a.SendMessageRequest{nil, {}, request("", "x"), request("", "x")} {
		_, err := h.SendMessage(t.Context(), req)
		wantErr(t, "message without id", err, a2a.ErrInvalidParams)
	}
	if n := agent.sends.Load(); n != 4 {
		t.Errorf("agent got %d sends, want all 4", n)
	}
}

func TestRetentionAndClock(t *testing.T) {
	now := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	agent := &fakeAgent{send: returns(task("t-1", a2a.TaskStateCompleted), nil), task: task("t-1", a2a.TaskStateCompleted)}
	h := dedup.NewHandler(agent, dedup.NewMemory(), dedup.WithRetention(time.Hour), dedup.WithClock(func() time.Time { return now }))
	for _, step := range []struct {
		after time.Duration
		sends int32
	}{{0, 1}, {59 * time.Minute, 1}, {time.Minute, 2}} {
		now = now.Add(step.after)
		if _, err := h.SendMessage(t.Context(), request("m-71", "x")); err != nil {
			t.Fatal(err)
		}
		if n := agent.sends.Load(); n != step.sends {
			t.Errorf("at %v: %d sends, want %d", now, n, step.sends)
		}
	}
}
