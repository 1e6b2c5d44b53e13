// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

const patience = 10 * time.Second

// until waits for a row to be settled by a goroutine that nobody waits for.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func TestWhatReleasesARow(t *testing.T) {
	lost := errors.New("connection to the upstream lost")
	for name, test := range map[string]struct {
		err      error
		tracked  bool
		released bool
	}{
		"refused by name":                   {err: a2a.ErrUnsupportedOperation, released: true},
		"refused by name, wrapped":          {err: errors.Join(lost, a2a.ErrTaskNotFound), released: true},
		"unknown error":                     {err: lost},
		"internal error":                    {err: a2a.ErrInternalError},
		"unknown error, task store tracked": {err: lost, tracked: true, released: true},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &fakeAgent{send: returns(nil, test.err)}
			var options []dedup.HandlerOption
			if test.tracked {
				options = append(options, dedup.WithTracking())
			}
			h := dedup.NewHandler(agent, dedup.NewMemory(), options...)
			_, err := h.SendMessage(t.Context(), request("m-72", "yes"))
			wantErr(t, "first send", err, test.err)
			agent.send, agent.task = returns(task("t-1", a2a.TaskStateWorking), nil), task("t-1", a2a.TaskStateWorking)
			got, err := h.SendMessage(t.Context(), request("m-72", "yes"))
			if test.released {
				wantTask(t, "second send", got, err, "t-1")
			} else {
				wantErr(t, "second send", err, dedup.ErrOutcomeUnknown)
			}
		})
	}
}

// A task store that failed may have stored the task all the same: then the row must stay, also when the
// error reads like a refusal.
func TestTouchedTaskStoreKeepsTheRow(t *testing.T) {
	tasks := dedup.TrackTasks(failingTasks{})
	agent := &fakeAgent{send: func(ctx context.Context, _ *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		_, err := tasks.Create(ctx, task("t-1", a2a.TaskStateSubmitted))
		return nil, err
	}}
	h := dedup.NewHandler(agent, dedup.NewMemory(), dedup.WithTracking())
	_, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "first send", err, a2a.ErrInvalidParams)
	_, err = h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "second send", err, dedup.ErrOutcomeUnknown)
}

type failingTasks struct{ taskstore.Store }

func (failingTasks) Create(context.Context, *a2a.Task) (taskstore.TaskVersion, error) {
	return taskstore.TaskVersionMissing, a2a.ErrInvalidParams
}

// The row is bound as soon as the task is stored, long before a send that waits for its end returns.
func TestTrackedTaskBindsAtOnce(t *testing.T) {
	tasks := dedup.TrackTasks(taskstore.NewInMemory(nil))
	stored, finish := make(chan struct{}), make(chan struct{})
	agent := &fakeAgent{task: task("t-1", a2a.TaskStateWorking)}
	agent.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		if _, err := tasks.Create(ctx, agent.task); err != nil {
			return nil, err
		}
		close(stored)
		<-finish
		return nil, errors.New("lost after the task was made")
	}
	h := dedup.NewHandler(agent, dedup.NewMemory(), dedup.WithTracking())
	first := make(chan error, 1)
	go func() {
		_, err := h.SendMessage(t.Context(), request("m-71", "x"))
		first <- err
	}()
	<-stored
	got, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantTask(t, "while the first waits", got, err, "t-1")
	close(finish)
	if err := <-first; err == nil {
		t.Error("the first send's error was swallowed")
	}
	got, err = h.SendMessage(t.Context(), request("m-71", "x"))
	wantTask(t, "after the first failed", got, err, "t-1")
	if n := agent.sends.Load(); n != 1 {
		t.Errorf("agent got %d sends, want 1", n)
	}
}

// A client that hangs up changes nothing about what becomes of its message.
func TestClientThatLeaves(t *testing.T) {
	for name, outcome := range map[string]error{"accepted": nil, "refused": a2a.ErrUnsupportedOperation} {
		t.Run(name, func(t *testing.T) {
			entered, finish := make(chan struct{}), make(chan struct{})
			agent := &fakeAgent{task: task("t-1", a2a.TaskStateWorking)}
			agent.send = func(ctx context.Context, _ *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
				close(entered)
				<-finish
				if err := ctx.Err(); err != nil {
					t.Errorf("the send was canceled with its client: %v", err)
				}
				if outcome != nil {
					return nil, outcome
				}
				return agent.task, nil
			}
			h := dedup.NewHandler(agent, dedup.NewMemory())
			ctx, hangUp := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() {
				_, err := h.SendMessage(ctx, request("m-71", "x"))
				first <- err
			}()
			<-entered
			hangUp()
			wantErr(t, "client", <-first, context.Canceled)
			close(finish)
			until(t, "row settled", func() bool {
				agent.send = returns(agent.task, nil)
				got, err := h.SendMessage(t.Context(), request("m-71", "x"))
				return err == nil && got.TaskInfo().TaskID == "t-1"
			})
		})
	}
}

func TestPanicKeepsTheRow(t *testing.T) {
	boom := func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) { panic("boom") }
	agent := &fakeAgent{send: boom, stream: func(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
		return func(func(a2a.Event, error) bool) { panic("boom") }
	}}
	h := dedup.NewHandler(agent, dedup.NewMemory(), dedup.WithTracking())
	_, err := h.SendMessage(t.Context(), request("m-1", "x"))
	wantErr(t, "send", err, a2a.ErrInternalError)
	_, err = h.SendMessage(t.Context(), request("m-1", "x"))
	wantErr(t, "send again", err, dedup.ErrInProgress)
	_, err = drain(h.SendStreamingMessage(t.Context(), request("m-2", "x")))
	wantErr(t, "stream", err, a2a.ErrInternalError)
	_, err = drain(h.SendStreamingMessage(t.Context(), request("m-2", "x")))
	wantErr(t, "stream again", err, dedup.ErrInProgress)
}

// brokenStore fails on Insert: then nothing is executed, since nothing would protect it.
type brokenStore struct{ dedup.Store }

var errBroken = errors.New("table is down")

func (brokenStore) Insert(context.Context, dedup.Claim) (dedup.Row, bool, error) {
	return dedup.Row{}, false, errBroken
}

func (brokenStore) Release(context.Context, dedup.Key, string) error { return errBroken }

func TestBrokenStoreExecutesNothing(t *testing.T) {
	agent := &fakeAgent{}
	h := dedup.NewHandler(agent, brokenStore{})
	_, err := h.SendMessage(t.Context(), request("m-71", "x"))
	wantErr(t, "send", err, errBroken, a2a.ErrInternalError)
	_, err = drain(h.SendStreamingMessage(t.Context(), request("m-71", "x")))
	wantErr(t, "stream", err, errBroken)
	if n := agent.sends.Load(); n != 0 {
		t.Errorf("agent got %d sends, want none", n)
	}
}
