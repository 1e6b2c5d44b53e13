// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// willing is an agent that would accept everything.
func willing(t *testing.T) *agent {
	return answering(200, jsonHeader(), resultBody(`{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_SUBMITTED"}}}`))(t)
}

// callerCases are decided on this side of the network.
func callerCases() []sendCase {
	return []sendCase{
		{
			name: "Accepted: nothing goes wrong", agent: willing,
			outcome: outbox.Accepted, task: "t-1", state: "TASK_STATE_SUBMITTED", received: 1,
		}, {
			name: "NotSent: the token is zero", agent: willing, token: func(testing.TB) outbox.Token { return outbox.Token{} },
			outcome: outbox.NotSent, reason: remote.ReasonNoToken,
		}, {
			name: "NotSent: there is no message", agent: willing, request: func(r *a2a.SendMessageRequest) { r.Message = nil },
			outcome: outbox.NotSent, reason: remote.ReasonNoMessage,
		}, {
			name: "NotSent: the attempt is over", agent: willing,
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(-time.Millisecond)) },
			outcome: outbox.NotSent, reason: remote.ReasonAttemptExpired,
		}, {
			name: "NotSent: the attempt ends while the connection is made", agent: lateConnection,
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(time.Hour)) },
			outcome: outbox.NotSent, reason: remote.ReasonAttemptExpired,
		}, {
			name: "NotSent: the attempt ends while the dial hangs", agent: hangingDial,
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(50*time.Millisecond)) },
			outcome: outbox.NotSent, reason: remote.ReasonAttemptExpired,
		}, {
			name: "NotSent: canceled before the dial", agent: willing, end: context.Canceled, early: true,
			outcome: outbox.NotSent, reason: remote.ReasonCanceled,
		}, {
			name: "NotSent: canceled during the dial", agent: hangingDial, end: context.Canceled,
			outcome: outbox.NotSent, reason: remote.ReasonCanceled,
		}, {
			name: "NotSent: the caller's time is over during the dial", agent: hangingDial, end: context.DeadlineExceeded,
			outcome: outbox.NotSent, reason: remote.ReasonTimeout,
		}, {
			name: "NotSent: the credentials can't be had", agent: willing, adapt: authorizing(func(*http.Request) error {
				return errors.New(`Post "https://me:` + secret + `@idp.example.com/token?secret=` + secret + `": refused`)
			}),
			outcome: outbox.NotSent, reason: remote.ReasonCredentialsUnavailable,
		}, {
			name: "NotSent: the Secret ends with a line break", agent: willing, adapt: authorizing(func(r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+secret+"\n")
				return nil
			}),
			outcome: outbox.NotSent, reason: remote.ReasonCredentialsUnavailable,
		}, {
			name: "NotSent: the message has no JSON form", agent: willing, request: func(r *a2a.SendMessageRequest) {
				r.Message.Metadata = map[string]any{"c": make(chan int)}
			},
			outcome: outbox.NotSent, reason: remote.ReasonRequestNotEncodable,
		},
	}
}

func authorizing(f func(*http.Request) error) func(*remote.Config) {
	return func(c *remote.Config) { c.Authorize = f }
}

// lateConnection is an agent to which a connection takes, by the client's clock, two hours.
func lateConnection(t *testing.T) *agent {
	a := willing(t)
	a.configure = func(c *remote.Config) {
		var late atomic.Bool
		c.Now = func() time.Time {
			if late.Load() {
				return time.Now().Add(2 * time.Hour)
			}
			return time.Now()
		}
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			defer late.Store(true)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	return a
}

// hangingDial is an agent to which no connection comes about.
func hangingDial(t *testing.T) *agent {
	a := newAgent(t)
	a.url = "http://127.0.0.1:1/a2a"
	a.configure = func(c *remote.Config) {
		c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			a.reach()
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return a
}

// handshakeCases end in TLS, or should have begun with it.
func handshakeCases() []sendCase {
	secure := func(t *testing.T) *agent {
		return served(t, true, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
			_, _ = io.WriteString(w, withID(resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`), c.ID))
		})
	}
	return []sendCase{
		{
			name: "Accepted: over TLS and HTTP/2", agent: func(t *testing.T) *agent { return overHTTP2(t, 200) },
			outcome: outbox.Accepted, task: "t-1", state: "TASK_STATE_WORKING", received: 1,
		}, {
			name: "Ambiguous: the stream is reset over HTTP/2", agent: func(t *testing.T) *agent { return overHTTP2(t, 0) },
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost, received: 1,
		}, {
			name: "NotSent: the certificate is not trusted", agent: secure, adapt: func(c *remote.Config) { c.TLS = nil },
			outcome: outbox.NotSent, reason: remote.ReasonTLSFailed,
		}, {
			name: "NotSent: TLS to an agent without it", agent: func(t *testing.T) *agent {
				a := willing(t)
				a.url = "https" + a.url[len("http"):]
				return a
			},
			outcome: outbox.NotSent, reason: remote.ReasonTLSFailed,
		}, {
			name: "Refused: no TLS to an agent with it", agent: func(t *testing.T) *agent {
				a := secure(t)
				a.url = "http" + a.url[len("https"):]
				return a
			},
			outcome: outbox.Refused, reason: "BadRequest",
		},
	}
}

// overHTTP2 answers with a task, or resets the stream with status 0.
func overHTTP2(t *testing.T, status int) *agent {
	return served(t, true, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request came over %s", r.Proto)
		}
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, withID(resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`), c.ID))
	})
}
