// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// The reasons of the proxy's own errors beside those of package dedup, with the domain [dedup.ReasonDomain].
const (
	// ReasonUnavailable says that nothing was forwarded, or that a known task could not be read: send the same message
	// again later.
	ReasonUnavailable = "PROXY_UNAVAILABLE"
	// ReasonPrincipal says that the caller could not be told from others.
	ReasonPrincipal = "PRINCIPAL_REQUIRED"
)

const (
	jsonType = "application/json"
	sseType  = "text/event-stream"
	retry    = "send the same message again later"
)

// problem is an error that the proxy answers by itself. It has a form in both bindings.
type problem struct {
	code   int    // JSON-RPC
	status int    // HTTP+JSON, and JSON-RPC where outside says so
	grpc   string // the status by its name in google.rpc.Code
	class  error  // of A2A
	reason string // within dedup.ReasonDomain; may be empty
	text   string
	// outside says that the error is not one of the call but of the transport's, and HTTP tells it in JSON-RPC too.
	outside bool
	// again says that the same message may be sent again a little later.
	again bool
}

var (
	problemMismatch = problem{code: -32602, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", class: a2a.ErrInvalidParams,
		reason: dedup.ReasonMismatch, text: "messageId was already used with another body: mint a new messageId for a new message"}
	problemInProgress = problem{code: -32000, status: http.StatusConflict, grpc: "ABORTED", class: a2a.ErrServerError,
		reason: dedup.ReasonInProgress, text: "an earlier copy of this message is still being processed: " + retry, again: true}
	problemUnresolved = problem{code: -32000, status: http.StatusConflict, grpc: "ABORTED", class: a2a.ErrServerError,
		reason: dedup.ReasonOutcomeUnknown,
		text: "an earlier copy of this message may have been accepted, and the agent can't be asked for its task: " +
			"look for it, and mint a new messageId only if there is none"}
	problemBatch = problem{code: -32600, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", class: a2a.ErrInvalidRequest, text: errBatch.Error()}
	problemParse = problem{code: -32700, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", class: a2a.ErrParseError, text: errNotJSON.Error()}
	problemRead  = problem{code: -32700, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", class: a2a.ErrParseError,
		text: "the request's body broke off; nothing was forwarded", outside: true}
	problemCoded = problem{code: -32600, status: http.StatusUnsupportedMediaType, grpc: "INVALID_ARGUMENT", class: a2a.ErrInvalidRequest,
		text: "compressed requests are not served: send the body without Content-Encoding", outside: true}
	problemPrincipal = problem{code: -31401, status: http.StatusUnauthorized, grpc: "UNAUTHENTICATED", class: a2a.ErrUnauthenticated,
		reason: ReasonPrincipal, text: "no verified caller: the proxy keeps messages apart by who sends them", outside: true}
	problemStore = problem{code: -32000, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", class: a2a.ErrServerError,
		reason: ReasonUnavailable, text: "deduplication table is not available, nothing was forwarded: " + retry, outside: true, again: true}
	problemTenant = problem{code: -32000, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", class: a2a.ErrServerError,
		reason: ReasonUnavailable, text: "the agent card is not available, which tells a tenant from the agent's path; nothing was forwarded: " + retry, outside: true, again: true}
	problemUnsent = problem{code: -32000, status: http.StatusBadGateway, grpc: "UNAVAILABLE", class: a2a.ErrServerError,
		reason: ReasonUnavailable, text: "no connection to the agent, nothing was forwarded: " + retry, outside: true, again: true}
	problemTask = problem{code: -32000, status: http.StatusBadGateway, grpc: "UNAVAILABLE", class: a2a.ErrServerError,
		reason: ReasonUnavailable, text: "the message was accepted, and the agent does not show its task now: " + retry, outside: true, again: true}
)

func problemTooLarge(limit int64) problem {
	return problem{code: -32600, status: http.StatusRequestEntityTooLarge, grpc: "INVALID_ARGUMENT", class: a2a.ErrInvalidRequest,
		text: fmt.Sprintf("the request is larger than %d bytes", limit), outside: true}
}

func problemParams(text string) problem {
	return problem{code: -32602, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", class: a2a.ErrInvalidParams, text: text}
}

// The type URLs of error details. The authority of the first is ours, for the reasons that package dedup gives.
const (
	reasonType = dedup.ReasonDomain + "/google.rpc.ErrorInfo"
	retryType  = "type.googleapis.com/google.rpc.RetryInfo"
)

func (p problem) details(messageID string) []*errordetails.Typed {
	var list []*errordetails.Typed
	if p.reason != "" {
		info := map[string]any{"reason": p.reason, "domain": dedup.ReasonDomain}
		if messageID != "" {
			info["metadata"] = map[string]any{"messageId": messageID}
		}
		list = append(list, errordetails.NewTyped(reasonType, info))
	}
	if p.again {
		list = append(list, errordetails.NewTyped(retryType, map[string]any{"retryDelay": dedup.RetryAfter.String()}))
	}
	return append(list, errordetails.NewErrorInfo(a2a.ErrorReason(p.class), a2a.ProtocolDomain, nil))
}

// answer gives the problem the form that the call's binding has for errors. A JSON-RPC stream tells it in its only
// event: clients of streams don't look for anything else.
func (p problem) answer(c *call) answer {
	a := answer{status: p.status, header: http.Header{"Content-Type": {jsonType}}}
	if p.again {
		a.header.Set("Retry-After", strconv.Itoa(int(dedup.RetryAfter/time.Second)))
	}
	if !c.rpc {
		a.body = marshal(map[string]any{"error": map[string]any{
			"code": p.status, "status": p.grpc, "message": p.text, "details": p.details(c.message.id),
		}})
		return a
	}
	failure := marshal(map[string]any{"code": p.code, "message": p.text, "data": p.details(c.message.id)})
	a.body = rpcEnvelope(c.id, "error", failure)
	if p.outside {
		return a
	}
	a.status = http.StatusOK
	if c.stream {
		a.header.Set("Content-Type", sseType)
		a.body = sseEvent(a.body)
	}
	return a
}

// rpcEnvelope is a JSON-RPC response whose member is "result" or "error".
func rpcEnvelope(id json.RawMessage, member string, value json.RawMessage) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return joined(`{"jsonrpc":"2.0","id":`, string(id), `,"`, member, `":`, string(value), `}`)
}

// sseEvent is an event of one line: JSON has no line breaks but between its tokens, where spaces do as well.
func sseEvent(data []byte) []byte {
	oneLine := bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, data)
	return joined("data: ", string(oneLine), "\n\n")
}

func joined(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// marshal is for values that are made of strings and numbers, which always have a JSON form.
func marshal(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("dedupproxy: %v", err))
	}
	return data
}

// shapeOf is the binding that an error about a request has to speak before, or without, its being a send: by the path,
// since the body may be unreadable.
func shapeOf(r *http.Request) *call {
	path := r.URL.Path
	rest := strings.HasSuffix(path, pathSend) || strings.HasSuffix(path, pathStream) || strings.Contains(path, "/tasks/")
	return &call{rpc: !rest}
}
