// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// grpcStatus is how a gRPC call ended.
type grpcStatus struct {
	code    codes.Code
	message string
	said    details
}

// grpcStatus reads the end of a call, from the trailers or, where nothing came before them, from the headers. A status
// that is no number is none.
func (ev evidence) grpcStatus() (grpcStatus, bool) {
	h := ev.trailer
	if h.Get("Grpc-Status") == "" {
		h = ev.header
	}
	code, err := strconv.ParseUint(h.Get("Grpc-Status"), 10, 32)
	if err != nil {
		return grpcStatus{}, false
	}
	s := grpcStatus{code: codes.Code(code), message: h.Get("Grpc-Message")}
	if plain, err := url.PathUnescape(s.message); err == nil {
		s.message = plain
	}
	if raw, ok := decodeBase64(h.Get("Grpc-Status-Details-Bin")); ok {
		s.said = readProtoDetails(raw)
	}
	return s, true
}

// readProtoDetails reads a google.rpc.Status as far as it goes. The Go SDK has its own errors' details as ErrorInfo, and
// those that an agent adds as a Struct of their members.
func readProtoDetails(raw []byte) details {
	var s status.Status
	var d details
	if proto.Unmarshal(raw, &s) != nil {
		return d
	}
	for _, a := range s.GetDetails() {
		m, err := a.UnmarshalNew()
		if err != nil {
			continue
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			d.add(m.GetReason(), m.GetDomain())
		case *errdetails.RetryInfo:
			d.retryDelay = bounded(m.GetRetryDelay().AsDuration())
		case *structpb.Struct:
			d.add(m.GetFields()["reason"].GetStringValue(), m.GetFields()["domain"].GetStringValue())
			if delay, err := time.ParseDuration(m.GetFields()["retryDelay"].GetStringValue()); err == nil {
				d.retryDelay = bounded(delay)
			}
		}
	}
	return d
}

// grpcFaults are the statuses that prove something, or have a name of their own, where their details name no A2A error.
// They read like the HTTP status that google.rpc.Code gives for them, in whose words the reasons are, but for ABORTED and
// ALREADY_EXISTS: agents say these for other causes than a first copy under way.
var grpcFaults = map[codes.Code]fault{
	codes.InvalidArgument:    {outcome: outbox.Refused, reason: statusReason(http.StatusBadRequest)},
	codes.FailedPrecondition: {outcome: outbox.Refused, reason: statusReason(http.StatusBadRequest)},
	codes.ResourceExhausted:  {outcome: outbox.NotSent, reason: ReasonTooManyRequests},
	codes.Unauthenticated:    {outcome: outbox.Unauthorized, reason: statusReason(http.StatusUnauthorized)},
	codes.PermissionDenied:   {outcome: outbox.Unauthorized, reason: statusReason(http.StatusForbidden)},
	codes.Unimplemented:      {outcome: outbox.NotSent, reason: ReasonEndpointNotFound},
	codes.Unavailable:        {outcome: outbox.Ambiguous, reason: statusReason(http.StatusServiceUnavailable)},
	codes.DeadlineExceeded:   {outcome: outbox.Ambiguous, reason: statusReason(http.StatusGatewayTimeout)},
	codes.Internal:           {outcome: outbox.Ambiguous, reason: statusReason(http.StatusInternalServerError)},
}

// answer says what a status proves that is not OK.
func (s grpcStatus) answer(call outbox.Call) answer {
	f := s.fault(call)
	f.label, f.message = fmt.Sprintf("gRPC status %s (%s)", s.code, f.reason), s.message
	return answer{fault: &f, retryAfter: s.said.retryDelay}
}

// fault is in the order of judgeResponse: what stands before the agent says who may come in and how often; after that the
// agent's own error counts, and then the status.
func (s grpcStatus) fault(call outbox.Call) fault {
	plain, known := s.plain(call)
	own, named := s.said.fault(s.code == codes.InvalidArgument || s.code == codes.FailedPrecondition)
	switch {
	case plain.outcome == outbox.Unauthorized && own.outcome == outbox.Unauthorized:
		return own
	case plain.outcome == outbox.Unauthorized, s.code == codes.ResourceExhausted && known:
		return plain
	case named:
		return own
	case s.code == codes.Unimplemented && (call == outbox.CallFind || call == callSubscribe):
		return rpcFaults[-32601]
	case s.code == codes.NotFound && (call == outbox.CallGet || call == outbox.CallCancel || call == callSubscribe):
		// A2A 1.0, section 5.4, has it for TaskNotFound alone; a service that is not there is UNIMPLEMENTED.
		return rpcFaults[-32001]
	case known:
		return plain
	}
	return fault{outcome: outbox.Ambiguous, reason: ReasonServerError}
}

// plain is what the status alone proves; false where that is nothing. RESOURCE_EXHAUSTED may say that a call came too early.
// A server also says it of an answer that it finds too large to send, when the agent has the message: so of a send it is
// proof only together with when to come again.
func (s grpcStatus) plain(call outbox.Call) (fault, bool) {
	if s.code == codes.ResourceExhausted && call == outbox.CallSend && s.said.retryDelay <= 0 {
		return fault{}, false
	}
	f, known := grpcFaults[s.code]
	return f, known
}
