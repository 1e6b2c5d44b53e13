// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const long = 20 << 20

// hugeLine returns an agent that says one event in a line of 20 MB and then another, without a copy of it in memory.
func hugeLine(t *testing.T) *agent {
	block := strings.Repeat("x", 64<<10)
	return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
		write(w, c.ID, "data: ")
		for range long / len(block) {
			_, _ = io.WriteString(w, block)
		}
		write(w, c.ID, "\n\n", statusEvent)
	})
}

// hugeEvent returns an agent whose event is 20 MB in many lines.
func hugeEvent(t *testing.T) *agent {
	line := "data: " + strings.Repeat("x", 1000) + "\n"
	return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
		write(w, c.ID, "")
		for range long / len(line) {
			_, _ = io.WriteString(w, line)
		}
		write(w, c.ID, "\n", statusEvent)
	})
}

// A line, or an event, of any length takes no more memory than a short one. All that this process allocates meanwhile is
// counted, the agent's part too.
func TestLongEventsTakeNoMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		agent func(*testing.T) *agent
		adapt func(*remote.Config)
	}{
		{"a line", hugeLine, nothing},
		{"many lines", hugeEvent, nothing},
		{"a message of gRPC", hugeFrame, speakingGRPC},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := connect(t, c.agent(t), c.adapt)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			heard := 0
			ex := client.Subscribe(t.Context(), "t-1", func() { heard++ })
			runtime.ReadMemStats(&after)
			if ex.Outcome != outbox.Accepted || ex.Reason != "" || heard != 3 {
				t.Errorf("%s %q, heard %d; want the opening and two events", ex.Outcome, ex.Reason, heard)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took >= long {
				t.Errorf("%d bytes were allocated for an event of %d", took, long)
			}
		})
	}
}

func nothing(*remote.Config) {}

// Streams have connections of their own: a client with one connection sends while it listens.
func TestStreamsLeaveConnectionsToCalls(t *testing.T) {
	var open signal
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		if c.Method == "SubscribeToTask" {
			write(w, c.ID, statusEvent)
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, withID(resultBody(`{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}`), c.ID))
	})
	c := connect(t, a, func(c *remote.Config) { c.Limits.Connections = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	var over signal
	go func() {
		c.Subscribe(ctx, "t-1", open.raise)
		over.raise()
	}()
	await(t, open.wait(), "the stream")
	if ex := c.Get(t.Context(), "t-1"); ex.Outcome != outbox.Accepted {
		t.Errorf("GetTask while a stream is open: %+v", ex)
	}
	cancel()
	await(t, over.wait(), "the end of the stream")
}

// A client that is closed ends its streams and opens none: its credentials are not to be used any more.
func TestCloseEndsStreams(t *testing.T) {
	var open, over signal
	a := silentAfter(statusEvent)(t)
	c := connect(t, a)
	var ended atomic.Value
	go func() {
		ended.Store(c.Subscribe(t.Context(), "t-1", open.raise))
		over.raise()
	}()
	await(t, open.wait(), "the stream")
	c.Close()
	await(t, over.wait(), "the end of the stream")
	if ex := ended.Load().(outbox.Exchange); ex.Outcome != outbox.Accepted || ex.Reason != remote.ReasonCanceled {
		t.Errorf("the stream ended with %s %q", ex.Outcome, ex.Reason)
	}
	before := a.received.Load()
	if ex := c.Subscribe(t.Context(), "t-1", func() {}); ex.Reason != remote.ReasonCanceled || a.received.Load() != before {
		t.Errorf("subscribed with a closed client: %s %q", ex.Outcome, ex.Reason)
	}
}

// A subscription carries what every call does, and asks for a stream.
func TestSubscriptionHeaders(t *testing.T) {
	seen := make(chan http.Header, 1)
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		seen <- r.Header
		write(w, c.ID, statusEvent)
	})
	connect(t, a).Subscribe(t.Context(), "t-1", func() {})
	h := <-seen
	for name, want := range map[string]string{
		"Authorization": "Bearer " + secret, "A2A-Version": "1.0", "Accept": "text/event-stream, application/json", "Accept-Encoding": "",
	} {
		if got := strings.Join(h[http.CanonicalHeaderKey(name)], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
