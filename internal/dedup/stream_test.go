// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

func drain(events iter.Seq2[a2a.Event, error]) ([]a2a.Event, error) {
	var all []a2a.Event
	for event, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, event)
	}
	return all, nil
}

func events(all ...a2a.Event) func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
		return func(yield func(a2a.Event, error) bool) {
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func fails(err error) func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
}

func TestStreamPassesEveryEvent(t *testing.T) {
	made := task("t-1", a2a.TaskStateSubmitted)
	done := a2a.NewStatusUpdateEvent(made, a2a.TaskStateCompleted, nil)
	agent := &fakeAgent{stream: events(made, done), task: task("t-1", a2a.TaskStateCompleted)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	got, err := drain(h.SendStreamingMessage(t.Context(), request("m-71", "x")))
	if err != nil || len(got) != 2 || got[0] != a2a.Event(made) || got[1] != a2a.Event(done) {
		t.Fatalf("first stream: %v, %v", got, err)
	}
	got, err = drain(h.SendStreamingMessage(t.Context(), request("m-71", "x")))
	if err != nil || len(got) != 1 {
		t.Fatalf("repeated stream: %v, %v: want the task alone", got, err)
	}
	wantTask(t, "repeated stream", got[0], nil, "t-1")
	sent, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantTask(t, "repeat without a stream", sent, err, "t-1")
	_, err = drain(h.SendStreamingMessage(t.Context(), request("m-71", "y")))
	wantErr(t, "other body", err, dedup.ErrMismatch)
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("agent got %d sends, want 1", n)
	}
}

func TestStreamErrors(t *testing.T) {
	agent := &fakeAgent{stream: fails(a2a.ErrUnsupportedOperation)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	for range 2 { // the refusal released the row, so that it is refused again, not held up
		_, err := drain(h.SendStreamingMessage(t.Context(), request("m-1", "x")))
		wantErr(t, "refused stream", err, a2a.ErrUnsupportedOperation)
	}
	agent.stream = events()
	_, err := drain(h.SendStreamingMessage(t.Context(), request("m-2", "x")))
	wantErr(t, "empty stream", err, a2a.ErrInvalidAgentResponse)
	_, err = drain(h.SendStreamingMessage(t.Context(), request("m-2", "x")))
	wantErr(t, "after an empty stream", err, dedup.ErrOutcomeUnknown)
}

// heldStream gives its first event when told and then waits for its end, which is the context's.
type heldStream struct {
	entered, first, ended chan struct{}
}

func (s heldStream) open(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		defer close(s.ended)
		close(s.entered)
		<-s.first
		if yield(task("t-1", a2a.TaskStateSubmitted), nil) {
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

func TestStreamClientThatLeavesBeforeTheFirstEvent(t *testing.T) {
	held := heldStream{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	agent := &fakeAgent{stream: held.open, task: task("t-1", a2a.TaskStateWorking)}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	ctx, hangUp := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = drain(h.SendStreamingMessage(ctx, request("m-71", "x")))
	}()
	<-held.entered
	hangUp()
	<-left
	close(held.first)
	<-held.ended
	until(t, "row bound", func() bool {
		got, err := h.SendMessage(t.Context(), request("m-71", "x"))
		return err == nil && got.TaskInfo().TaskID == "t-1"
	})
}

func TestStreamClientThatLeavesLater(t *testing.T) {
	held := heldStream{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	close(held.first)
	h := dedup.NewHandler(&fakeAgent{stream: held.open}, dedup.NewMemory())
	for event, err := range h.SendStreamingMessage(t.Context(), request("m-71", "x")) {
		wantTask(t, "first event", event, err, "t-1")
		break
	}
	<-held.ended // the stream behind was dropped, not left to wait for its next event
}
