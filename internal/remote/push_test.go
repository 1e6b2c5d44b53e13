// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// configs are what an agent on the Go SDK was told of a task.
func configs(t *testing.T, store push.ConfigStore, task string) []*a2a.PushConfig {
	t.Helper()
	list, err := store.List(t.Context(), a2a.TaskID(task))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func only(list []*a2a.PushConfig, want *a2a.PushConfig) bool {
	return len(list) == 1 && list[0].ID == want.ID && list[0].URL == want.URL && list[0].Token == want.Token
}

// What an agent is told of where to push arrives, with the message and after it, and can be taken back.
func TestPushConfigurations(t *testing.T) {
	// The SDK does not push to such an address, which is all right here.
	first := &a2a.PushConfig{ID: "6f0c", URL: "http://127.0.0.1:1/a2a/6f0c", Token: "secret"}
	second := &a2a.PushConfig{ID: "6f0c", URL: "http://127.0.0.1:1/b/6f0c", Token: "secret-2"}
	for _, b := range sdkBindings {
		t.Run(b.name, func(t *testing.T) {
			store := push.NewInMemoryStore()
			c := connect(t, b.open(t, sdkHandler(a2asrv.WithPushNotifications(store, push.NewHTTPPushSender(nil)), a2asrv.WithCallInterceptors(named{})), nil))
			request := message()
			request.Message.Parts = a2a.ContentParts{a2a.NewTextPart("wait")}
			request.Config = &a2a.SendMessageConfig{PushConfig: first}
			sent := c.Send(t.Context(), token(t), request)
			expectTask(t, sent, outbox.Accepted, "")
			if got := configs(t, store, sent.Task.ID); !only(got, first) {
				t.Errorf("with the message %+v came, want %+v", got, first)
			}
			expect(t, c.CreatePush(t.Context(), sent.Task.ID, second), outbox.Accepted, "")
			if got := configs(t, store, sent.Task.ID); !only(got, second) {
				t.Errorf("after the message %+v came, want %+v", got, second)
			}
			if second.TaskID != "" {
				t.Error("the configuration was changed")
			}
			c.DeletePush(t.Context(), sent.Task.ID, "6f0c")
			if got := configs(t, store, sent.Task.ID); len(got) != 0 {
				t.Errorf("%+v is left", got)
			}
			if ex := c.CreatePush(t.Context(), "t-none", second); ex.Outcome == outbox.Accepted {
				t.Errorf("%+v for a task that is not there", ex)
			}
		})
	}
}

// An agent that does not push says so of a configuration in a message and of one by itself, and then has no task.
func TestPushesRefused(t *testing.T) {
	for _, b := range sdkBindings {
		t.Run(b.name, func(t *testing.T) {
			c := connect(t, b.open(t, sdkHandler(a2asrv.WithCapabilityChecks(&a2a.AgentCapabilities{})), nil))
			request := message()
			request.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{ID: "6f0c", URL: "http://127.0.0.1:1/6f0c"}}
			expect(t, c.Send(t.Context(), token(t), request), outbox.Refused, remote.ReasonPushNotSupported)
			expect(t, c.CreatePush(t.Context(), "t-1", request.Config.PushConfig), outbox.Refused, remote.ReasonPushNotSupported)
			request.Config = nil
			expectTask(t, c.Send(t.Context(), token(t), request), outbox.Accepted, "")
		})
	}
}
