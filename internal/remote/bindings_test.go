// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/errordetails"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// front is something before an agent that answers in its place, with this HTTP status or this status of gRPC.
type front struct {
	http int
	grpc codes.Code
	// wait is when to come again; zero where the refusal does not say.
	wait time.Duration
}

// sdkBinding is a protocol binding of the Go SDK's server.
type sdkBinding struct {
	name string
	open func(*testing.T, a2asrv.RequestHandler, *front) *agent
	// lists says that it has ListTasks.
	lists bool
}

var sdkBindings = []sdkBinding{
	{"JSONRPC", overHTTP("JSONRPC", func(h a2asrv.RequestHandler) http.Handler { return a2asrv.NewJSONRPCHandler(h) }), true},
	{"HTTP+JSON", overHTTP("HTTP+JSON", func(h a2asrv.RequestHandler) http.Handler { return a2asrv.NewRESTHandler(h) }), true},
	{"GRPC", overGRPC, true},
	{"JSONRPC of 0.3", overLegacy, false},
}

// listingBindings are those that have ListTasks.
func listingBindings() []sdkBinding {
	return slices.DeleteFunc(slices.Clone(sdkBindings), func(b sdkBinding) bool { return !b.lists })
}

func overLegacy(t *testing.T, h a2asrv.RequestHandler, f *front) *agent {
	t.Helper()
	a := overHTTP("JSONRPC", func(h a2asrv.RequestHandler) http.Handler { return a2av0.NewJSONRPCHandler(h) })(t, h, f)
	a.configure = speakingLegacy
	return a
}

func overHTTP(binding string, dress func(a2asrv.RequestHandler) http.Handler) func(*testing.T, a2asrv.RequestHandler, *front) *agent {
	return func(t *testing.T, h a2asrv.RequestHandler, f *front) *agent {
		t.Helper()
		handler := dress(h)
		if f != nil {
			handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if f.wait > 0 {
					w.Header().Set("Retry-After", strconv.Itoa(int(f.wait.Seconds())))
				}
				w.WriteHeader(f.http)
			})
		}
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		a := newAgent(t)
		a.url, a.configure = s.URL, func(c *remote.Config) { c.Interface.ProtocolBinding = binding }
		return a
	}
}

func (f front) refusal() error {
	no := status.New(f.grpc, "no")
	if f.wait > 0 {
		if patient, err := no.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(f.wait)}); err == nil {
			no = patient
		}
	}
	return no.Err()
}

func overGRPC(t *testing.T, h a2asrv.RequestHandler, f *front) *agent {
	t.Helper()
	return servingGRPC(t, h, f)
}

func servingGRPC(t *testing.T, h a2asrv.RequestHandler, f *front, options ...grpc.ServerOption) *agent {
	t.Helper()
	s := grpc.NewServer(append(options, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if f != nil {
			return nil, f.refusal()
		}
		return next(ctx, req)
	}))...)
	a2agrpc.NewHandler(h).RegisterWith(s)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Serve ends with Stop, and a server that ended earlier fails the test by what it does not answer.
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	a := newAgent(t)
	a.url, a.configure = "http://"+l.Addr().String(), speakingGRPC
	return a
}

// saying is an agent that answers every message with the same.
type saying struct {
	a2asrv.RequestHandler
	result a2a.SendMessageResult
	err    error
}

func (s saying) SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return s.result, s.err
}

// shared is one logical answer, which has to prove the same whatever it comes through.
type shared struct {
	name       string
	agent      a2asrv.RequestHandler
	front      *front
	named      string
	outcome    outbox.Outcome
	reason     string
	retryAfter time.Duration
	reply      string
}

func sharedCases() []shared {
	task := &a2a.Task{ID: "t-1", ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	note := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("All is well."))
	result := func(r a2a.SendMessageResult) saying { return saying{RequestHandler: sdkHandler(), result: r} }
	cases := []shared{
		{name: "a task of the worker's", agent: sdkHandler(), outcome: outbox.Accepted},
		{name: "a task", agent: result(task), outcome: outbox.Accepted},
		{name: "the task that the message names", agent: result(task), named: "t-1", outcome: outbox.Accepted},
		{name: "a message", agent: result(note), outcome: outbox.Accepted, reply: "All is well."},
		{name: "an empty task", agent: result(&a2a.Task{}), outcome: outbox.Ambiguous, reason: remote.ReasonEmptyTask},
		{name: "a task without a state", agent: result(&a2a.Task{ID: "t-1", ContextID: "c-1"}), outcome: outbox.Ambiguous, reason: remote.ReasonEmptyTask},
		{name: "a foreign task", agent: result(task), named: "t-9", outcome: outbox.Ambiguous, reason: remote.ReasonForeignTask},
		{name: "too many requests", front: &front{http: 429, grpc: codes.ResourceExhausted, wait: 2 * time.Second}, outcome: outbox.NotSent, reason: remote.ReasonTooManyRequests,
			retryAfter: 2 * time.Second},
		{name: "unauthorized at the door", front: &front{http: 401, grpc: codes.Unauthenticated}, outcome: outbox.Unauthorized, reason: "Unauthorized"},
		{name: "forbidden at the door", front: &front{http: 403, grpc: codes.PermissionDenied}, outcome: outbox.Unauthorized, reason: "Forbidden"},
		{name: "unavailable", front: &front{http: 503, grpc: codes.Unavailable}, outcome: outbox.Ambiguous, reason: "ServiceUnavailable"},
		{name: "timed out behind the door", front: &front{http: 504, grpc: codes.DeadlineExceeded}, outcome: outbox.Ambiguous, reason: "GatewayTimeout"},
		{name: "failed at the door", front: &front{http: 500, grpc: codes.Internal}, outcome: outbox.Ambiguous, reason: "InternalServerError"},
		{name: "refused at the door", front: &front{http: 400, grpc: codes.InvalidArgument}, outcome: outbox.Refused, reason: "BadRequest"},
		{name: "nobody behind the door", front: &front{http: 404, grpc: codes.Unimplemented}, outcome: outbox.NotSent, reason: remote.ReasonEndpointNotFound},
	}
	for _, row := range []struct {
		err     error
		outcome outbox.Outcome
		reason  string
		delay   time.Duration
	}{
		{a2a.ErrParseError, outbox.Refused, "ParseError", 0},
		{a2a.ErrInvalidRequest, outbox.Refused, "InvalidRequest", 0},
		{a2a.ErrMethodNotFound, outbox.Refused, "MethodNotFound", 0},
		{a2a.ErrInvalidParams, outbox.Refused, "InvalidParams", 0},
		{a2a.ErrInternalError, outbox.Ambiguous, "InternalError", 0},
		{a2a.ErrServerError, outbox.Ambiguous, remote.ReasonServerError, 0},
		{a2a.ErrTaskNotFound, outbox.Refused, remote.ReasonTaskNotFound, 0},
		{a2a.ErrTaskNotCancelable, outbox.Refused, remote.ReasonTaskNotCancelable, 0},
		{a2a.ErrPushNotificationNotSupported, outbox.Refused, "PushNotificationNotSupported", 0},
		{a2a.ErrUnsupportedOperation, outbox.Refused, "UnsupportedOperation", 0},
		{a2a.ErrUnsupportedContentType, outbox.Refused, "ContentTypeNotSupported", 0},
		{a2a.ErrInvalidAgentResponse, outbox.Ambiguous, "InvalidAgentResponse", 0},
		{a2a.ErrExtendedCardNotConfigured, outbox.Refused, "ExtendedAgentCardNotConfigured", 0},
		{a2a.ErrExtensionSupportRequired, outbox.Refused, "ExtensionSupportRequired", 0},
		{a2a.ErrVersionNotSupported, outbox.Refused, "VersionNotSupported", 0},
		{a2a.ErrUnauthenticated, outbox.Unauthorized, "Unauthenticated", 0},
		{a2a.ErrUnauthorized, outbox.Unauthorized, "PermissionDenied", 0},
		{deduplicating(a2a.ErrServerError, "MESSAGE_IN_PROGRESS"), outbox.InProgress, remote.ReasonInProgress, 2 * time.Second},
		{deduplicating(a2a.ErrServerError, "MESSAGE_OUTCOME_UNKNOWN"), outbox.Unresolved, remote.ReasonOutcomeUnknown, 2 * time.Second},
		{deduplicating(a2a.ErrInvalidParams, "MESSAGE_ID_MISMATCH"), outbox.Refused, remote.ReasonDigestMismatch, 2 * time.Second},
	} {
		cases = append(cases, shared{
			name: "error: " + row.err.Error(), agent: saying{RequestHandler: sdkHandler(), err: row.err},
			outcome: row.outcome, reason: row.reason, retryAfter: row.delay,
		})
	}
	return cases
}

// deduplicating is an error as this project's deduplicator has it.
func deduplicating(class error, reason string) error {
	return a2a.NewError(class, reason).WithTypedDetails(
		errordetails.NewTyped("a2a.delegation.dev/google.rpc.ErrorInfo", map[string]any{"reason": reason, "domain": "a2a.delegation.dev"}),
		errordetails.NewTyped("type.googleapis.com/google.rpc.RetryInfo", map[string]any{"retryDelay": "2s"}))
}

// The same answer of an agent on the Go SDK proves the same over every binding, and has the same name.
func TestBindingsAgree(t *testing.T) {
	cases := sharedCases()
	for _, b := range sdkBindings {
		for _, c := range cases {
			t.Run(b.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				if c.agent == nil {
					c.agent = sdkHandler()
				}
				req := message()
				req.Message.TaskID = a2a.TaskID(c.named)
				ex := connect(t, b.open(t, c.agent, c.front)).Send(t.Context(), token(t), req)
				expect(t, ex, c.outcome, c.reason)
				if ex.RetryAfter != c.retryAfter {
					t.Errorf("RetryAfter %s, want %s", ex.RetryAfter, c.retryAfter)
				}
				if accepted := c.outcome == outbox.Accepted; (ex.Task != nil) != (accepted && c.reply == "") || (ex.Reply != nil) != (c.reply != "") {
					t.Errorf("%+v", ex)
				}
				if ex.Reply != nil && *ex.Reply != c.reply {
					t.Errorf("reply %q", *ex.Reply)
				}
			})
		}
	}
	t.Logf("%d answers over %d bindings", len(cases), len(sdkBindings))
}
