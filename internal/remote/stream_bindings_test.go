// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"encoding/binary"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	restStatus  = `data: {"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_WORKING"}}}` + "\n\n"
	restMissing = `{"error":{"code":404,"status":"NOT_FOUND","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",` +
		`"reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`
)

// restAgent serves subscriptions under one method, and answers others as it is told to. It notes the methods.
type restAgent struct {
	method string
	other  http.HandlerFunc
	events []string
	mu     sync.Mutex
	seen   []string
}

func (a *restAgent) open(t *testing.T) *agent {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.seen = append(a.seen, r.Method)
		a.mu.Unlock()
		switch {
		case !strings.HasSuffix(r.URL.Path, "/tasks/t-1:subscribe"):
			t.Errorf("path %s", r.URL.Path)
		case r.Method != a.method:
			a.other(w, r)
		default:
			write(w, "", a.events...)
		}
	}))
	t.Cleanup(s.Close)
	out := newAgent(t)
	out.url = s.URL
	return out
}

func refusing(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func denying(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, restMissing)
}

// The specification has GET and the Go SDK's client POST: what the agent takes is found out once.
func TestSubscribeOverREST(t *testing.T) {
	for _, c := range []struct {
		name    string
		agent   *restAgent
		outcome outbox.Outcome
		methods []string
	}{
		{"GET", &restAgent{method: "GET", other: refusing(405), events: []string{restStatus}}, outbox.Accepted, []string{"GET", "GET"}},
		{"POST, GET is not allowed", &restAgent{method: "POST", other: refusing(405), events: []string{restStatus}}, outbox.Accepted, []string{"GET", "POST", "POST"}},
		{"POST, GET is taken for another task", &restAgent{method: "POST", other: denying, events: []string{restStatus}}, outbox.Accepted, []string{"GET", "POST", "POST"}},
		{"neither", &restAgent{method: "PUT", other: refusing(404)}, outbox.NotSent, []string{"GET", "POST", "GET", "POST"}},
		{"the task is not there", &restAgent{method: "PUT", other: denying}, outbox.Absent, []string{"GET", "POST", "GET", "POST"}},
		{"it is not there, by the stream's word", &restAgent{method: "GET", other: refusing(405), events: []string{"data: " + restMissing + "\n\n"}},
			outbox.Absent, []string{"GET", "POST", "GET", "POST"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := connect(t, c.agent.open(t), speakingREST)
			for range 2 {
				if ex := client.Subscribe(t.Context(), "t-1", func() {}); ex.Outcome != c.outcome {
					t.Errorf("%s %q %s, want %s", ex.Outcome, ex.Reason, ex.Detail, c.outcome)
				}
			}
			if !slices.Equal(c.agent.seen, c.methods) {
				t.Errorf("called by %v, want %v", c.agent.seen, c.methods)
			}
		})
	}
}

func statusFrame(t testing.TB) string {
	return frame(t, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{TaskId: "t-1"}}})
}

func artifactFrame(t testing.TB) string {
	return frame(t, &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{TaskId: "t-1"}}})
}

// hugeFrame returns an agent that says a message of 20 MB and then another.
func hugeFrame(t *testing.T) *agent {
	block := strings.Repeat("x", 64<<10)
	after := statusFrame(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		head := make([]byte, 5)
		binary.BigEndian.PutUint32(head[1:], uint32(long/len(block)*len(block)))
		_, _ = w.Write(head)
		for range long / len(block) {
			_, _ = io.WriteString(w, block)
		}
		_, _ = io.WriteString(w, after)
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	overH2C(s)
	s.Start()
	t.Cleanup(s.Close)
	a := newAgent(t)
	a.url = s.URL
	return a
}

func TestSubscribeOverGRPC(t *testing.T) {
	one, piece := statusFrame(t), artifactFrame(t)
	ok := ended(t, codes.OK, "")
	info := &errdetails.ErrorInfo{Reason: "TASK_NOT_FOUND", Domain: "a2a-protocol.org"}
	for _, c := range []streamCase{
		{"two messages", grpcAnswering(200, grpcHeader(), one+one, ok), 0, 3, outbox.Accepted, ""},
		{"pieces of artifacts are not heard", grpcAnswering(200, grpcHeader(), piece+piece+one, ok), 0, 2, outbox.Accepted, ""},
		{"an error after a message", grpcAnswering(200, grpcHeader(), one, ended(t, codes.Unavailable, "no")), 0, 2, outbox.Ambiguous, "ServiceUnavailable"},
		{"no status", grpcAnswering(200, grpcHeader(), one, nil), 0, 2, outbox.Accepted, remote.ReasonResponseTruncated},
		{"the end within a message", grpcAnswering(200, grpcHeader(), one[:len(one)-1], ok), 0, 1, outbox.Accepted, remote.ReasonResponseTruncated},
		{"the task is not there", grpcAnswering(200, grpcHeader(), "", ended(t, codes.NotFound, "no", info)), 0, 0, outbox.Absent, remote.ReasonTaskNotFound},
		{"the task is not there, by the code alone", grpcAnswering(200, grpcHeader(), "", ended(t, codes.NotFound, "no")), 0, 0, outbox.Absent, remote.ReasonTaskNotFound},
		{"no such method", grpcAnswering(200, grpcHeader(), "", ended(t, codes.Unimplemented, "no")), 0, 0, outbox.Refused, remote.ReasonMethodNotFound},
		{"not gRPC", grpcAnswering(200, jsonHeader(), "{}", nil), 0, 0, outbox.Ambiguous, remote.ReasonUnexpectedContentType},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, speakingGRPC) })
	}
}

// patient works on a message until it is told to go on.
type patient struct {
	worker
	goOn *signal
}

func (p patient) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		select {
		case <-p.goOn.wait():
		case <-ctx.Done():
			return
		}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

// The Go SDK's server tells of the task's end on the stream and closes it; a task that it does not work on has none.
func TestSubscribeAgainstTheSDK(t *testing.T) {
	for _, b := range sdkBindings {
		t.Run(b.name, func(t *testing.T) {
			p := patient{goOn: &signal{}}
			c := connect(t, b.open(t, a2asrv.NewHandler(p, a2asrv.WithCallInterceptors(named{})), nil))
			sent := c.Send(t.Context(), token(t), message())
			expectTask(t, sent, outbox.Accepted, "")
			heard := 0
			ex := c.Subscribe(t.Context(), sent.Task.ID, func() {
				heard++
				p.goOn.raise()
			})
			if ex.Outcome != outbox.Accepted || heard < 3 {
				t.Errorf("%s %q %s, heard %d: want the opening, the task and its end", ex.Outcome, ex.Reason, ex.Detail, heard)
			}
			// The server takes a moment to see that it does not work on the task any more.
			ex = c.Subscribe(t.Context(), sent.Task.ID, func() {})
			for try := 1; ex.Outcome == outbox.Accepted && try < 100; try++ {
				ex = c.Subscribe(t.Context(), sent.Task.ID, func() {})
			}
			expect(t, ex, outbox.Absent, remote.ReasonTaskNotFound)
		})
	}
}
