// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func speakingREST(c *remote.Config) { c.Interface.ProtocolBinding = "HTTP+JSON" }

// statusBody is an error in the shape of AIP-193, of which the details are one ErrorInfo of A2A's domain.
func statusBody(code int, reason string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"status":"SOME_WORD","message":"no: %s with Bearer %s","details":[`+
		`{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"a":1}},`+
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"a2a-protocol.org"}]}}`, code, content, secret, reason)
}

// restErrorCases are the errors of A2A as its HTTP+JSON binding has them (A2A 1.0, section 5.4), each under the HTTP status
// that the Go SDK gives it.
func restErrorCases() []sendCase {
	var cases []sendCase
	for _, row := range []struct {
		status  int
		info    string
		outcome outbox.Outcome
		reason  string
	}{
		{400, "PARSE_ERROR", outbox.Refused, "ParseError"},
		{400, "INVALID_REQUEST", outbox.Refused, "InvalidRequest"},
		{501, "METHOD_NOT_FOUND", outbox.Refused, "MethodNotFound"},
		{400, "INVALID_PARAMS", outbox.Refused, "InvalidParams"},
		{500, "INTERNAL_ERROR", outbox.Ambiguous, "InternalError"},
		{500, "SERVER_ERROR", outbox.Ambiguous, remote.ReasonServerError},
		{404, "TASK_NOT_FOUND", outbox.Refused, remote.ReasonTaskNotFound},
		{400, "TASK_NOT_CANCELABLE", outbox.Refused, remote.ReasonTaskNotCancelable},
		{409, "TASK_NOT_CANCELABLE", outbox.Refused, remote.ReasonTaskNotCancelable},
		{400, "PUSH_NOTIFICATION_NOT_SUPPORTED", outbox.Refused, "PushNotificationNotSupported"},
		{400, "UNSUPPORTED_OPERATION", outbox.Refused, "UnsupportedOperation"},
		{415, "CONTENT_TYPE_NOT_SUPPORTED", outbox.Refused, "ContentTypeNotSupported"},
		{502, "INVALID_AGENT_RESPONSE", outbox.Ambiguous, "InvalidAgentResponse"},
		{400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", outbox.Refused, "ExtendedAgentCardNotConfigured"},
		{400, "EXTENSION_SUPPORT_REQUIRED", outbox.Refused, "ExtensionSupportRequired"},
		{400, "VERSION_NOT_SUPPORTED", outbox.Refused, "VersionNotSupported"},
		{401, "UNAUTHENTICATED", outbox.Unauthorized, "Unauthenticated"},
		{403, "UNAUTHORIZED", outbox.Unauthorized, "PermissionDenied"},
		{400, "OF_A_LATER_VERSION", outbox.Refused, remote.ReasonRequestRefused},
		{404, "OF_A_LATER_VERSION", outbox.Ambiguous, remote.ReasonServerError},
		{404, "INTERNAL_ERROR", outbox.Ambiguous, "InternalError"},
		{401, "INVALID_PARAMS", outbox.Unauthorized, "Unauthorized"},
		{429, "SERVER_ERROR", outbox.NotSent, remote.ReasonTooManyRequests},
		{409, "SERVER_ERROR", outbox.InProgress, remote.ReasonInProgress},
		{503, "UNSUPPORTED_OPERATION", outbox.Refused, "UnsupportedOperation"},
	} {
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("%s: HTTP %d with %s", row.outcome, row.status, row.info),
			agent: answering(row.status, jsonHeader(), statusBody(row.status, row.info)), received: 1,
			outcome: row.outcome, reason: row.reason,
		})
	}
	return cases
}

// restFaultCases are errors in other clothes.
func restFaultCases() []sendCase {
	of := func(outcome outbox.Outcome, reason, name string, status int, body string) sendCase {
		return sendCase{
			name: string(outcome) + ": " + name, agent: answering(status, jsonHeader(), body), received: 1, outcome: outcome, reason: reason,
		}
	}
	delayed := func(c sendCase, d time.Duration) sendCase {
		c.retryAfter = d
		return c
	}
	const foreign = `{"error":{"code":400,"message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",` +
		`"reason":"TASK_NOT_FOUND","domain":"googleapis.com"}]}}`
	// As the deduplicator in front of an agent says it: an A2A error of the nearest class, and its own detail beside it.
	wait := `{"error":` + strings.Replace(strings.Replace(inProgress, "-32000", "409", 1), `"data"`, `"details"`, 1) + `}`
	used := `{"error":` + strings.Replace(strings.Replace(mismatch, "-32602", "400", 1), `"data"`, `"details"`, 1) + `}`
	return []sendCase{
		delayed(of(outbox.InProgress, remote.ReasonInProgress, "the deduplicator works on the first copy, HTTP 409", 409, wait), 2*time.Second),
		delayed(of(outbox.InProgress, remote.ReasonInProgress, "the deduplicator works on the first copy, HTTP 500 by the SDK", 500, wait), 2*time.Second),
		delayed(of(outbox.Unresolved, remote.ReasonOutcomeUnknown, "the first copy's outcome is not known, HTTP 409", 409,
			strings.Replace(wait, "MESSAGE_IN_PROGRESS", "MESSAGE_OUTCOME_UNKNOWN", 1)), 2*time.Second),
		of(outbox.Refused, remote.ReasonDigestMismatch, "the messageId was used with another body, HTTP 400", 400, used),
		of(outbox.Refused, remote.ReasonDigestMismatch, "the messageId was used with another body, HTTP 409", 409, used),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, "HTTP 404 with an error of another domain", 404, foreign),
		of(outbox.Refused, "BadRequest", "HTTP 400 with an error of another domain", 400, foreign),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, "HTTP 404 that is an API gateway's", 404, `{"message":"no Route matched with those values"}`),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, "HTTP 404 whose error is a word", 404, `{"error":"Not Found"}`),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, "HTTP 405 that is a framework's", 405, `{"detail":"Method Not Allowed"}`),
		of(outbox.Refused, remote.ReasonTaskNotFound, "a status without its envelope, as gateways to gRPC write it", 404,
			`{"code":5,"message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}`),
		delayed(of(outbox.NotSent, remote.ReasonTooManyRequests, "HTTP 429 with a RetryInfo", 429,
			`{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`), 7*time.Second),
		delayed(of(outbox.Ambiguous, "ServiceUnavailable", "HTTP 503 with a RetryInfo proves no more than without", 503,
			`{"error":{"code":503,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`), 7*time.Second),
		of(outbox.Ambiguous, "InternalServerError", "HTTP 500 with an error that names none of A2A", 500, `{"error":{"code":500,"status":"INTERNAL","message":"oops"}}`),
		of(outbox.Ambiguous, remote.ReasonInvalidResponse, "HTTP 200 with an error", 200, statusBody(400, "INVALID_PARAMS")),
		of(outbox.Ambiguous, remote.ReasonUnexpectedStatus, "HTTP 404 with a task contradicts itself", 404, working),
		of(outbox.Ambiguous, remote.ReasonUnexpectedStatus, "HTTP 202 with a task is not what was asked for", 202, working),
		of(outbox.Refused, "BadRequest", "HTTP 400 whose details are odd", 400, `{"error":{"details":["a",7,null,[{}]],"message":7}}`),
	}
}

// restResultCases are answers without an error.
func restResultCases() []sendCase {
	answered := func(outcome outbox.Outcome, reason, name, body string) sendCase {
		return sendCase{
			name: string(outcome) + ": " + name, agent: answering(200, jsonHeader(), body), received: 1, outcome: outcome, reason: reason,
		}
	}
	accepted := func(name, body string) sendCase {
		c := answered(outbox.Accepted, "", name, body)
		c.task, c.state = "t-1", "TASK_STATE_WORKING"
		return c
	}
	typed := accepted("the content type is A2A's own", working)
	typed.agent = answering(200, http.Header{"Content-Type": {"application/a2a+json; charset=utf-8"}}, working)
	text := accepted("the content type is another", working)
	text.name, text.outcome, text.reason = "Ambiguous: the content type is another", outbox.Ambiguous, remote.ReasonUnexpectedContentType
	text.task, text.state = "", ""
	text.agent = answering(200, http.Header{"Content-Type": {"text/plain"}}, working)
	said := "All is well."
	replied := answered(outbox.Accepted, "", "a message", `{"message":{"messageId":"r-1","role":"ROLE_AGENT","parts":[{"text":"All is well."}]}}`)
	replied.reply = &said
	foreign := answered(outbox.Ambiguous, remote.ReasonForeignTask, "another task than the one named", working)
	foreign.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	return []sendCase{
		typed, text, replied, foreign,
		accepted("a task", working),
		accepted("a byte order mark comes first", "\xEF\xBB\xBF"+working),
		answered(outbox.Ambiguous, remote.ReasonInvalidResponse, "a task without an envelope", `{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}`),
		answered(outbox.Ambiguous, remote.ReasonInvalidResponse, "a JSON-RPC response", `{"jsonrpc":"2.0","id":"x","result":`+working+`}`),
		answered(outbox.Ambiguous, remote.ReasonInvalidResponse, "both a task and a message", `{"task":{"id":"t-1"},"message":{"messageId":"r"}}`),
		answered(outbox.Ambiguous, remote.ReasonInvalidResponse, "nothing", `{}`),
		answered(outbox.Ambiguous, remote.ReasonInvalidResponse, "a list", `[`+working+`]`),
		answered(outbox.Ambiguous, remote.ReasonEmptyTask, "an empty task", `{"task":{}}`),
		answered(outbox.Ambiguous, remote.ReasonEmptyMessage, "an empty message", `{"message":{}}`),
	}
}

// The answers are this binding's own; what happens below them is the same for both, and so is what it proves.
func TestSendREST(t *testing.T) {
	below := slices.DeleteFunc(slices.Concat(
		connectionCases(), handshakeCases(), brokenCases(), callerCases(), statusCases(), redirectCases(), retryAfterCases(),
	), func(c sendCase) bool {
		return c.outcome == outbox.Accepted || strings.Contains(c.name, "contradicts itself")
	})
	runCases(t, speakingREST, 110, restErrorCases(), restFaultCases(), restResultCases(), below)
}

// runCases runs a table of a binding, which has at least so many cases.
func runCases(t *testing.T, binding func(*remote.Config), least int, tables ...[]sendCase) {
	t.Helper()
	cases := slices.Concat(tables...)
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.name] {
			t.Errorf("two cases are named %q", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := c.agent(t)
			configure := a.configure
			a.configure = func(conf *remote.Config) {
				binding(conf)
				configure(conf)
			}
			c.check(t, c.send(t, a))
			if got := a.received.Load(); got != c.received {
				t.Errorf("the agent received %d messages, want %d", got, c.received)
			}
		})
	}
	if len(cases) < least {
		t.Errorf("%d cases", len(cases))
	}
	t.Logf("%d cases", len(cases))
}

// seen is a request as a REST agent got it.
type seen struct {
	line, body string
	header     http.Header
}

// recording answers everything with one body and keeps what came.
func recording(t *testing.T, base string, status int, body string) (*agent, *[]seen) {
	t.Helper()
	a, got := newAgent(t), &[]seen{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, _ := io.ReadAll(r.Body)
		*got = append(*got, seen{r.Method + " " + r.RequestURI, string(read), r.Header})
		w.Header().Set("Content-Type", "application/a2a+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	a.url, a.configure = s.URL+base, speakingREST
	return a, got
}
