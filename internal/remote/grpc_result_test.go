// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// grpcResultCases are calls that ended with OK.
func grpcResultCases(t *testing.T) []sendCase {
	t.Helper()
	return append(grpcTaskCases(t), grpcUnusableCases(t)...)
}

func grpcTaskCases(t *testing.T) []sendCase {
	t.Helper()
	accepted := func(name, state string, change func(*a2apb.Task)) sendCase {
		task := workingTask()
		change(task)
		return sendCase{
			name: "Accepted: " + name, agent: grpcAnswering(200, grpcHeader(), frame(t, sentTask(task)), ended(t, 0, "")), received: 1,
			outcome: outbox.Accepted, task: "t-1", state: state,
		}
	}
	none := func(*a2apb.Task) {}
	named := accepted("the task that the message names", "TASK_STATE_WORKING", none)
	named.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-1" }
	typed := accepted("the content type names protocol buffers", "TASK_STATE_WORKING", none)
	typed.agent = grpcAnswering(200, http.Header{"Content-Type": {"application/grpc+proto"}}, frame(t, sentTask(workingTask())), ended(t, 0, ""))
	said := "All is well."
	replied := accepted("a message", "", none)
	replied.task, replied.reply = "", &said
	replied.agent = grpcAnswering(200, grpcHeader(), frame(t, &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{
		Message: &a2apb.Message{MessageId: "r-1", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: said}}}},
	}}), ended(t, 0, ""))
	odd := replied
	odd.name = "Accepted: a message with data that has no JSON form"
	odd.agent = grpcAnswering(200, grpcHeader(), frame(t, &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{
		Message: &a2apb.Message{MessageId: "r-1", Parts: []*a2apb.Part{
			{Content: &a2apb.Part_Text{Text: said}}, {Content: &a2apb.Part_Data{Data: structpb.NewNumberValue(math.NaN())}},
		}},
	}}), ended(t, 0, ""))
	return []sendCase{
		named, typed, replied, odd,
		accepted("a task", "TASK_STATE_WORKING", none),
		accepted("a task that has ended already", "TASK_STATE_COMPLETED", func(t *a2apb.Task) { t.Status.State = a2apb.TaskState_TASK_STATE_COMPLETED }),
		accepted("a state that nobody knows", "42", func(t *a2apb.Task) { t.Status.State = 42 }),
		accepted("a time that has no JSON form", "TASK_STATE_WORKING", func(t *a2apb.Task) {
			t.Status.Timestamp = &timestamppb.Timestamp{Seconds: 1 << 50}
			t.History = []*a2apb.Message{{MessageId: "m-71"}, nil}
		}),
		accepted("a field of a later version", "TASK_STATE_WORKING", func(task *a2apb.Task) {
			task.ProtoReflect().SetUnknown([]byte{0xF8, 0x07, 1})
		}),
	}
}

func grpcUnusableCases(t *testing.T) []sendCase {
	t.Helper()
	good := frame(t, sentTask(workingTask()))
	ambiguous := func(name, reason, body string) sendCase {
		return sendCase{
			name: "Ambiguous: " + name, agent: grpcAnswering(200, grpcHeader(), body, ended(t, 0, "")), received: 1,
			outcome: outbox.Ambiguous, reason: reason,
		}
	}
	of := func(name, reason string, task *a2apb.Task) sendCase {
		return ambiguous(name, reason, frame(t, sentTask(task)))
	}
	foreign := ambiguous("another task than the one named", remote.ReasonForeignTask, good)
	foreign.request = func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-9" }
	large := ambiguous("more than a message, over the limit", remote.ReasonInvalidResponse, good+strings.Repeat("x", 1<<16))
	large.adapt = limited(1 << 15)
	endless := ambiguous("the call has no status", remote.ReasonResponseTruncated, "")
	endless.agent = grpcAnswering(200, grpcHeader(), good, nil)
	worded := ambiguous("the status is a word", remote.ReasonResponseTruncated, "")
	worded.agent = grpcAnswering(200, grpcHeader(), good, http.Header{"Grpc-Status": {"OK"}})
	failed := ambiguous("a task, and a status that is not OK", "ServiceUnavailable", "")
	failed.agent = grpcAnswering(200, grpcHeader(), good, ended(t, codes.Unavailable, "no"))
	contradicting := ambiguous("HTTP 503 with a task contradicts itself", remote.ReasonUnexpectedStatus, "")
	contradicting.agent = grpcAnswering(503, grpcHeader(), good, ended(t, 0, ""))
	return []sendCase{
		foreign, large, endless, worded, failed, contradicting,
		ambiguous("no message", remote.ReasonInvalidResponse, ""),
		ambiguous("two messages", remote.ReasonInvalidResponse, good+good),
		ambiguous("half a message", remote.ReasonInvalidResponse, good[:len(good)-3]),
		ambiguous("a compressed message that was not asked for", remote.ReasonInvalidResponse, "\x01"+good[1:]),
		ambiguous("a message that is no protocol buffer", remote.ReasonInvalidResponse, "\x00\x00\x00\x00\x03\xFF\xFF\xFF"),
		ambiguous("an empty message", remote.ReasonInvalidResponse, frame(t, &a2apb.SendMessageResponse{})),
		of("an empty task", remote.ReasonEmptyTask, &a2apb.Task{}),
		of("the task has no id", remote.ReasonEmptyTask, &a2apb.Task{Status: workingTask().Status}),
		of("the task has no state", remote.ReasonEmptyTask, &a2apb.Task{Id: "t-1"}),
		ambiguous("an empty agent's message", remote.ReasonEmptyMessage,
			frame(t, &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Message{Message: &a2apb.Message{}}})),
	}
}

// grpcTLSCases end in TLS, or come through it.
func grpcTLSCases() []sendCase {
	secure := func(http2 bool) func(t *testing.T) *agent {
		return func(t *testing.T) *agent {
			a := newAgent(t)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				a.received.Add(1)
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
				_, _ = io.WriteString(w, frame(t, sentTask(workingTask())))
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.EnableHTTP2 = http2
			s.StartTLS()
			t.Cleanup(s.Close)
			a.url = s.URL
			a.configure = func(c *remote.Config) { c.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig }
			return a
		}
	}
	return []sendCase{
		{
			name: "Accepted: over TLS", agent: secure(true), outcome: outbox.Accepted, task: "t-1", state: "TASK_STATE_WORKING", received: 1,
		}, {
			name: "NotSent: the certificate is not trusted", agent: secure(true), adapt: func(c *remote.Config) { c.TLS = nil },
			outcome: outbox.NotSent, reason: remote.ReasonTLSFailed,
		}, {
			name: "NotSent: the server does not negotiate HTTP/2", agent: secure(false), outcome: outbox.NotSent, reason: remote.ReasonTLSFailed,
		}, {
			name: "NotSent: TLS to an agent without it", agent: func(t *testing.T) *agent {
				a := endingWith(codes.OK)(t)
				a.url = "https" + strings.TrimPrefix(a.url, "http")
				return a
			},
			outcome: outbox.NotSent, reason: remote.ReasonTLSFailed,
		}, {
			name: "NotSent: no TLS to an agent with it", agent: func(t *testing.T) *agent {
				a := secure(true)(t)
				a.url = "http" + strings.TrimPrefix(a.url, "https")
				return a
			},
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "NotSent: the server negotiates nothing", agent: withoutALPN,
			outcome: outbox.NotSent, reason: remote.ReasonHTTP2Unavailable,
		},
	}
}

// withoutALPN is a server with TLS that has never heard of HTTP/2.
func withoutALPN(t *testing.T) *agent {
	pattern := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(pattern.Close)
	conf := pattern.TLS.Clone()
	conf.NextProtos = nil
	a := speaking(func(a *agent, conn *net.TCPConn, _ *bufio.Reader) {
		_ = tls.Server(conn, conf).HandshakeContext(t.Context())
		<-a.release
	})(t)
	a.url = "https" + strings.TrimPrefix(a.url, "http")
	a.configure = func(c *remote.Config) { c.TLS = pattern.Client().Transport.(*http.Transport).TLSClientConfig }
	return a
}

// Artifacts, times and the text of a state come through as they do in JSON.
func TestGRPCKeepsTheTask(t *testing.T) {
	data, err := structpb.NewValue(map[string]any{"total": 7.5})
	if err != nil {
		t.Fatal(err)
	}
	task := workingTask()
	task.Status.Timestamp = &timestamppb.Timestamp{Seconds: 1788264000}
	task.Status.Message = &a2apb.Message{MessageId: "s-1", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "busy"}}}}
	task.History = []*a2apb.Message{{MessageId: "m-71"}, {MessageId: "r-1"}}
	task.Artifacts = []*a2apb.Artifact{{ArtifactId: "a", Name: "report", Parts: []*a2apb.Part{
		{Content: &a2apb.Part_Raw{Raw: []byte{0, 255}}, Filename: "x.bin"}, {Content: &a2apb.Part_Data{Data: data}}, {Content: &a2apb.Part_Url{Url: "https://x"}},
	}}}
	a := grpcAnswering(200, grpcHeader(), frame(t, task), ended(t, 0, ""))(t)
	ex := connect(t, a, speakingGRPC).Get(t.Context(), "t-1")
	expectTask(t, ex, outbox.Accepted, "")
	parts := ex.Task.Artifacts[0].Parts
	if ex.Task.Message != "busy" || ex.Task.Timestamp.Unix() != 1788264000 || len(ex.Task.History) != 2 || ex.Task.ContextID != "c-1" ||
		string(parts[0].Content) != "\x00\xFF" || string(parts[1].Content) != `{"total":7.5}` || parts[2].URL != "https://x" {
		t.Errorf("%+v", ex.Task)
	}
}

// What else a call may end with where it is about a task or about all.
func TestGRPCGetCancelAndFind(t *testing.T) {
	listing := &a2apb.ListTasksResponse{Tasks: []*a2apb.Task{workingTask()}}
	for _, c := range []struct {
		name                 string
		code                 codes.Code
		details              []proto.Message
		outcome, find        outbox.Outcome
		reason, lookupReason string
	}{
		{"the agent does not have it", codes.NotFound, []proto.Message{a2aInfo("TASK_NOT_FOUND")}, outbox.Absent, outbox.Refused,
			remote.ReasonTaskNotFound, remote.ReasonTaskNotFound},
		{"a plain NOT_FOUND", codes.NotFound, nil, outbox.Absent, outbox.Ambiguous, remote.ReasonTaskNotFound, remote.ReasonServerError},
		{"a plain UNIMPLEMENTED", codes.Unimplemented, nil, outbox.NotSent, outbox.Refused, remote.ReasonEndpointNotFound, remote.ReasonLookupUnsupported},
		{"no such method", codes.Unimplemented, []proto.Message{a2aInfo("METHOD_NOT_FOUND")}, outbox.Refused, outbox.Refused,
			"MethodNotFound", remote.ReasonLookupUnsupported},
		{"a caller without a name", codes.Unauthenticated, []proto.Message{a2aInfo("UNAUTHENTICATED")}, outbox.Unauthorized, outbox.Refused,
			"Unauthenticated", remote.ReasonLookupUnsupported},
		{"wrong credentials at a gateway", codes.Unauthenticated, nil, outbox.Unauthorized, outbox.Unauthorized, "Unauthorized", "Unauthorized"},
		{"unavailable", codes.Unavailable, nil, outbox.Ambiguous, outbox.Ambiguous, "ServiceUnavailable", "ServiceUnavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := grpcAnswering(200, grpcHeader(), "", ended(t, c.code, "no", c.details...))(t)
			client := connect(t, a, speakingGRPC)
			expect(t, client.Get(t.Context(), "t-1"), c.outcome, c.reason)
			expect(t, client.Cancel(t.Context(), "t-1"), c.outcome, c.reason)
			expect(t, client.Find(t.Context(), wanted), c.find, c.lookupReason)
		})
	}
	listing.Tasks[0].History = []*a2apb.Message{{MessageId: "m-71"}}
	a := grpcAnswering(200, grpcHeader(), frame(t, listing), ended(t, 0, ""))(t)
	// The agent answers the look at the task with the listing too; the task is under way, so that the listing's word is enough.
	expectTask(t, connect(t, a, speakingGRPC).Find(t.Context(), wanted), outbox.Accepted, "")
}
