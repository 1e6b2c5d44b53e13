// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// proof is what an exchange with the agent proved about a message.
type proof int

const (
	// open says that the message may have been taken or not.
	open proof = iota
	// taken says that it was: the outcome is known.
	taken
	// refused says that it was not, by the agent's own word or by that of what stands in front of it.
	refused
)

// finding is a proof with what it is about.
type finding struct {
	proof   proof
	outcome dedup.Binding
	// fault is the A2A reason of a protocol error, such as UNSUPPORTED_OPERATION; empty where there is none.
	fault string
}

// faults are the A2A errors (A2A 1.0, sections 3.3.2 and 5.4) by their JSON-RPC code. Those with a code in the range of
// the specification that are not in refusals prove nothing.
var faults = map[int64]error{
	-32700: a2a.ErrParseError, -32600: a2a.ErrInvalidRequest, -32601: a2a.ErrMethodNotFound, -32602: a2a.ErrInvalidParams,
	-32603: a2a.ErrInternalError,
	-32001: a2a.ErrTaskNotFound, -32002: a2a.ErrTaskNotCancelable, -32003: a2a.ErrPushNotificationNotSupported,
	-32004: a2a.ErrUnsupportedOperation, -32005: a2a.ErrUnsupportedContentType, -32006: a2a.ErrInvalidAgentResponse,
	-32007: a2a.ErrExtendedCardNotConfigured, -32008: a2a.ErrExtensionSupportRequired, -32009: a2a.ErrVersionNotSupported,
	-31401: a2a.ErrUnauthenticated, -31403: a2a.ErrUnauthorized,
}

// refusals are the errors by which an agent says that it did not take a message.
var refusals = reasonsOf(
	a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrTaskNotFound,
	a2a.ErrPushNotificationNotSupported, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType,
	a2a.ErrExtensionSupportRequired, a2a.ErrVersionNotSupported, a2a.ErrUnauthenticated, a2a.ErrUnauthorized,
)

func reasonsOf(list ...error) map[string]bool {
	reasons := map[string]bool{}
	for _, err := range list {
		reasons[a2a.ErrorReason(err)] = true
	}
	return reasons
}

// judge reads a whole response to a send.
func judge(c *call, status int, header http.Header, body []byte) finding {
	if !isJSON(header) {
		return byStatus(status)
	}
	var f finding
	if c.rpc {
		f = judgeEnvelope(c.id, body)
	} else {
		f = judgeREST(body)
	}
	switch {
	case f.proof == taken && status != http.StatusOK:
		return finding{} // a contradiction
	case f.proof == open && f.fault == "":
		return byStatus(status)
	}
	return f
}

// byStatus reads a response without anything of A2A in it, as a gateway gives it. The statuses of 4xx say that the
// request was not processed, but for those that speak of time or of another copy (RFC 9110, section 15.5).
func byStatus(status int) finding {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 499:
		return finding{}
	}
	if status >= 400 && status < 500 {
		return finding{proof: refused}
	}
	return finding{}
}

// judgeEnvelope reads a JSON-RPC response, or one event of a stream. An answer under another id is somebody else's;
// an agent that could not read the request does not know its id.
func judgeEnvelope(id json.RawMessage, body []byte) finding {
	envelope := pick(value(body), "id", "result", "error")
	own, result, failure := envelope[0].value, envelope[1].value, envelope[2].value
	failed, succeeded := first(failure) == '{', first(result) == '{'
	switch {
	case failed == succeeded, twice(envelope...):
		return finding{}
	case failed && (unset(own) || sameID(id, own)):
		return judgeError(failure)
	case succeeded && sameID(id, own):
		return judgeResult(result)
	}
	return finding{}
}

// unset reports whether a member is missing or null.
func unset(raw json.RawMessage) bool { return first(raw) == 0 || first(raw) == 'n' }

// sameID compares what the ids say: an agent may write a number in another way.
func sameID(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return decode(a, &x) == nil && decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

func judgeError(raw json.RawMessage) finding {
	var failure struct {
		Code json.Number       `json:"code"`
		Data []json.RawMessage `json:"data"`
	}
	// Details of another form than the specification's must not hide the code.
	_ = decode(raw, &failure)
	number, err := failure.Code.Float64()
	if err != nil || number != math.Trunc(number) {
		return finding{}
	}
	known, isKnown := faults[int64(number)]
	switch {
	case isKnown:
		return judgeReason(a2a.ErrorReason(known))
	case number >= -32700 && number <= -32600:
		return finding{proof: refused, fault: a2a.ErrorReason(a2a.ErrInvalidRequest)}
	}
	return judgeReason(protocolReason(failure.Data))
}

func judgeReason(reason string) finding {
	if reason == "" {
		reason = a2a.ErrorReason(a2a.ErrServerError)
	}
	if refusals[reason] {
		return finding{proof: refused, fault: reason}
	}
	return finding{fault: reason}
}

// protocolReason is the reason of the first ErrorInfo in A2A's own domain.
func protocolReason(details []json.RawMessage) string {
	for _, raw := range details {
		var info struct{ Reason, Domain string }
		if decode(raw, &info) == nil && info.Domain == a2a.ProtocolDomain && info.Reason != "" {
			return info.Reason
		}
	}
	return ""
}

// judgeREST reads a response of HTTP+JSON, or one event of its streams.
func judgeREST(body []byte) finding {
	shape := value(body)
	if first(shape) != '{' {
		return finding{}
	}
	err := pick(shape, "error")[0].value
	if first(err) != '{' {
		return judgeResult(shape)
	}
	var failure struct {
		Details []json.RawMessage `json:"details"`
	}
	if decode(err, &failure) != nil {
		return finding{}
	}
	if reason := protocolReason(failure.Details); reason != "" {
		return judgeReason(reason)
	}
	return finding{}
}

// judgeResult reads a SendMessageResponse or a StreamResponse (A2A 1.0, sections 3.2.2 and 3.2.3). One in which something has
// the wrong type, or two values, proves nothing.
func judgeResult(raw json.RawMessage) finding {
	result := pick(raw, "task", "statusUpdate", "artifactUpdate", "message")
	task := ""
	for i, name := range []string{"id", "taskId", "taskId"} {
		inner := result[i].value
		id := pick(inner, name)[0]
		if !unset(inner) && first(inner) != '{' || !unset(id.value) && first(id.value) != '"' || twice(result[i], id) {
			return finding{}
		}
		task = cmp.Or(task, text(id.value))
	}
	if task != "" {
		return finding{proof: taken, outcome: dedup.Binding{TaskID: a2a.TaskID(task)}}
	}
	if reply := result[3].value; first(reply) == '{' && !twice(result[3]) {
		return finding{proof: taken, outcome: dedup.Binding{Reply: bytes.Clone(reply)}} // it outlives the response's buffer
	}
	return finding{}
}

// isJSON reports whether a response is JSON by its Content-Type, or has none (RFC 9110, section 8.3).
func isJSON(h http.Header) bool {
	value := h.Get("Content-Type")
	if value == "" {
		return true
	}
	kind := mediaType(value)
	return kind == jsonType || strings.HasSuffix(kind, "+json")
}

func mediaType(value string) string {
	kind, _, err := mime.ParseMediaType(value)
	if err != nil {
		return ""
	}
	return kind
}
