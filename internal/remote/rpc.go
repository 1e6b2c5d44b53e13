// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const rpcVersion = "2.0"

// rpcFaults are the errors that JSON-RPC 2.0 (section 5.1) and A2A 1.0 (section 5.4) name by code. The last two are the
// Go SDK's for a caller that is not accepted, for which the specification leaves the code open.
var rpcFaults = map[int64]fault{
	-32700: {outcome: outbox.Refused, reason: "ParseError"},
	-32600: {outcome: outbox.Refused, reason: "InvalidRequest"},
	-32601: {outcome: outbox.Refused, reason: ReasonMethodNotFound},
	-32602: {outcome: outbox.Refused, reason: "InvalidParams"},
	-32603: {outcome: outbox.Ambiguous, reason: "InternalError"},
	-32001: {outcome: outbox.Refused, reason: ReasonTaskNotFound},
	-32002: {outcome: outbox.Refused, reason: ReasonTaskNotCancelable},
	-32003: {outcome: outbox.Refused, reason: ReasonPushNotSupported},
	-32004: {outcome: outbox.Refused, reason: "UnsupportedOperation"},
	-32005: {outcome: outbox.Refused, reason: "ContentTypeNotSupported"},
	// A gateway in front of the agent may say this of an answer to a message that the agent took.
	-32006: {outcome: outbox.Ambiguous, reason: "InvalidAgentResponse"},
	-32007: {outcome: outbox.Refused, reason: "ExtendedAgentCardNotConfigured"},
	-32008: {outcome: outbox.Refused, reason: "ExtensionSupportRequired"},
	-32009: {outcome: outbox.Refused, reason: "VersionNotSupported"},
	-31401: unauthenticated,
	-31403: permissionDenied,
}

// rpc dresses requests as JSON-RPC 2.0 (A2A 1.0, section 9).
type rpc struct {
	url *url.URL
}

// encode implements binding. The methods have the names of the calls.
func (b rpc) encode(call outbox.Call, params any) (parcel, error) {
	return rpcRequest(b.url, call, string(call), params)
}

// rpcRequest is the request that calls a method.
func rpcRequest(u *url.URL, call outbox.Call, method string, params any) (parcel, error) {
	id := uuid.NewString()
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{rpcVersion, id, method, params})
	return parcel{
		method: http.MethodPost, url: u, body: body, id: id,
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {accepted(call, "application/json")}},
	}, err
}

// decode implements binding.
func (rpc) decode(_ outbox.Call, p parcel, ev evidence) answer {
	return rpcAnswer(p, ev, rpcFaults)
}

// rpcAnswer reads the response to a request, of which codes has the faults that are known by their code.
func rpcAnswer(p parcel, ev evidence, codes map[int64]fault) answer {
	_, envelope, fault := jsonBody(ev)
	if envelope == nil {
		return fault
	}
	ours := envelope.text("id") == p.id
	if !ours && envelope.text("jsonrpc") != rpcVersion {
		return answer{reason: ReasonInvalidResponse}
	}
	failed, succeeded := envelope.has("error"), envelope.has("result")
	switch {
	case failed == succeeded:
		return answer{reason: ReasonInvalidResponse}
	case failed && (ours || !envelope.has("id")):
		// An agent that could not read the request does not know its id.
		return readFault(envelope["error"], codes)
	case ours:
		return answer{result: envelope["result"]}
	}
	return answer{reason: ReasonForeignResponse}
}

// jsonBody returns the object that a response carries, and the bytes that it was read from; nil and what is wrong where it
// carries none.
func jsonBody(ev evidence) (body []byte, o lax, fault answer) {
	switch {
	case ev.err != nil:
		return nil, nil, answer{}
	case ev.gap != "":
		return nil, nil, answer{reason: ev.gap}
	case !isJSON(ev.header):
		return nil, nil, answer{reason: ReasonUnexpectedContentType}
	}
	body = unmarked(ev.body)
	if o = object(body); o == nil {
		return nil, nil, answer{reason: ReasonInvalidResponse}
	}
	return body, o, answer{}
}

// unmarked is a body without the byte order mark that some servers begin it with.
func unmarked(body []byte) []byte {
	return bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
}

// isJSON reports whether the response is JSON by its Content-Type, or has none (RFC 9110, section 8.3).
func isJSON(h http.Header) bool {
	value := h.Get("Content-Type")
	if value == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(value)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// readFault reads an error object (JSON-RPC 2.0, section 5.1).
func readFault(raw json.RawMessage, codes map[int64]fault) answer {
	o := object(raw)
	var number float64
	if json.Unmarshal(o["code"], &number) != nil || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
		return answer{reason: ReasonInvalidResponse}
	}
	code, said := int64(number), readDetails(o["data"])
	f, known := said.deduplicator()
	if !known {
		f, known = codes[code]
	}
	switch {
	case known:
	case code >= -32700 && code <= -32600:
		f = fault{outcome: outbox.Refused, reason: ReasonRequestRefused}
	default:
		if f, known = said.named(); !known {
			f = fault{outcome: outbox.Ambiguous, reason: ReasonServerError}
		}
	}
	f.label, f.message = fmt.Sprintf("JSON-RPC error %d (%s)", code, f.reason), o.text("message")
	return answer{fault: &f, retryAfter: said.retryDelay}
}
