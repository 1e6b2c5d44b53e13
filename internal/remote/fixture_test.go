// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	secret  = "s3cr3t-t0ken"
	content = "Reconcile September 2026 for account QX-4711-ZP"
	// patience bounds every wait of a test.
	patience = 20 * time.Second
)

// agent is a server under a test's control.
type agent struct {
	url string
	// received counts the messages that arrived whole.
	received atomic.Int32
	// reached is closed when the agent has come to the point that the test waits for.
	reached chan struct{}
	once    sync.Once
	// release is closed at the end of the test.
	release chan struct{}
	// configure adapts the client to the agent.
	configure func(*remote.Config)
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	a := &agent{reached: make(chan struct{}), release: make(chan struct{}), configure: func(*remote.Config) {}}
	t.Cleanup(func() { close(a.release) })
	return a
}

func (a *agent) reach() { a.once.Do(func() { close(a.reached) }) }

// call is a JSON-RPC request as an agent reads it.
type call struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (a *agent) receive(r *http.Request) (call, error) {
	var c call
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return c, err
	}
	a.received.Add(1)
	return c, json.Unmarshal(body, &c)
}

// served returns an agent on net/http, over TLS and HTTP/2 if asked for.
func served(t *testing.T, secure bool, handle func(a *agent, w http.ResponseWriter, r *http.Request, c call)) *agent {
	t.Helper()
	a := newAgent(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.receive(r)
		if err != nil {
			return
		}
		handle(a, w, r, c)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
		a.configure = func(c *remote.Config) { c.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig }
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	a.url = s.URL
	return a
}

// answering returns an agent that gives one HTTP answer to everything. In the body %s is the request's id.
func answering(status int, header http.Header, body string) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			if body != "" {
				_, _ = io.WriteString(w, withID(body, c.ID))
			}
		})
	}
}

func withID(body, id string) string { return strings.ReplaceAll(body, "%s", id) }

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

func resultBody(result string) string { return `{"jsonrpc":"2.0","id":"%s","result":` + result + `}` }

func errorBody(err string) string { return `{"jsonrpc":"2.0","id":"%s","error":` + err + `}` }

// speaking returns an agent on a raw socket. It handles each connection by itself and closes it afterwards.
func speaking(handle func(a *agent, conn *net.TCPConn, in *bufio.Reader)) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		t.Helper()
		a := newAgent(t)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		a.url = "http://" + l.Addr().String() + "/a2a"
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer func() { _ = conn.Close() }()
					handle(a, conn.(*net.TCPConn), bufio.NewReader(conn))
				}()
			}
		}()
		return a
	}
}

// read takes one request off a raw socket; false when there is none.
func (a *agent) read(in *bufio.Reader) (call, bool) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return call{}, false
	}
	c, err := a.receive(r)
	return c, err == nil
}

func connect(t *testing.T, a *agent, adapt ...func(*remote.Config)) *remote.Client {
	t.Helper()
	conf := remote.Config{
		Interface: v1alpha1.AgentInterface{URL: a.url, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+secret)
			return nil
		},
	}
	a.configure(&conf)
	for _, f := range adapt {
		f(&conf)
	}
	c, err := remote.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// tokenUntil is the token of an attempt that ends at the deadline.
func tokenUntil(t testing.TB, deadline time.Time) outbox.Token {
	t.Helper()
	d := &v1alpha1.Delegation{}
	d.ResourceVersion = "1"
	attempt := outbox.Attempt{Number: 1, Holder: "test", Deadline: deadline, Body: "sha256:0"}
	if err := attempt.Annotate(d); err != nil {
		t.Fatal(err)
	}
	token, err := outbox.Fence(d, "", attempt)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func token(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(patience)) }

func message() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		ID: "m-71", ContextID: "c-1", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(content)},
	}}
}

// ending is a context that a test ends when it wants to, with the error it wants.
type ending struct {
	context.Context
	done chan struct{}
	err  atomic.Value
}

func newEnding(parent context.Context) *ending {
	return &ending{Context: parent, done: make(chan struct{})}
}

func (e *ending) end(err error) {
	e.err.Store(err)
	close(e.done)
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	err, _ := e.err.Load().(error)
	return err
}

// await fails the test when ch is not closed in time.
func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
	}
}

// signal is raised once; its zero value is ready for use.
type signal struct {
	init, once sync.Once
	ch         chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.init.Do(func() { s.ch = make(chan struct{}) })
	return s.ch
}

func (s *signal) raise() {
	s.wait()
	s.once.Do(func() { close(s.ch) })
}

// isErr matches an error by identity and checks that it shows no credentials.
func isErr(t *testing.T, err, target error) bool {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows credentials: %v", err)
	}
	return errors.Is(err, target)
}
