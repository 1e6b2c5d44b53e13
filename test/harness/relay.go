// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const eventStream = "text/event-stream"

// SendMessage is the JSON-RPC method that carries a message.
const SendMessage = "SendMessage"

// Relay stands between a manager and an agent. It counts calls, and can keep messages on the way.
type Relay struct {
	// URL is the base URL, where the agent's card is found with the relay's address in it.
	URL       string
	t         testing.TB
	target    string
	firstByte func()
	mu        sync.Mutex
	calls     map[string]int
	// lose is how many answers to messages do not come back.
	lose int
	held *HeldMessage
}

// HeldMessage is a message that has left the manager whole and has not come to the agent.
type HeldMessage struct {
	// Arrived closes when the relay has the message.
	Arrived chan struct{}
	decided chan struct{}
	done    chan struct{}
}

// StartRelay runs a relay in front of an agent until the test ends. firstByte is called, where it is not nil, when the
// first byte of a connection has come from the manager and nothing of it has reached the agent. The last of around is asked
// first.
func StartRelay(t testing.TB, agentURL string, firstByte func(), around ...Around) *Relay {
	t.Helper()
	r := &Relay{t: t, target: agentURL, firstByte: firstByte, calls: map[string]int{}}
	var handler http.Handler = r
	for _, wrap := range around {
		handler = wrap(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener = &eavesdropper{Listener: server.Listener, firstByte: firstByte}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.URL = server.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the manager was killed
	}
	var call struct{ Method string }
	_ = json.Unmarshal(body, &call) // requests without a call have no method
	held := r.note(call.Method)
	if held != nil {
		close(held.Arrived)
		select {
		case <-held.decided:
		case <-r.t.Context().Done():
			return
		}
		defer close(held.done)
	}
	if strings.Contains(req.Header.Get("Accept"), eventStream) {
		r.stream(w, req, body)
		return
	}
	// A message on its way arrives, whatever became of its sender.
	if call.Method == SendMessage && r.loses() {
		r.forward(context.WithoutCancel(req.Context()), httptest.NewRecorder(), req, body)
		panic(http.ErrAbortHandler)
	}
	r.forward(context.WithoutCancel(req.Context()), w, req, body)
}

// LoseAnswers cuts the connection instead of answering the next n messages, which the agent gets.
func (r *Relay) LoseAnswers(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose = n
}

func (r *Relay) loses() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lose == 0 {
		return false
	}
	r.lose--
	return true
}

// note counts a call, and returns where it is to be held.
func (r *Relay) note(method string) *HeldMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if method != "" {
		r.calls[method]++
	}
	if method != SendMessage {
		return nil
	}
	held := r.held
	r.held = nil
	return held
}

// stream passes a stream on as it comes. It ends with its reader.
func (r *Relay) stream(w http.ResponseWriter, in *http.Request, body []byte) {
	r.pass(in.Context(), flushing{w}, in, body)
}

// flushing hands on at once what is written.
type flushing struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

func (r *Relay) forward(ctx context.Context, w http.ResponseWriter, in *http.Request, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	r.pass(ctx, w, in, body)
}

func (r *Relay) pass(ctx context.Context, w http.ResponseWriter, in *http.Request, body []byte) {
	out, err := http.NewRequestWithContext(ctx, in.Method, r.target+in.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header, out.Host = in.Header.Clone(), in.Host
	// net/http replays a request that carries an Idempotency-Key, where it can; a relay that sends copies is no witness.
	out.GetBody = nil
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // the manager may be gone
}

// Hold keeps the next message back until it is forwarded.
func (r *Relay) Hold() *HeldMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = &HeldMessage{Arrived: make(chan struct{}), decided: make(chan struct{}), done: make(chan struct{})}
	return r.held
}

// Forward hands the message to the agent, and returns when that has answered.
func (h *HeldMessage) Forward(t testing.TB) {
	t.Helper()
	close(h.decided)
	AwaitClosed(t, h.done, "the agent to answer the held message")
}

// AwaitClosed waits until a channel closes.
func AwaitClosed(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	Eventually(t, Patience, what, func(context.Context) (bool, string) {
		select {
		case <-c:
			return true, "it happened"
		default:
			return false, "it did not happen"
		}
	})
}

// Calls returns how often each JSON-RPC method was called.
func (r *Relay) Calls() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}

// eavesdropper tells of the first byte of each connection, before anybody else gets it.
type eavesdropper struct {
	net.Listener
	firstByte func()
}

// Accept implements net.Listener.
func (e *eavesdropper) Accept() (net.Conn, error) {
	conn, err := e.Listener.Accept()
	if err != nil || e.firstByte == nil {
		return conn, err
	}
	return &overheardConn{Conn: conn, firstByte: e.firstByte}, nil
}

type overheardConn struct {
	net.Conn
	once      sync.Once
	firstByte func()
}

// Read implements net.Conn.
func (c *overheardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.once.Do(c.firstByte)
	}
	return n, err
}
