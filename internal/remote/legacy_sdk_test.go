// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"

	legacy "github.com/a2aproject/a2a-go/a2a"
	legacysrv "github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// legacyWorker is worker on the Go SDK of A2A 0.3.
type legacyWorker struct{}

func (legacyWorker) Execute(ctx context.Context, x *legacysrv.RequestContext, queue eventqueue.Queue) error {
	events := []legacy.Event{legacy.NewSubmittedTask(x, x.Message)}
	if text, ok := x.Message.Parts[0].(legacy.TextPart); ok && text.Text == "wait" {
		asked := legacy.NewStatusUpdateEvent(x, legacy.TaskStateInputRequired, nil)
		asked.Final = true
		events = append(events, asked)
	} else {
		done := legacy.NewStatusUpdateEvent(x, legacy.TaskStateCompleted, nil)
		done.Final = true
		events = append(events, legacy.NewArtifactEvent(x, legacy.TextPart{Text: "done"}), done)
	}
	for _, e := range events {
		if err := queue.Write(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (legacyWorker) Cancel(ctx context.Context, x *legacysrv.RequestContext, queue eventqueue.Queue) error {
	canceled := legacy.NewStatusUpdateEvent(x, legacy.TaskStateCanceled, nil)
	canceled.Final = true
	return queue.Write(ctx, canceled)
}

// legacyAgent is an agent on the Go SDK of A2A 0.3, as it was before there was 1.0.
func legacyAgent(t *testing.T) *agent {
	t.Helper()
	h := legacysrv.NewHandler(legacyWorker{}, legacysrv.WithLogger(slog.New(slog.DiscardHandler)))
	s := httptest.NewServer(legacysrv.NewJSONRPCHandler(h))
	t.Cleanup(s.Close)
	a := newAgent(t)
	a.url, a.configure = s.URL, speakingLegacy
	return a
}

// The whole way against a server that has never heard of 1.0.
func TestAgainstTheLegacySDK(t *testing.T) {
	c := connect(t, legacyAgent(t))
	walk(t, c, false)
	req := message()
	req.Message.TaskID = "t-none"
	expect(t, c.Send(t.Context(), token(t), req), outbox.Refused, remote.ReasonTaskNotFound)
}
