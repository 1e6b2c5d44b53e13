// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Where each call goes: paths are escaped, the tenant is in the path, and the filters have the specification's names.
func TestRESTAsks(t *testing.T) {
	const task = `{"id":"a/b?c:d e","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"},"tasks":[]}`
	q := outbox.Query{MessageID: "m-71", After: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		name, base, tenant string
		call               func(*remote.Client) outbox.Exchange
		want               string
	}{
		{"send", "/a2a/", "", func(r *remote.Client) outbox.Exchange { return r.Send(t.Context(), token(t), message()) }, "POST /a2a/message:send"},
		{"send for a tenant", "", "acme", func(r *remote.Client) outbox.Exchange { return r.Send(t.Context(), token(t), message()) }, "POST /acme/message:send"},
		{"get", "/v%201%2Fx", "", func(r *remote.Client) outbox.Exchange { return r.Get(t.Context(), "a/b?c:d e") },
			"GET /v%201%2Fx/tasks/a%2Fb%3Fc%3Ad%20e?historyLength=1000"},
		{"get from a base with a query", "/a2a?version=7", "", func(r *remote.Client) outbox.Exchange { return r.Get(t.Context(), "t") },
			"GET /a2a/tasks/t?historyLength=1000&version=7"},
		{"get for a tenant of several segments", "", "locations/e u/projects/7", func(r *remote.Client) outbox.Exchange { return r.Get(t.Context(), "t") },
			"GET /locations/e%20u/projects/7/tasks/t?historyLength=1000"},
		{"get of an id that leads up the path", "", "", func(r *remote.Client) outbox.Exchange { return r.Get(t.Context(), "..") },
			"GET /tasks/%2E%2E?historyLength=1000"},
		{"cancel", "/a2a", "acme", func(r *remote.Client) outbox.Exchange { return r.Cancel(t.Context(), "a/b?c:d e") },
			"POST /a2a/acme/tasks/a%2Fb%3Fc%3Ad%20e:cancel"},
		{"find by the time", "", "", func(r *remote.Client) outbox.Exchange { return r.Find(t.Context(), q) },
			"GET /tasks?historyLength=1000&pageSize=100&statusTimestampAfter=2026-09-01T12%3A00%3A00Z"},
		{"find by the context", "", "", func(r *remote.Client) outbox.Exchange { return r.Find(t.Context(), wanted) },
			"GET /tasks?contextId=c-1&historyLength=1000&pageSize=100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, got := recording(t, c.base, 200, task)
			c.call(connect(t, a, func(conf *remote.Config) { conf.Interface.Tenant = c.tenant }))
			if len(*got) == 0 || (*got)[0].line != c.want {
				t.Fatalf("%+v, want %s", *got, c.want)
			}
			first := (*got)[0]
			if first.header.Get("A2A-Version") != "1.0" || first.header.Get("Authorization") != "Bearer "+secret ||
				!strings.Contains(first.header.Get("Accept"), "application/a2a+json") {
				t.Errorf("%v", first.header)
			}
			if strings.HasPrefix(c.want, "GET") != (first.body == "") || strings.Contains(first.body, "tenant") {
				t.Errorf("body %q", first.body)
			}
		})
	}
}

// The body of a message is what JSON-RPC has as its parameters.
func TestRESTSends(t *testing.T) {
	a, got := recording(t, "", 200, working)
	ex := connect(t, a, func(c *remote.Config) { c.Deduplicates = true }).Send(t.Context(), token(t), message())
	expectTask(t, ex, outbox.Accepted, "")
	var sent struct {
		Message       struct{ MessageID, ContextID string }
		Configuration struct{ ReturnImmediately bool }
	}
	if err := json.Unmarshal([]byte((*got)[0].body), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Message.MessageID != "m-71" || sent.Message.ContextID != "c-1" || !sent.Configuration.ReturnImmediately {
		t.Errorf("%+v", sent)
	}
	if h := (*got)[0].header; h.Get("Idempotency-Key") != "m-71" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
}

// quietBody is a statusBody that repeats nothing of a message, for calls that have none.
func quietBody(code int, reason string) string {
	return strings.Replace(statusBody(code, reason), content, "not today", 1)
}

func TestRESTGetAndCancel(t *testing.T) {
	task := `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}`
	for _, c := range []struct {
		name    string
		status  int
		body    string
		outcome outbox.Outcome
		reason  string
	}{
		{"Accepted: the task", 200, task, outbox.Accepted, ""},
		{"Ambiguous: another task", 200, strings.Replace(task, "t-1", "t-2", 1), outbox.Ambiguous, remote.ReasonForeignTask},
		{"Ambiguous: no task", 200, `{}`, outbox.Ambiguous, remote.ReasonEmptyTask},
		{"Ambiguous: null", 200, `null`, outbox.Ambiguous, remote.ReasonInvalidResponse},
		{"Absent: the agent does not have it", 404, quietBody(404, "TASK_NOT_FOUND"), outbox.Absent, remote.ReasonTaskNotFound},
		{"NotSent: HTTP 404 that is not the agent's", 404, `{"message":"Not Found"}`, outbox.NotSent, remote.ReasonEndpointNotFound},
		{"Refused: no such method", 501, quietBody(501, "METHOD_NOT_FOUND"), outbox.Refused, "MethodNotFound"},
		{"Unauthorized: HTTP 401", 401, ``, outbox.Unauthorized, "Unauthorized"},
		{"Ambiguous: HTTP 503", 503, ``, outbox.Ambiguous, "ServiceUnavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _ := recording(t, "", c.status, c.body)
			client := connect(t, a)
			expectTask(t, client.Get(t.Context(), "t-1"), c.outcome, c.reason)
			expectTask(t, client.Cancel(t.Context(), "t-1"), c.outcome, c.reason)
		})
	}
	a, _ := recording(t, "", 400, quietBody(400, "TASK_NOT_CANCELABLE"))
	expect(t, connect(t, a).Cancel(t.Context(), "t-1"), outbox.Refused, remote.ReasonTaskNotCancelable)
}

// A GET has no body whose bytes would tell; its headers are the request.
func TestRESTGetBelowHTTP(t *testing.T) {
	for _, c := range []struct {
		name    string
		agent   func(*testing.T) *agent
		adapt   func(*remote.Config)
		outcome outbox.Outcome
		reason  string
	}{
		{"NotSent: nobody listens", deaf, speakingREST, outbox.NotSent, remote.ReasonConnectionFailed},
		{"NotSent: the connection takes no byte", deaf, dialing(&brokenConn{}), outbox.NotSent, remote.ReasonConnectionLost},
		{"Ambiguous: the connection takes one byte", deaf, dialing(&brokenConn{takes: 1}), outbox.Ambiguous, remote.ReasonResponseLost},
		{"Ambiguous: the answer is lost", speaking(func(a *agent, _ *net.TCPConn, in *bufio.Reader) { a.read(in) }), speakingREST,
			outbox.Ambiguous, remote.ReasonResponseLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, connect(t, c.agent(t), speakingREST, c.adapt).Get(t.Context(), "t-1"), c.outcome, c.reason)
		})
	}
}

func TestRESTFind(t *testing.T) {
	listing := `{"tasks":[{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m-71"}]}]}`
	for _, c := range []struct {
		name    string
		status  int
		body    string
		outcome outbox.Outcome
		reason  string
	}{
		{"Accepted: it is there", 200, listing, outbox.Accepted, ""},
		{"Absent: there is nothing", 200, `{"tasks":[],"nextPageToken":""}`, outbox.Absent, remote.ReasonMessageNotFound},
		{"Refused: HTTP 501 of the agent", 501, quietBody(501, "METHOD_NOT_FOUND"), outbox.Refused, remote.ReasonLookupUnsupported},
		{"Refused: HTTP 501 of a framework", 501, `{}`, outbox.Refused, remote.ReasonLookupUnsupported},
		{"Refused: unsupported", 400, quietBody(400, "UNSUPPORTED_OPERATION"), outbox.Refused, remote.ReasonLookupUnsupported},
		{"Refused: to a caller without a name", 401, quietBody(401, "UNAUTHENTICATED"), outbox.Refused, remote.ReasonLookupUnsupported},
		{"Refused: a parameter", 400, quietBody(400, "INVALID_PARAMS"), outbox.Refused, "InvalidParams"},
		{"Unauthorized: HTTP 401 of a gateway", 401, `{}`, outbox.Unauthorized, "Unauthorized"},
		{"NotSent: HTTP 404", 404, `{}`, outbox.NotSent, remote.ReasonEndpointNotFound},
		{"Ambiguous: HTTP 500", 500, `{}`, outbox.Ambiguous, "InternalServerError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _ := recording(t, "", c.status, c.body)
			expectTask(t, connect(t, a).Find(t.Context(), wanted), c.outcome, c.reason)
		})
	}
}

// Ids reach the agent as they were.
func TestRESTPathsAreReversible(t *testing.T) {
	for _, id := range []string{"t-1", "a/b", "..", ".", "ä:%41+&=", "a b;c,d", "t:subscribe"} {
		a, got := recording(t, "/x%2Fy", 200, `{}`)
		connect(t, a).Get(t.Context(), id)
		path, _, _ := strings.Cut(strings.TrimPrefix((*got)[0].line, "GET /x%2Fy/tasks/"), "?")
		if back, err := url.PathUnescape(path); err != nil || back != id || strings.ContainsAny(path, "/:+;,") {
			t.Errorf("%q went as %q", id, path)
		}
	}
}
