// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// stuckAgent serves an agent whose first copy of m-71 never comes to an end, on both transports.
func stuckAgent(t *testing.T) string {
	t.Helper()
	entered, finish := make(chan struct{}), make(chan struct{})
	agent := &fakeAgent{send: func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		close(entered)
		<-finish
		return nil, a2a.ErrUnsupportedOperation
	}}
	h := dedup.NewHandler(agent, dedup.NewMemory())
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(h))
	mux.Handle("/rest/", http.StripPrefix("/rest", dedup.ConflictStatus(a2asrv.NewRESTHandler(h))))
	srv := httptest.NewServer(mux)
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = h.SendMessage(context.WithoutCancel(t.Context()), request("m-71", "x"))
	}()
	<-entered
	t.Cleanup(func() {
		close(finish)
		<-first
		srv.Close()
	})
	return srv.URL
}

func client(t *testing.T, url string, binding a2a.TransportProtocol) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{a2a.NewAgentInterface(url, binding)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What this package says survives both transports and the SDK's two clients.
func TestErrorsOverTheWire(t *testing.T) {
	url := stuckAgent(t)
	for path, binding := range map[string]a2a.TransportProtocol{"/a2a": a2a.TransportProtocolJSONRPC, "/rest": a2a.TransportProtocolHTTPJSON} {
		c := client(t, url+path, binding)
		_, err := c.SendMessage(t.Context(), request("m-71", "x"))
		if !errors.Is(err, a2a.ErrServerError) || dedup.Reason(err) != dedup.ReasonInProgress {
			t.Errorf("%s, same body: error %v, reason %q", binding, err, dedup.Reason(err))
		}
		_, err = c.SendMessage(t.Context(), request("m-71", "y"))
		if !errors.Is(err, a2a.ErrInvalidParams) || dedup.Reason(err) != dedup.ReasonMismatch {
			t.Errorf("%s, other body: error %v, reason %q", binding, err, dedup.Reason(err))
		}
		_, err = drain(c.SendStreamingMessage(t.Context(), request("m-71", "x")))
		if dedup.Reason(err) != dedup.ReasonInProgress {
			t.Errorf("%s, stream: error %v", binding, err)
		}
	}
	if got := dedup.Reason(a2a.ErrInvalidParams); got != "" {
		t.Errorf("an error of somebody else has the reason %q", got)
	}
}

// answer posts a body and returns what a client without the SDK sees.
func answer(t *testing.T, url string, body any) (status int, header http.Header, text string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(all)
}

func TestConflictStatus(t *testing.T) {
	url := stuckAgent(t)
	status, header, body := answer(t, url+"/rest/message:send", request("m-71", "x"))
	if status != http.StatusConflict || header.Get("Retry-After") != "1" || header.Get("Content-Type") != "application/json" {
		t.Errorf("in progress: status %d, headers %v", status, header)
	}
	for _, want := range []string{`"code":409`, `"status":"ABORTED"`, `"reason":"MESSAGE_IN_PROGRESS"`, `"domain":"a2a.delegation.dev"`, `"retryDelay":"1s"`} {
		if strings.Count(body, want) != 1 {
			t.Errorf("body lacks %s: %s", want, body)
		}
	}
	status, header, body = answer(t, url+"/rest/message:send", request("m-71", "y"))
	if status != http.StatusBadRequest || header.Get("Retry-After") != "" {
		t.Errorf("mismatch: status %d, headers %v: %s", status, header, body)
	}
}

// lostAgent serves an agent of whose first copy of m-71 nobody knows the end, on both transports.
func lostAgent(t *testing.T) string {
	t.Helper()
	h := abandonedHandler(t, &fakeAgent{})
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(h))
	mux.Handle("/rest/", http.StripPrefix("/rest", dedup.ConflictStatus(a2asrv.NewRESTHandler(h))))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestOutcomeUnknownOverTheWire(t *testing.T) {
	url := lostAgent(t)
	for path, binding := range map[string]a2a.TransportProtocol{"/a2a": a2a.TransportProtocolJSONRPC, "/rest": a2a.TransportProtocolHTTPJSON} {
		_, err := client(t, url+path, binding).SendMessage(t.Context(), request("m-71", "x"))
		if !errors.Is(err, a2a.ErrServerError) || dedup.Reason(err) != dedup.ReasonOutcomeUnknown {
			t.Errorf("%s: error %v, reason %q", binding, err, dedup.Reason(err))
		}
	}
	status, header, body := answer(t, url+"/rest/message:send", request("m-71", "x"))
	if status != http.StatusConflict || header.Get("Retry-After") != "" || header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, headers %v", status, header)
	}
	for _, want := range []string{`"code":409`, `"reason":"MESSAGE_OUTCOME_UNKNOWN"`, `"messageId":"m-71"`} {
		if strings.Count(body, want) != 1 {
			t.Errorf("body lacks %s: %s", want, body)
		}
	}
	if strings.Contains(body, "retryDelay") {
		t.Errorf("body asks for a repeat: %s", body)
	}
	call := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": request("m-71", "x")}
	if _, _, body := answer(t, url+"/a2a", call); !strings.Contains(body, `"code":-32000,`) {
		t.Errorf("JSON-RPC: %s", body)
	}
}

func TestWireErrorIsForThisPackagesErrors(t *testing.T) {
	for _, err := range []error{nil, io.EOF, dedup.ErrBound} {
		if got := dedup.WireError(dedup.Key{}, err); got != nil {
			t.Errorf("%v reads %v", err, got)
		}
	}
}

func TestJSONRPCCodes(t *testing.T) {
	url := stuckAgent(t)
	for text, want := range map[string]string{"x": `"code":-32000,`, "y": `"code":-32602,`} {
		call := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": request("m-71", text)}
		if status, _, body := answer(t, url+"/a2a", call); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("status %d, body %s: want %s", status, body, want)
		}
	}
}
