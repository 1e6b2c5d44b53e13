// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const submitted = `{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_SUBMITTED"}}}`

func reply(w http.ResponseWriter, c call, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, withID(resultBody(result), c.ID))
}

// capture accepts a message and keeps it.
func capture(t *testing.T, into *a2a.SendMessageRequest) *agent {
	return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
		if err := json.Unmarshal(c.Params, into); err != nil {
			t.Error(err)
		}
		reply(w, c, submitted)
	})
}

// guarded accepts messages with the right credentials.
func guarded(t *testing.T, want string) *agent {
	return served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		if r.Header.Get("Authorization") != want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		reply(w, c, submitted)
	})
}

func TestHeaders(t *testing.T) {
	var got []http.Header
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		got = append(got, r.Header)
		reply(w, c, submitted)
	})
	req := message()
	req.Message.Extensions = []string{"https://example.com/a", "https://example.com/b"}
	for _, deduplicates := range []bool{false, true} {
		c := connect(t, a, func(c *remote.Config) { c.Deduplicates = deduplicates })
		if ex := c.Send(t.Context(), token(t), req); ex.Outcome != outbox.Accepted {
			t.Fatal(ex)
		}
	}
	c := connect(t, a, func(c *remote.Config) { c.Deduplicates = true })
	_ = c.Get(t.Context(), "t-1")
	for i, want := range []string{"", "m-71", ""} {
		h := got[i]
		if key := h.Get("Idempotency-Key"); key != want {
			t.Errorf("request %d: Idempotency-Key %q, want %q", i, key, want)
		}
		if v := h.Values("A2A-Version"); len(v) != 1 || v[0] != "1.0" {
			t.Errorf("request %d: A2A-Version %q", i, v)
		}
		if h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "Bearer "+secret {
			t.Errorf("request %d: %v", i, h)
		}
	}
	if v := got[0].Get("A2A-Extensions"); v != "https://example.com/a,https://example.com/b" {
		t.Errorf("A2A-Extensions %q", v)
	}
}

// An authorizer can neither send the message elsewhere nor change what the protocol says.
func TestAuthorizeOnlyAddsHeaders(t *testing.T) {
	other := served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) { reply(w, c, submitted) })
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		reply(w, c, submitted)
	})
	c := connect(t, a, authorizing(func(r *http.Request) error {
		r.Header.Set("X-API-Key", secret)
		r.Header.Set("Content-Type", "text/plain")
		r.Method = http.MethodGet
		r.URL.Host = other.url[len("http://"):]
		return nil
	}))
	if ex := c.Send(t.Context(), token(t), message()); ex.Outcome != outbox.Accepted {
		t.Fatal(ex)
	}
	if a.received.Load() != 1 || other.received.Load() != 0 {
		t.Errorf("the agent received %d, another %d", a.received.Load(), other.received.Load())
	}
}

func TestNewRefusesWhatItCantTalkTo(t *testing.T) {
	for _, i := range []struct{ url, binding, version string }{
		{"/relative", "JSONRPC", "1.0"},
		{"ftp://example.com", "JSONRPC", "1.0"},
		{"https://me:" + secret + "@example.com", "JSONRPC", "1.0"},
		{"https://example.com", "SOAP", "1.0"},
		{"grpc.example.com:443", "GRPC", "1.0"},
		{"https://example.com", "JSONRPC", "0.2"},
		{"https://example.com", "GRPC", "0.3"},
		{"https://example.com", "HTTP+JSON", "0.3"},
		{"https://exa mple.com", "JSONRPC", "1.0"},
	} {
		conf := remote.Config{}
		conf.Interface.URL, conf.Interface.ProtocolBinding, conf.Interface.ProtocolVersion = i.url, i.binding, i.version
		if _, err := remote.New(conf); !isErr(t, err, remote.ErrEndpoint) {
			t.Errorf("%+v: %v", i, err)
		}
	}
}
