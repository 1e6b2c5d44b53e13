// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// worker makes a task of every message, and waits with it until it is canceled if the message says so.
type worker struct{}

func (worker) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		if x.Message.Parts[0].Text() == "wait" {
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateInputRequired, nil), nil)
			return
		}
		if yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("done")), nil) {
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

func (worker) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// named lets every caller in under one name; without it the SDK lists no tasks.
type named struct {
	a2asrv.PassthroughCallInterceptor
}

func (named) Before(ctx context.Context, c *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	c.User = a2asrv.NewAuthenticatedUser("test", nil)
	return ctx, nil, nil
}

// sdkHandler is an agent on the Go SDK, before it speaks a protocol binding.
func sdkHandler(options ...a2asrv.RequestHandlerOption) a2asrv.RequestHandler {
	return a2asrv.NewHandler(worker{}, append(options, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))...)
}

// The whole way against an agent on the Go SDK, over each binding.
func TestAgainstTheSDK(t *testing.T) {
	for _, b := range sdkBindings {
		t.Run(b.name, func(t *testing.T) { wholeWay(t, b) })
	}
}

func wholeWay(t *testing.T, b sdkBinding) {
	t.Helper()
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: a2asrv.NewTaskStoreAuthenticator()})
	walk(t, connect(t, b.open(t, sdkHandler(a2asrv.WithTaskStore(store), a2asrv.WithCallInterceptors(named{})), nil)), b.lists)
}

// walk sends a message that is done at once and one that waits, looks for them if the agent lists its tasks, and cancels.
func walk(t *testing.T, c *remote.Client, lists bool) {
	t.Helper()
	waiting := message()
	waiting.Message.ID, waiting.Message.Parts = "m-72", a2a.ContentParts{a2a.NewTextPart("wait")}

	first := c.Send(t.Context(), token(t), message())
	expectTask(t, first, outbox.Accepted, "")
	second := c.Send(t.Context(), token(t), waiting)
	expectTask(t, second, outbox.Accepted, "")

	// The SDK lists a task that has no time yet whatever time was asked for.
	awaitState(t, c, second.Task.ID, v1alpha1.TaskStateInputRequired)
	if lists {
		findAll(t, c, second.Task.ID)
	}
	expectTask(t, c.Get(t.Context(), first.Task.ID), outbox.Accepted, "")
	expectTask(t, c.Get(t.Context(), "t-none"), outbox.Absent, remote.ReasonTaskNotFound)

	if canceled := cancelAgain(t, c, second.Task.ID); canceled.Task == nil || canceled.Task.State != "TASK_STATE_CANCELED" {
		t.Errorf("%+v", canceled)
	}
	if again := c.Cancel(t.Context(), second.Task.ID); again.Outcome != outbox.Accepted && again.Reason != remote.ReasonTaskNotCancelable {
		t.Errorf("%+v", again)
	}
	if ex := c.Cancel(t.Context(), "t-none"); ex.Outcome != outbox.Absent {
		t.Errorf("%+v", ex)
	}
}

// findAll searches for the message m-72, which has the task id, and for one that nobody sent.
func findAll(t *testing.T, c *remote.Client, id string) {
	t.Helper()
	found := c.Find(t.Context(), outbox.Query{MessageID: "m-72", ContextID: "c-1"})
	expectTask(t, found, outbox.Accepted, "")
	if found.Task.ID != id {
		t.Errorf("found %s, sent %s", found.Task.ID, id)
	}
	expect(t, c.Find(t.Context(), outbox.Query{MessageID: "m-73", ContextID: "c-1"}), outbox.Absent, remote.ReasonMessageNotFound)
	since := c.Find(t.Context(), outbox.Query{MessageID: "m-72", After: time.Now().Add(-time.Hour)})
	expectTask(t, since, outbox.Accepted, "")
	ahead := outbox.Query{MessageID: "m-72", After: time.Now().Add(time.Hour)}
	expect(t, c.Find(t.Context(), ahead), outbox.Absent, remote.ReasonMessageNotFound)
}

func awaitState(t *testing.T, c *remote.Client, id string, state v1alpha1.TaskState) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ex := c.Get(t.Context(), id); ex.Task != nil && ex.Task.State == state {
			return
		}
	}
	t.Fatalf("task %s did not come to be in state %s", id, state)
}

// cancelAgain cancels until the agent is no longer busy with the task.
func cancelAgain(t *testing.T, c *remote.Client, id string) outbox.Exchange {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ex := c.Cancel(t.Context(), id); ex.Outcome != outbox.Ambiguous {
			return ex
		}
	}
	t.Fatal("timed out waiting for the agent to cancel")
	return outbox.Exchange{}
}

func TestTheSDKListsNothingToACallerWithoutAName(t *testing.T) {
	for _, b := range sdkBindings {
		t.Run(b.name, func(t *testing.T) {
			c := connect(t, b.open(t, sdkHandler(), nil))
			expect(t, c.Find(t.Context(), outbox.Query{MessageID: "m-71"}), outbox.Refused, remote.ReasonLookupUnsupported)
		})
	}
}
