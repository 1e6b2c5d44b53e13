// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func TestSendGRPC(t *testing.T) {
	runCases(t, speakingGRPC, 90,
		unprovenCases(), lostCases(), localCases(), grpcTLSCases(), codeOnlyCases(), grpcErrorCases(t), grpcDetailCases(t), frontCases(t), grpcResultCases(t))
}

// ending returns an agent whose call ends with a code and these details, and an echo of what it was sent.
func endingWith(code codes.Code, details ...proto.Message) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return grpcAnswering(200, grpcHeader(), "", ended(t, code, "no: "+content+" with Bearer "+secret+"%0A", details...))(t)
	}
}

// codeOnlyCases are the codes of gRPC without a word of A2A.
func codeOnlyCases() []sendCase {
	var cases []sendCase
	for _, row := range []struct {
		code    codes.Code
		outcome outbox.Outcome
		reason  string
	}{
		{codes.Canceled, outbox.Ambiguous, remote.ReasonServerError},
		{codes.Unknown, outbox.Ambiguous, remote.ReasonServerError},
		{codes.InvalidArgument, outbox.Refused, "BadRequest"},
		{codes.DeadlineExceeded, outbox.Ambiguous, "GatewayTimeout"},
		{codes.NotFound, outbox.Ambiguous, remote.ReasonServerError},
		{codes.AlreadyExists, outbox.Ambiguous, remote.ReasonServerError},
		{codes.PermissionDenied, outbox.Unauthorized, "Forbidden"},
		{codes.ResourceExhausted, outbox.Ambiguous, remote.ReasonServerError}, // see TestAnswerTooLargeForItsServer
		{codes.FailedPrecondition, outbox.Refused, "BadRequest"},
		{codes.Aborted, outbox.Ambiguous, remote.ReasonServerError},
		{codes.OutOfRange, outbox.Ambiguous, remote.ReasonServerError},
		{codes.Unimplemented, outbox.NotSent, remote.ReasonEndpointNotFound},
		{codes.Internal, outbox.Ambiguous, "InternalServerError"},
		{codes.Unavailable, outbox.Ambiguous, "ServiceUnavailable"},
		{codes.DataLoss, outbox.Ambiguous, remote.ReasonServerError},
		{codes.Unauthenticated, outbox.Unauthorized, "Unauthorized"},
		{codes.Code(77), outbox.Ambiguous, remote.ReasonServerError},
	} {
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("%s: gRPC status %s that names no A2A error", row.outcome, row.code),
			agent: endingWith(row.code), received: 1, outcome: row.outcome, reason: row.reason,
		})
	}
	return cases
}

func a2aInfo(reason string) *errdetails.ErrorInfo {
	return &errdetails.ErrorInfo{Reason: reason, Domain: "a2a-protocol.org"}
}

// grpcErrorCases are the errors of A2A under the codes that the specification (A2A 1.0, section 5.4) or the Go SDK gives
// them, and some under others.
func grpcErrorCases(t *testing.T) []sendCase {
	t.Helper()
	var cases []sendCase
	for _, row := range []struct {
		code    codes.Code
		info    string
		outcome outbox.Outcome
		reason  string
	}{
		{codes.InvalidArgument, "PARSE_ERROR", outbox.Refused, "ParseError"},
		{codes.InvalidArgument, "INVALID_REQUEST", outbox.Refused, "InvalidRequest"},
		{codes.Unimplemented, "METHOD_NOT_FOUND", outbox.Refused, "MethodNotFound"},
		{codes.InvalidArgument, "INVALID_PARAMS", outbox.Refused, "InvalidParams"},
		{codes.Internal, "INTERNAL_ERROR", outbox.Ambiguous, "InternalError"},
		{codes.Internal, "SERVER_ERROR", outbox.Ambiguous, remote.ReasonServerError},
		{codes.NotFound, "TASK_NOT_FOUND", outbox.Refused, remote.ReasonTaskNotFound},
		{codes.FailedPrecondition, "TASK_NOT_CANCELABLE", outbox.Refused, remote.ReasonTaskNotCancelable},
		{codes.Unimplemented, "PUSH_NOTIFICATION_NOT_SUPPORTED", outbox.Refused, "PushNotificationNotSupported"},
		{codes.FailedPrecondition, "UNSUPPORTED_OPERATION", outbox.Refused, "UnsupportedOperation"},
		{codes.Unimplemented, "UNSUPPORTED_OPERATION", outbox.Refused, "UnsupportedOperation"},
		{codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED", outbox.Refused, "ContentTypeNotSupported"},
		{codes.Internal, "INVALID_AGENT_RESPONSE", outbox.Ambiguous, "InvalidAgentResponse"},
		{codes.FailedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", outbox.Refused, "ExtendedAgentCardNotConfigured"},
		{codes.FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED", outbox.Refused, "ExtensionSupportRequired"},
		{codes.FailedPrecondition, "VERSION_NOT_SUPPORTED", outbox.Refused, "VersionNotSupported"},
		{codes.Unauthenticated, "UNAUTHENTICATED", outbox.Unauthorized, "Unauthenticated"},
		{codes.PermissionDenied, "UNAUTHORIZED", outbox.Unauthorized, "PermissionDenied"},
		{codes.Unauthenticated, "INVALID_PARAMS", outbox.Unauthorized, "Unauthorized"},
		{codes.ResourceExhausted, "SERVER_ERROR", outbox.Ambiguous, remote.ReasonServerError},
		{codes.InvalidArgument, "OF_A_LATER_VERSION", outbox.Refused, remote.ReasonRequestRefused},
		{codes.NotFound, "OF_A_LATER_VERSION", outbox.Ambiguous, remote.ReasonServerError},
		{codes.Unavailable, "INTERNAL_ERROR", outbox.Ambiguous, "InternalError"},
	} {
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("%s: gRPC status %s with %s", row.outcome, row.code, row.info),
			agent: endingWith(row.code, a2aInfo(row.info)), received: 1, outcome: row.outcome, reason: row.reason,
		})
	}
	return cases
}

// grpcDetailCases are the deduplicator's answers and other details.
func grpcDetailCases(t *testing.T) []sendCase {
	t.Helper()
	shape := func(members map[string]any) proto.Message {
		s, err := structpb.NewStruct(members)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	info := func(reason string) proto.Message {
		return &errdetails.ErrorInfo{Reason: reason, Domain: "a2a.delegation.dev"}
	}
	wait := &errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)}
	of := func(outcome outbox.Outcome, reason, name string, delay time.Duration, code codes.Code, details ...proto.Message) sendCase {
		return sendCase{
			name: string(outcome) + ": " + name, agent: endingWith(code, details...), received: 1, outcome: outcome, reason: reason, retryAfter: delay,
		}
	}
	garbled := of(outbox.Ambiguous, "ServiceUnavailable", "UNAVAILABLE with details that can't be read", 0, codes.Unavailable)
	garbled.agent = grpcAnswering(200, grpcHeader(), "", http.Header{"Grpc-Status": {"14"}, "Grpc-Message": {"%zz"}, "Grpc-Status-Details-Bin": {"!"}})
	return []sendCase{
		garbled,
		of(outbox.InProgress, remote.ReasonInProgress, "ABORTED, the first copy is under way", 7*time.Second, codes.Aborted, info("MESSAGE_IN_PROGRESS"), wait),
		of(outbox.InProgress, remote.ReasonInProgress, "ALREADY_EXISTS, the first copy is under way", 0, codes.AlreadyExists, info("MESSAGE_IN_PROGRESS")),
		of(outbox.InProgress, remote.ReasonInProgress, "INTERNAL, the first copy is under way, as the Go SDK puts it", 2*time.Second, codes.Internal,
			shape(map[string]any{"reason": "MESSAGE_IN_PROGRESS", "domain": "a2a.delegation.dev"}), shape(map[string]any{"retryDelay": "2s"}), a2aInfo("SERVER_ERROR")),
		of(outbox.Unresolved, remote.ReasonOutcomeUnknown, "ABORTED, the first copy's outcome is not known", 0, codes.Aborted, info("MESSAGE_OUTCOME_UNKNOWN")),
		of(outbox.Refused, remote.ReasonDigestMismatch, "ALREADY_EXISTS, the messageId was used with another body", 0, codes.AlreadyExists, info("MESSAGE_ID_MISMATCH")),
		of(outbox.Refused, remote.ReasonDigestMismatch, "INVALID_ARGUMENT, the messageId was used with another body, as the Go SDK puts it", 0,
			codes.InvalidArgument, shape(map[string]any{"reason": "MESSAGE_ID_MISMATCH", "domain": "a2a.delegation.dev"}), a2aInfo("INVALID_PARAMS")),
		of(outbox.NotSent, remote.ReasonTooManyRequests, "RESOURCE_EXHAUSTED with a RetryInfo", 7*time.Second, codes.ResourceExhausted, wait),
		of(outbox.NotSent, remote.ReasonTooManyRequests, "RESOURCE_EXHAUSTED with a RetryInfo of a year", 15*time.Minute, codes.ResourceExhausted,
			&errdetails.RetryInfo{RetryDelay: durationpb.New(365 * 24 * time.Hour)}),
		of(outbox.Ambiguous, "ServiceUnavailable", "UNAVAILABLE with a RetryInfo proves no more than without", 7*time.Second, codes.Unavailable, wait),
		of(outbox.Ambiguous, remote.ReasonServerError, "NOT_FOUND with an error of another domain", 0, codes.NotFound,
			&errdetails.ErrorInfo{Reason: "TASK_NOT_FOUND", Domain: "googleapis.com"}),
	}
}

// frontCases are answers of what stands before an agent and does not speak gRPC.
func frontCases(t *testing.T) []sendCase {
	t.Helper()
	html := http.Header{"Content-Type": {"text/html"}}
	of := func(outcome outbox.Outcome, reason string, status int) sendCase {
		return sendCase{
			name:  fmt.Sprintf("%s: HTTP %d without gRPC", outcome, status),
			agent: grpcAnswering(status, html, "<html>"+content+"</html>", nil), received: 1, outcome: outcome, reason: reason,
		}
	}
	slow := of(outbox.NotSent, remote.ReasonTooManyRequests, 429)
	slow.agent = grpcAnswering(429, http.Header{"Retry-After": {"7"}}, "", nil)
	slow.retryAfter = 7 * time.Second
	moved := of(outbox.Ambiguous, remote.ReasonRedirected, 302)
	moved.agent = grpcAnswering(302, http.Header{"Location": {"https://elsewhere.example.com/?token=" + secret}}, "", nil)
	typed := of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, 200)
	typed.name = "Ambiguous: the answer is gRPC's in JSON"
	typed.agent = grpcAnswering(200, http.Header{"Content-Type": {"application/grpc+json"}}, "{}", ended(t, 0, ""))
	return []sendCase{
		slow, moved, typed,
		of(outbox.Ambiguous, remote.ReasonUnexpectedContentType, 200),
		of(outbox.Unauthorized, "Unauthorized", 401),
		of(outbox.Unauthorized, "Forbidden", 403),
		of(outbox.NotSent, remote.ReasonEndpointNotFound, 404),
		of(outbox.Refused, "UnsupportedMediaType", 415),
		of(outbox.Ambiguous, "BadGateway", 502),
		of(outbox.Ambiguous, "ServiceUnavailable", 503),
	}
}

// What the agent said is shown, without what it was sent.
func TestGRPCShowsTheAgentsWord(t *testing.T) {
	ex := connect(t, endingWith(codes.FailedPrecondition, a2aInfo("UNSUPPORTED_OPERATION"))(t), speakingGRPC).Send(t.Context(), token(t), message())
	if !strings.Contains(ex.Detail, "gRPC status FailedPrecondition (UnsupportedOperation): no") {
		t.Errorf("%q", ex.Detail)
	}
}
