// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func speakingGRPC(c *remote.Config) { c.Interface.ProtocolBinding = "GRPC" }

// frame is a message as gRPC has it on the wire.
func frame(t testing.TB, m proto.Message) string {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 5)
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	return string(head) + string(body)
}

// ended are the trailers of a call that ended with a code and these details.
func ended(t testing.TB, code codes.Code, message string, list ...proto.Message) http.Header {
	t.Helper()
	h := http.Header{"Grpc-Status": {strconv.Itoa(int(code))}, "Grpc-Message": {message}}
	s := &status.Status{Code: int32(code)}
	for _, d := range list {
		a, err := anypb.New(d)
		if err != nil {
			t.Fatal(err)
		}
		s.Details = append(s.Details, a)
	}
	raw, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if list != nil {
		h["Grpc-Status-Details-Bin"] = []string{base64.RawStdEncoding.EncodeToString(raw)}
	}
	return h
}

// grpcAnswering returns an agent over HTTP/2 without TLS that gives one answer to everything: an HTTP status and headers,
// a body, and trailers. Without a body the trailers are the headers, as gRPC servers have it.
func grpcAnswering(code int, header http.Header, body string, trailer http.Header) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		t.Helper()
		a := newAgent(t)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			a.received.Add(1)
			for name, values := range header {
				w.Header()[name] = values
			}
			for name, values := range trailer {
				if body != "" {
					name = http.TrailerPrefix + name
				}
				w.Header()[name] = values
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}))
		overH2C(s)
		s.Start()
		t.Cleanup(s.Close)
		a.url = s.URL
		return a
	}
}

// grpcHearing returns an agent that lets a test look at each request, at the path of SendMessage, and accepts it.
func grpcHearing(t *testing.T, hear func(*http.Request)) *agent {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != a2apb.A2AService_SendMessage_FullMethodName {
			t.Errorf("path %s", r.URL.Path)
		}
		hear(r)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		_, _ = io.WriteString(w, frame(t, sentTask(workingTask())))
	}))
	overH2C(s)
	s.Start()
	t.Cleanup(s.Close)
	a := newAgent(t)
	a.url = s.URL
	return a
}

// overH2C makes a server speak HTTP/2 by prior knowledge.
func overH2C(s *httptest.Server) {
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
}

func grpcHeader() http.Header { return http.Header{"Content-Type": {"application/grpc"}} }

// sentTask is the answer to a send.
func sentTask(task *a2apb.Task) *a2apb.SendMessageResponse {
	return &a2apb.SendMessageResponse{Payload: &a2apb.SendMessageResponse_Task{Task: task}}
}

func workingTask() *a2apb.Task {
	return &a2apb.Task{Id: "t-1", ContextId: "c-1", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}}
}

// The frames of HTTP/2 (RFC 9113, section 6) that the raw agents use.
const (
	h2Data     = 0
	h2Reset    = 3
	h2Settings = 4
	h2GoAway   = 7
)

// h2 is the server's end of a connection of HTTP/2, without any of its rules.
type h2 struct {
	*testing.T
	a    *agent
	conn *net.TCPConn
	in   io.Reader
}

// write sends a frame of the stream; 0 is the connection.
func (c *h2) write(kind byte, stream uint32, payload ...byte) {
	f := []byte{0, 0, byte(len(payload)), kind, 0}
	f = binary.BigEndian.AppendUint32(f, stream)
	_, _ = c.conn.Write(append(f, payload...))
}

// readMessage reads frames up to the end of the message and counts it.
func (c *h2) readMessage() bool {
	preface := make([]byte, 24)
	if _, err := io.ReadFull(c.in, preface); err != nil {
		return false
	}
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c.in, head); err != nil {
			return false
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c.in, length); err != nil {
			return false
		}
		if head[3] == h2Data && head[4]&1 != 0 {
			c.a.received.Add(1)
			return true
		}
	}
}
