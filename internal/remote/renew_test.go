// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// renewing makes a client whose first token is old, and whose next ones are new.
func renewing(renewals *atomic.Int32) func(*remote.Config) {
	return func(c *remote.Config) {
		c.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer old-"+secret)
			if renewals.Load() > 0 {
				r.Header.Set("Authorization", "Bearer new-"+secret)
			}
			return nil
		}
		c.Renew = func(rejected http.Header) bool {
			return rejected.Get("Authorization") == "Bearer old-"+secret && renewals.Add(1) == 1
		}
	}
}

// A message that was answered 401 was not taken: it goes once more with a fresh token. The second 401 is the answer, and
// nothing but a 401 that is nothing else has a message sent again.
func TestRenewal(t *testing.T) {
	cases := []struct {
		name     string
		answer   func(w http.ResponseWriter, r *http.Request, c call)
		outcome  outbox.Outcome
		received int32
		renewals int32
	}{
		{"the fresh token is accepted", func(w http.ResponseWriter, r *http.Request, c call) {
			if r.Header.Get("Authorization") != "Bearer new-"+secret {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			reply(w, c, submitted)
		}, outbox.Accepted, 2, 1},
		{"no token is accepted", func(w http.ResponseWriter, _ *http.Request, _ call) {
			w.WriteHeader(http.StatusUnauthorized)
		}, outbox.Unauthorized, 2, 1},
		{"not allowed", func(w http.ResponseWriter, _ *http.Request, _ call) {
			w.WriteHeader(http.StatusForbidden)
		}, outbox.Unauthorized, 1, 0},
		{"a task under 401 is a contradiction", func(w http.ResponseWriter, _ *http.Request, c call) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, withID(resultBody(submitted), c.ID))
		}, outbox.Ambiguous, 1, 0},
		{"a lost answer", func(http.ResponseWriter, *http.Request, call) { panic(http.ErrAbortHandler) }, outbox.Ambiguous, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, in call) { c.answer(w, r, in) })
			var renewals atomic.Int32
			ex := connect(t, a, renewing(&renewals)).Send(t.Context(), token(t), message())
			if ex.Outcome != c.outcome || a.received.Load() != c.received || renewals.Load() != c.renewals {
				t.Errorf("%+v, %d messages and %d renewals; want %s, %d and %d", ex, a.received.Load(), renewals.Load(), c.outcome, c.received, c.renewals)
			}
		})
	}
}

// Credentials that can't be had after a 401 leave the message not sent.
func TestRenewalFails(t *testing.T) {
	a := guarded(t, "none")
	var failed atomic.Bool
	ex := connect(t, a, func(c *remote.Config) {
		c.Authorize = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+secret)
			if failed.Load() {
				return errors.New("the token endpoint gave no token")
			}
			return nil
		}
		c.Renew = func(http.Header) bool { failed.Store(true); return true }
	}).Send(t.Context(), token(t), message())
	if ex.Outcome != outbox.NotSent || ex.Reason != remote.ReasonCredentialsUnavailable || a.received.Load() != 1 {
		t.Errorf("%+v and %d messages", ex, a.received.Load())
	}
}

// A subscription is renewed as a call is.
func TestSubscriptionRenewal(t *testing.T) {
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, _ call) {
		if r.Header.Get("Authorization") != "Bearer new-"+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
	})
	var renewals, heard atomic.Int32
	ex := connect(t, a, renewing(&renewals)).Subscribe(t.Context(), "t-1", func() { heard.Add(1) })
	if ex.Outcome != outbox.Accepted || a.received.Load() != 2 || renewals.Load() != 1 || heard.Load() != 1 {
		t.Errorf("%+v, %d requests, %d renewals, heard %d times", ex, a.received.Load(), renewals.Load(), heard.Load())
	}
}

func TestOwnOrigin(t *testing.T) {
	cases := []struct {
		url, card string
		own       bool
	}{
		{"https://finance.example.com/a2a", "https://finance.example.com", true},
		{"https://FINANCE.example.com:443/a2a", "https://finance.example.com/cards/agent.json", true},
		{"http://finance.example.com:80/a2a", "http://finance.example.com", true},
		{"http://finance.example.com/a2a", "https://finance.example.com", false},
		{"https://finance.example.com/a2a", "http://finance.example.com", false},
		{"https://finance.example.com:8443/a2a", "https://finance.example.com", false},
		{"https://finance.example.com.evil.example/a2a", "https://finance.example.com", false},
		{"https://evil.example/finance.example.com", "https://finance.example.com", false},
	}
	for _, c := range cases {
		card := &a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{{URL: c.url, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}}}
		if _, err := remote.SelectInterface(card, c.card, remote.AnyOrigin); err != nil {
			t.Errorf("%s in a card of %s, without credentials: %v", c.url, c.card, err)
		}
		_, err := remote.SelectInterface(card, c.card, remote.OwnOrigin)
		if (err == nil) != c.own || !c.own && !errors.Is(err, remote.ErrOtherOrigin) {
			t.Errorf("%s in a card of %s, with credentials: %v", c.url, c.card, err)
		}
	}
}
