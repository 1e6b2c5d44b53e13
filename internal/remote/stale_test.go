// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// serveOne answers one request and leaves the connection open.
func (a *agent) serveOne(conn net.Conn, in *bufio.Reader) bool {
	c, ok := a.read(in)
	if !ok {
		return false
	}
	result := submitted
	if c.Method == "GetTask" {
		result = `{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}`
	}
	body := withID(resultBody(result), c.ID)
	_, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return err == nil
}

// keepsAlive serves every connection for as long as it lasts.
var keepsAlive = speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
	for a.serveOne(conn, in) {
	}
})

// closesAfterOne answers one request for each connection, and does not say that it will.
var closesAfterOne = speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) { a.serveOne(conn, in) })

// staged is a connection whose end a test can stage.
type staged struct {
	net.Conn
	// refuse makes writes fail without a byte; swallow makes them succeed into nowhere, and then reads end.
	refuse, swallow atomic.Bool
	swallowed       signal
	closed          signal
}

func (c *staged) Write(b []byte) (int, error) {
	switch {
	case c.refuse.Load():
		return 0, syscall.ECONNRESET
	case c.swallow.Load():
		// The end of the stream comes once the message is out, as when a server closes just then.
		if len(b) > 0 && b[0] == '{' {
			c.swallowed.raise()
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *staged) Read(b []byte) (int, error) {
	got := make(chan struct{})
	var n int
	var err error
	go func() {
		defer close(got)
		n, err = c.Conn.Read(b)
	}()
	select {
	case <-got:
		return n, err
	case <-c.swallowed.wait():
		return 0, io.EOF
	}
}

func (c *staged) Close() error {
	c.closed.raise()
	return c.Conn.Close()
}

// stage keeps the connections that a client makes.
type stage struct {
	mu    sync.Mutex
	conns []*staged
}

func (s *stage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, &staged{Conn: conn})
	return s.conns[len(s.conns)-1], nil
}

func (s *stage) first() *staged {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[0]
}

func (s *stage) dialed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// warm returns a client with one idle connection, over which one message went.
func warm(t *testing.T, a *agent) (*remote.Client, *stage) {
	t.Helper()
	s := &stage{}
	c := connect(t, a, func(c *remote.Config) {
		c.DialContext = s.dial
		// net/http takes a request with this header for one that it may repeat.
		c.Deduplicates = true
	})
	if ex := c.Send(t.Context(), token(t), message()); ex.Outcome != outbox.Accepted {
		t.Fatalf("first send: %+v", ex)
	}
	return c, s
}

func expect(t *testing.T, ex outbox.Exchange, outcome outbox.Outcome, reason string) {
	t.Helper()
	if ex.Outcome != outcome || ex.Reason != reason {
		t.Errorf("got %s %s (%s), want %s %s", ex.Outcome, ex.Reason, ex.Detail, outcome, reason)
	}
	checkDetail(t, ex)
}

func TestConnectionsAreReused(t *testing.T) {
	a := keepsAlive(t)
	c, s := warm(t, a)
	expect(t, c.Send(t.Context(), token(t), message()), outbox.Accepted, "")
	expect(t, c.Get(t.Context(), "t-1"), outbox.Accepted, "")
	if s.dialed() != 1 {
		t.Errorf("%d connections", s.dialed())
	}
}

func TestAcceptedAfterTheAgentClosedTheIdleConnection(t *testing.T) {
	a := closesAfterOne(t)
	c, s := warm(t, a)
	await(t, s.first().closed.wait(), "the client to notice the end of the connection")
	expect(t, c.Send(t.Context(), token(t), message()), outbox.Accepted, "")
	if a.received.Load() != 2 || s.dialed() != 2 {
		t.Errorf("%d messages over %d connections", a.received.Load(), s.dialed())
	}
}

func TestAcceptedWhereTheStaleConnectionTookNoByte(t *testing.T) {
	a := keepsAlive(t)
	c, s := warm(t, a)
	s.first().refuse.Store(true)
	expect(t, c.Send(t.Context(), token(t), message()), outbox.Accepted, "")
	if a.received.Load() != 2 || s.dialed() != 2 {
		t.Errorf("%d messages over %d connections", a.received.Load(), s.dialed())
	}
}

func TestAmbiguousWhereTheStaleConnectionTookTheMessage(t *testing.T) {
	a := keepsAlive(t)
	c, s := warm(t, a)
	s.first().swallow.Store(true)
	expect(t, c.Send(t.Context(), token(t), message()), outbox.Ambiguous, remote.ReasonResponseLost)
	if a.received.Load() != 1 || s.dialed() != 1 {
		t.Errorf("%d messages over %d connections: the message was repeated", a.received.Load(), s.dialed())
	}
}

func TestQuestionsAreRepeatedWhereTheStaleConnectionTookThem(t *testing.T) {
	a := keepsAlive(t)
	c, s := warm(t, a)
	s.first().swallow.Store(true)
	expect(t, c.Get(t.Context(), "t-1"), outbox.Accepted, "")
	if s.dialed() != 2 {
		t.Errorf("%d connections", s.dialed())
	}
}

// A connection that never served is no stale one: the agent does not like the question, and asking again won't help.
func TestQuestionsAreNotRepeatedOverNewConnections(t *testing.T) {
	a := speaking(func(a *agent, _ *net.TCPConn, in *bufio.Reader) { a.read(in) })(t)
	expect(t, connect(t, a).Get(t.Context(), "t-1"), outbox.Ambiguous, remote.ReasonResponseLost)
	if a.received.Load() != 1 {
		t.Errorf("asked %d times", a.received.Load())
	}
}
