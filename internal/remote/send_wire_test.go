// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// connectionCases end before a response begins.
func connectionCases() []sendCase {
	return []sendCase{
		{
			name: "NotSent: the dial is refused", agent: deaf,
			outcome: outbox.NotSent, reason: remote.ReasonConnectionFailed,
		}, {
			name: "NotSent: the name does not resolve", agent: nameless,
			outcome: outbox.NotSent, reason: remote.ReasonNameNotResolved,
		}, {
			name: "NotSent: the connection breaks before a byte is written", agent: deaf, adapt: dialing(&brokenConn{}),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "NotSent: the connection breaks within the headers", agent: deaf, adapt: dialing(&brokenConn{takes: 10}),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "NotSent: the connection breaks between the headers and the message", agent: deaf, adapt: dialing(&brokenConn{whole: 1}),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "Ambiguous: the connection breaks after the first byte of the message", agent: deaf, adapt: dialing(&brokenConn{whole: 1, takes: 1}),
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost,
		}, {
			name: "Ambiguous: the agent resets the connection when the message begins",
			agent: speaking(func(_ *agent, conn *net.TCPConn, in *bufio.Reader) {
				if r, err := http.ReadRequest(in); err == nil {
					_, _ = r.Body.Read(make([]byte, 1))
				}
				_ = conn.SetLinger(0)
			}),
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost,
		}, {
			name:    "Ambiguous: the agent reads and closes",
			agent:   speaking(func(a *agent, _ *net.TCPConn, in *bufio.Reader) { a.read(in) }),
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost, received: 1,
		}, {
			name: "Ambiguous: the agent reads and resets",
			agent: speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
				a.read(in)
				_ = conn.SetLinger(0)
			}),
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost, received: 1,
		}, {
			name: "Ambiguous: the time is over before the headers", agent: mute, end: context.DeadlineExceeded,
			outcome: outbox.Ambiguous, reason: remote.ReasonTimeout, received: 1,
		}, {
			name: "Ambiguous: canceled before the headers", agent: mute, end: context.Canceled,
			outcome: outbox.Ambiguous, reason: remote.ReasonCanceled, received: 1,
		}, {
			name: "Ambiguous: the answer is not HTTP",
			agent: speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
				a.read(in)
				_, _ = io.WriteString(conn, "220 mail.example.com ESMTP "+content+"\r\n")
			}),
			outcome: outbox.Ambiguous, reason: remote.ReasonResponseLost, received: 1,
		},
	}
}

// brokenCases have headers and no usable body.
func brokenCases() []sendCase {
	ambiguous := func(name, reason string, agent func(*testing.T) *agent) sendCase {
		return sendCase{name: "Ambiguous: " + name, agent: agent, outcome: outbox.Ambiguous, reason: reason, received: 1}
	}
	stalled := ambiguous("the body stalls until the time is over", remote.ReasonTimeout, stalling)
	stalled.end = context.DeadlineExceeded
	canceled := ambiguous("canceled within the body", remote.ReasonCanceled, stalling)
	canceled.end = context.Canceled
	large := ambiguous("the body is over the limit", remote.ReasonResponseTooLarge,
		answering(200, jsonHeader(), resultBody(`"`+strings.Repeat("x", 1<<16)+`"`)))
	large.adapt = limited(1 << 15)
	bomb := ambiguous("the body is over the limit once it is decompressed", remote.ReasonResponseTooLarge, gzipBomb)
	bomb.adapt = limited(1 << 20)
	return []sendCase{
		stalled, canceled, large, bomb,
		ambiguous("the body is shorter than its length", remote.ReasonResponseTruncated,
			writing("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":\"2.0\",")),
		ambiguous("the body is cut in mid-chunk", remote.ReasonResponseTruncated,
			writing("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"jsonrpc\"")),
		ambiguous("the chunks are malformed", remote.ReasonResponseTruncated,
			writing("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")),
		ambiguous("the headers never end", remote.ReasonResponseLost,
			writing("HTTP/1.1 200 OK\r\nX-Long: "+strings.Repeat("x", 300<<10))),
		ambiguous("the connection is switched to another protocol", remote.ReasonUnexpectedStatus,
			speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
				a.read(in)
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
				<-a.release
			})),
		{
			name: "Accepted: informational responses come first", received: 1,
			agent: speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
				c, _ := a.read(in)
				body := withID(resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_SUBMITTED"}}}`), c.ID)
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}),
			outcome: outbox.Accepted, task: "t-1", state: "TASK_STATE_SUBMITTED",
		},
	}
}

func limited(n int64) func(*remote.Config) {
	return func(c *remote.Config) { c.Limits.ResponseBytes = n }
}

// writing reads the request, writes the text and closes.
func writing(text string) func(*testing.T) *agent {
	return speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
		a.read(in)
		_, _ = io.WriteString(conn, text)
	})
}

// deaf is an address where nobody listens.
func deaf(t *testing.T) *agent {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	// Bound and not listening: nobody else gets the port meanwhile.
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t)
	a.url = fmt.Sprintf("http://127.0.0.1:%d/a2a", name.(*syscall.SockaddrInet4).Port)
	return a
}

// mute reads a message and never answers.
func mute(t *testing.T) *agent {
	return speaking(func(a *agent, _ *net.TCPConn, in *bufio.Reader) {
		if _, ok := a.read(in); ok {
			a.reach()
			<-a.release
		}
	})(t)
}

// stalling answers with the beginning of a body, and is reached once the client waits for the rest.
func stalling(t *testing.T) *agent {
	a := speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
		a.read(in)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":")
		<-a.release
	})(t)
	a.configure = func(c *remote.Config) {
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &thirsty{Conn: conn, again: a.reach}, err
		}
	}
	return a
}

// thirsty tells when more is wanted than came first. net/http reads the headers on a goroutine of its own and leaves the
// body to the caller, so that the second read is that of the body.
type thirsty struct {
	net.Conn
	reads atomic.Int32
	again func()
}

func (c *thirsty) Read(b []byte) (int, error) {
	if c.reads.Add(1) == 2 {
		c.again()
	}
	return c.Conn.Read(b)
}

func gzipBomb(t *testing.T) *agent {
	return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, _ call) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for range 64 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
}

// nameless is a host that a name server on loopback does not know.
func nameless(t *testing.T) *agent {
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		query := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			answer := append([]byte(nil), query[:n]...)
			answer[2], answer[3] = 0x81, 0x83 // a response: no such name (RFC 1035, section 4.1.1)
			_, _ = server.WriteTo(answer, from)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	a := newAgent(t)
	a.url = "http://agent.invalid./a2a"
	a.configure = func(c *remote.Config) { c.DialContext = (&net.Dialer{Resolver: resolver}).DialContext }
	return a
}

// dialing makes the client get this connection.
func dialing(conn net.Conn) func(*remote.Config) {
	return func(c *remote.Config) {
		c.DialContext = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	}
}

// brokenConn takes some writes whole, some bytes of the next, and then fails. It has nothing to read until it is closed.
type brokenConn struct {
	whole, takes int
	closed       signal
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.whole > 0 {
		c.whole--
		return len(b), nil
	}
	takes := c.takes
	c.takes = 0
	return takes, syscall.EPIPE
}

func (c *brokenConn) Read([]byte) (int, error) {
	<-c.closed.wait()
	return 0, errors.New("closed")
}

func (c *brokenConn) Close() error {
	c.closed.raise()
	return nil
}

func (c *brokenConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *brokenConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *brokenConn) SetDeadline(time.Time) error      { return nil }
func (c *brokenConn) SetReadDeadline(time.Time) error  { return nil }
func (c *brokenConn) SetWriteDeadline(time.Time) error { return nil }
