// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
)

// Answer makes the first and only event of an instant agent.
type Answer func(*a2asrv.ExecutorContext) a2a.Event

// AnswerCompletedTask answers with a task that has ended.
func AnswerCompletedTask(call *a2asrv.ExecutorContext) a2a.Event {
	task := a2a.NewSubmittedTask(call, call.Message)
	task.Status.State = a2a.TaskStateCompleted
	task.Artifacts = []*a2a.Artifact{{ID: "answer", Name: "answer.txt", Parts: a2a.ContentParts{a2a.NewTextPart("42")}}}
	return task
}

// AnswerMessage answers with a message and makes no task.
func AnswerMessage(*a2asrv.ExecutorContext) a2a.Event {
	return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("42"))
}

// StartInstantAgent runs an agent on the A2A SDK, which answers each message at once and for good, until the test ends.
// It returns the base URL.
func StartInstantAgent(t testing.TB, answer Answer) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(instant{answer})))
	// The host the card was asked from, so that a relay's card names the relay.
	mux.HandleFunc(a2asrv.WellKnownAgentCardPath, func(w http.ResponseWriter, r *http.Request) {
		instantCard("http://"+r.Host+"/a2a", a2a.TransportProtocolJSONRPC).ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// StartInstantGRPCAgent does the same with an agent that speaks gRPC. It returns the base URL, where the card is.
func StartInstantGRPCAgent(t testing.TB, answer Answer) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := grpc.NewServer()
	a2agrpc.NewHandler(a2asrv.NewHandler(instant{answer})).RegisterWith(calls)
	// Serve ends with Stop, and a server that ended earlier fails the test by what it does not answer.
	go func() { _ = calls.Serve(listener) }()
	t.Cleanup(calls.Stop)
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, instantCard("http://"+listener.Addr().String(), a2a.TransportProtocolGRPC))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func instantCard(url string, binding a2a.TransportProtocol) http.Handler {
	return a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
		Name: "Instant agent", Version: "1.0.0", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, binding)},
	})
}

type instant struct{ answer Answer }

// Execute implements a2asrv.AgentExecutor.
func (i instant) Execute(_ context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(i.answer(call), nil) }
}

// Cancel implements a2asrv.AgentExecutor. There is never anything to cancel.
func (i instant) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}
