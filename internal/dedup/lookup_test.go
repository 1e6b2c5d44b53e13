// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// abandonedHandler is a handler in front of agent on a table where the first copy of m-71 has no known
// end. Its agent accepts what it gets as t-2.
func abandonedHandler(t *testing.T, agent *fakeAgent, options ...dedup.HandlerOption) *dedup.Handler {
	t.Helper()
	store := dedup.NewMemory()
	lost := errors.New("connection lost")
	broken := dedup.NewHandler(&fakeAgent{send: returns(nil, lost)}, store)
	_, err := broken.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "first copy", err, lost)
	agent.send, agent.stream = returns(task("t-2", a2a.TaskStateSubmitted), nil), events(task("t-2", a2a.TaskStateSubmitted))
	return dedup.NewHandler(agent, store, options...)
}

func found(outcome dedup.Binding, ok bool, err error) dedup.HandlerOption {
	return dedup.WithLookup(func(_ context.Context, key dedup.Key) (dedup.Binding, bool, error) {
		if key.MessageID != "m-71" {
			return dedup.Binding{}, false, errors.New("another message was looked up")
		}
		return outcome, ok, err
	})
}

func TestAbandonedMessageIsFound(t *testing.T) {
	agent := &fakeAgent{task: task("t-1", a2a.TaskStateWorking)}
	h := abandonedHandler(t, agent, found(dedup.Binding{TaskID: "t-1"}, true, nil))
	for range 2 {
		got, err := h.SendMessage(t.Context(), request("m-71", "x"))
		wantTask(t, "repeat", got, err, "t-1")
	}
	_, err := h.SendMessage(t.Context(), request("m-71", "y"))
	wantErr(t, "other body", err, dedup.ErrMismatch)
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}

func TestAbandonedMessageIsNotThere(t *testing.T) {
	for name, send := range map[string]func(h *dedup.Handler) (a2a.Event, error){
		"send": func(h *dedup.Handler) (a2a.Event, error) { return h.SendMessage(t.Context(), request("m-71", "x")) },
		"stream": func(h *dedup.Handler) (a2a.Event, error) {
			all, err := drain(h.SendStreamingMessage(t.Context(), request("m-71", "x")))
			if len(all) != 1 {
				t.Fatalf("%d events, %v", len(all), err)
			}
			return all[0], err
		},
	} {
		agent := &fakeAgent{task: task("t-2", a2a.TaskStateWorking)}
		h := abandonedHandler(t, agent, found(dedup.Binding{}, false, nil))
		for range 2 {
			got, err := send(h)
			wantTask(t, name, got, err, "t-2")
		}
		if n := agent.sends.Load(); n != 1 {
			t.Errorf("%s: agent got %d sends, want 1", name, n)
		}
	}
}

func TestAbandonedMessageCantBeLookedUp(t *testing.T) {
	agent, down := &fakeAgent{}, errors.New("task store is down")
	h := abandonedHandler(t, agent, found(dedup.Binding{}, false, down))
	for range 2 { // the row was given up each time, and isn't in progress
		_, err := h.SendMessage(t.Context(), request("m-71", "x"))
		wantErr(t, "repeat", err, down, a2a.ErrInternalError)
	}
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}

func TestAbandonedMessageWithoutALookup(t *testing.T) {
	agent := &fakeAgent{}
	h := abandonedHandler(t, agent)
	for range 2 {
		_, err := h.SendMessage(t.Context(), request("m-71", "x"))
		wantErr(t, "repeat", err, dedup.ErrOutcomeUnknown, a2a.ErrServerError)
		if got := dedup.Reason(err); got != dedup.ReasonOutcomeUnknown {
			t.Errorf("reason %q", got)
		}
	}
	_, err := drain(h.SendStreamingMessage(t.Context(), request("m-71", "x")))
	wantErr(t, "repeated stream", err, dedup.ErrOutcomeUnknown)
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}

// A look-up that names no outcome is a defect: the row stays open.
func TestLookupThatFindsNothingInParticular(t *testing.T) {
	agent := &fakeAgent{}
	h := abandonedHandler(t, agent, found(dedup.Binding{}, true, nil))
	_, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "repeat", err, dedup.ErrOutcome, a2a.ErrInternalError)
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}

// A look-up that takes longer than the lease has lost the row: its answer allows nothing any more.
func TestLookupThatOutlivesTheLease(t *testing.T) {
	agent, clock := &fakeAgent{task: task("t-2", a2a.TaskStateWorking)}, newClock()
	slow := dedup.WithLookup(func(context.Context, dedup.Key) (dedup.Binding, bool, error) {
		clock.pass(time.Hour)
		return dedup.Binding{}, false, nil
	})
	h := abandonedHandler(t, agent, slow, dedup.WithClock(clock.Now), dedup.WithLease(time.Hour))
	clock.pass(time.Since(clock.Now())) // the first copy's claim is of the real time
	_, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "repeat", err, dedup.ErrInProgress)
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}
