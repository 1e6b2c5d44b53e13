// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// codeCases are the JSON-RPC and A2A errors by their code, under HTTP 200 and with an echo of the message in their text.
func codeCases() []sendCase {
	table := []struct {
		code    int
		outcome outbox.Outcome
		reason  string
	}{
		{-32700, outbox.Refused, "ParseError"},
		{-32600, outbox.Refused, "InvalidRequest"},
		{-32601, outbox.Refused, "MethodNotFound"},
		{-32602, outbox.Refused, "InvalidParams"},
		{-32603, outbox.Ambiguous, "InternalError"},
		{-32650, outbox.Refused, "RequestRefused"},
		{-32000, outbox.Ambiguous, remote.ReasonServerError},
		{-32001, outbox.Refused, remote.ReasonTaskNotFound},
		{-32002, outbox.Refused, remote.ReasonTaskNotCancelable},
		{-32003, outbox.Refused, "PushNotificationNotSupported"},
		{-32004, outbox.Refused, "UnsupportedOperation"},
		{-32005, outbox.Refused, "ContentTypeNotSupported"},
		{-32006, outbox.Ambiguous, "InvalidAgentResponse"},
		{-32007, outbox.Refused, "ExtendedAgentCardNotConfigured"},
		{-32008, outbox.Refused, "ExtensionSupportRequired"},
		{-32009, outbox.Refused, "VersionNotSupported"},
		{-32010, outbox.Ambiguous, remote.ReasonServerError},
		{-32050, outbox.Ambiguous, remote.ReasonServerError},
		{-31401, outbox.Unauthorized, "Unauthenticated"},
		{-31403, outbox.Unauthorized, "PermissionDenied"},
		{1, outbox.Ambiguous, remote.ReasonServerError},
	}
	var cases []sendCase
	for _, row := range table {
		body := errorBody(fmt.Sprintf(`{"code":%d,"message":"no: %s with Bearer %s\n\u001b[31m"}`, row.code, content, secret))
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("%s: JSON-RPC error %d", row.outcome, row.code),
			agent: answering(200, jsonHeader(), body), received: 1,
			outcome: row.outcome, reason: row.reason,
		})
	}
	return cases
}

const (
	inProgress = `{"code":-32000,"message":"wait","data":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVER_ERROR","domain":"a2a-protocol.org"},` +
		`{"@type":"a2a.delegation.dev/google.rpc.ErrorInfo","reason":"MESSAGE_IN_PROGRESS","domain":"a2a.delegation.dev"},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}`
	lostTrack = `{"code":-32000,"message":"unknown","data":[` +
		`{"@type":"a2a.delegation.dev/google.rpc.ErrorInfo","reason":"MESSAGE_OUTCOME_UNKNOWN","domain":"a2a.delegation.dev"}]}`
	mismatch = `{"code":-32602,"message":"used","data":[` +
		`{"@type":"a2a.delegation.dev/google.rpc.ErrorInfo","reason":"MESSAGE_ID_MISMATCH","domain":"a2a.delegation.dev"}]}`
	unsupported = `{"code":-32000,"message":"no","data":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"}]}`
	foreignInfo = `{"code":-32000,"message":"no","data":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"example.com"}]}`
	plainRefusal = `{"code":-32602,"message":"no"}`
)

// faultCases are errors in odd clothes.
func faultCases() []sendCase {
	of := func(outcome outbox.Outcome, reason, name string, status int, body string) sendCase {
		return sendCase{
			name: string(outcome) + ": " + name, agent: answering(status, jsonHeader(), body), received: 1, outcome: outcome, reason: reason,
		}
	}
	waiting := of(outbox.InProgress, remote.ReasonInProgress, "the deduplicator works on the first copy", 200, errorBody(inProgress))
	waiting.retryAfter = 2 * time.Second
	shadowed := of(outbox.Refused, remote.ReasonTaskNotFound, "the task that the message names is unknown", 200, errorBody(`{"code":-32001,"message":"no"}`))
	shadowed.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	return []sendCase{
		waiting, shadowed,
		of(outbox.Unresolved, remote.ReasonOutcomeUnknown, "the first copy's outcome is not known", 200, errorBody(lostTrack)),
		of(outbox.Refused, remote.ReasonDigestMismatch, "the messageId was used with another body", 200, errorBody(mismatch)),
		of(outbox.Refused, "UnsupportedOperation", "the details name an A2A error that the code does not", 200, errorBody(unsupported)),
		of(outbox.Ambiguous, remote.ReasonServerError, "the details name an error of another domain", 200, errorBody(foreignInfo)),
		of(outbox.Refused, "InvalidParams", "error data is a string", 200, errorBody(`{"code":-32602,"message":"no","data":"`+content+`"}`)),
		of(outbox.Refused, "InvalidParams", "error data is an object", 200, errorBody(`{"code":-32602,"message":"no","data":{"echo":{"text":"`+content+`"}}}`)),
		of(outbox.Refused, "InvalidParams", "error data is a list of strings", 200, errorBody(`{"code":-32602,"message":"no","data":["a",7,null,[{}]]}`)),
		of(outbox.Refused, "InvalidParams", "the error has no message", 200, errorBody(`{"code":-32602}`)),
		of(outbox.Refused, "InvalidParams", "the error's id is null", 200, `{"jsonrpc":"2.0","id":null,"error":`+plainRefusal+`}`),
		of(outbox.Refused, "InvalidParams", "the result beside the error is null", 200, `{"jsonrpc":"2.0","id":"%s","result":null,"error":`+plainRefusal+`}`),
		of(outbox.Refused, remote.ReasonTaskNotFound, "HTTP 404 with an A2A error", 404, errorBody(`{"code":-32001,"message":"no"}`)),
		of(outbox.Refused, remote.ReasonTaskNotCancelable, "HTTP 409 with an A2A error", 409, errorBody(`{"code":-32002,"message":"no"}`)),
		of(outbox.Refused, "InvalidParams", "HTTP 500 with a refusal", 500, errorBody(plainRefusal)),
		of(outbox.Unauthorized, "Unauthorized", "HTTP 401 with a JSON-RPC error", 401, errorBody(`{"code":-32600,"message":"no"}`)),
		of(outbox.NotSent, remote.ReasonTooManyRequests, "HTTP 429 with a JSON-RPC error", 429, errorBody(`{"code":-32000,"message":"slow down"}`)),
		of(outbox.InProgress, remote.ReasonInProgress, "HTTP 409 with an error that proves nothing", 409, errorBody(`{"code":-32000,"message":"wait"}`)),
		of(outbox.Ambiguous, "InternalError", "HTTP 400 with an internal error", 400, errorBody(`{"code":-32603,"message":"`+content+`"}`)),
		of(outbox.Ambiguous, "InternalError", "HTTP 404 with an internal error", 404, errorBody(`{"code":-32603,"message":"oops"}`)),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, "HTTP 404 with another protocol's error", 404, `{"error":{"code":404,"message":"Not Found"}}`),
		of(outbox.Ambiguous, remote.ReasonForeignResponse, "the error answers another request", 200, `{"jsonrpc":"2.0","id":"other","error":`+plainRefusal+`}`),
		of(outbox.Ambiguous, remote.ReasonInvalidResponse, "the error's code is a string", 200, errorBody(`{"code":"-32602","message":"no"}`)),
		of(outbox.Ambiguous, remote.ReasonInvalidResponse, "the error is a string", 200, errorBody(`"no"`)),
		of(outbox.Ambiguous, remote.ReasonInvalidResponse, "both result and error", 200, `{"jsonrpc":"2.0","id":"%s","result":{},"error":`+plainRefusal+`}`),
	}
}

// The credentials of every request are fresh, and a refusal of old ones is over once they are.
func TestSendAfterNewCredentials(t *testing.T) {
	a := guarded(t, "Bearer new")
	current := "Bearer old"
	c := connect(t, a, authorizing(func(r *http.Request) error {
		r.Header.Set("Authorization", current)
		return nil
	}))
	if ex := c.Send(t.Context(), token(t), message()); ex.Outcome != outbox.Unauthorized {
		t.Fatalf("with old credentials: %+v", ex)
	}
	current = "Bearer new"
	if ex := c.Send(t.Context(), token(t), message()); ex.Outcome != outbox.Accepted {
		t.Fatalf("with new credentials: %+v", ex)
	}
}
