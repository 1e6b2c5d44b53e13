// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// raw returns an agent that handles a connection of HTTP/2 by itself and closes it afterwards.
func raw(handle func(c *h2)) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
			handle(&h2{T: t, a: a, conn: conn, in: in})
		})(t)
	}
}

// reading is an agent that has said that it speaks HTTP/2 and read the message.
func reading(then func(c *h2)) func(*testing.T) *agent {
	return raw(func(c *h2) {
		c.write(h2Settings, 0)
		if c.readMessage() {
			then(c)
		}
	})
}

// unprovenCases are servers that have not shown that they speak HTTP/2: not a byte of the message is handed out to them.
func unprovenCases() []sendCase {
	silent := func(c *h2) {
		_, _ = io.ReadFull(c.in, make([]byte, 24))
		c.a.reach()
		<-c.a.release
	}
	return []sendCase{
		{
			name: "NotSent: the dial is refused", agent: deaf,
			outcome: outbox.NotSent, reason: remote.ReasonConnectionFailed,
		}, {
			name: "NotSent: the name does not resolve", agent: nameless,
			outcome: outbox.NotSent, reason: remote.ReasonNameNotResolved,
		}, {
			name: "NotSent: the connection is closed at once", agent: raw(func(*h2) {}),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "NotSent: the connection takes no byte", agent: deaf, adapt: dialing(&brokenConn{}),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionFailed,
		}, {
			name: "NotSent: the server closes before it says that it speaks HTTP/2", agent: raw(func(c *h2) { _, _ = io.ReadFull(c.in, make([]byte, 30)) }),
			outcome: outbox.NotSent, reason: remote.ReasonConnectionLost,
		}, {
			name: "NotSent: the server speaks HTTP/1.1 only", agent: raw(func(c *h2) {
				_, _ = io.ReadFull(c.in, make([]byte, 24))
				_, _ = io.WriteString(c.conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			}),
			outcome: outbox.NotSent, reason: remote.ReasonHTTP2Unavailable,
		}, {
			name: "NotSent: the server speaks another protocol", agent: raw(func(c *h2) {
				_, _ = io.WriteString(c.conn, "220 mail.example.com ESMTP\r\n")
				<-c.a.release
			}),
			outcome: outbox.NotSent, reason: remote.ReasonHTTP2Unavailable,
		}, {
			name: "NotSent: canceled before the server says anything", agent: raw(silent), end: context.Canceled,
			outcome: outbox.NotSent, reason: remote.ReasonCanceled,
		}, {
			name: "NotSent: the time is over before the server says anything", agent: raw(silent), end: context.DeadlineExceeded,
			outcome: outbox.NotSent, reason: remote.ReasonTimeout,
		}, {
			name: "NotSent: the attempt ends before the server says anything", agent: raw(silent),
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(50*time.Millisecond)) },
			outcome: outbox.NotSent, reason: remote.ReasonAttemptExpired,
		}, {
			name: "NotSent: the attempt ends while the connection is made", agent: func(t *testing.T) *agent {
				a := lateConnection(t)
				a.url = grpcAnswering(200, grpcHeader(), frame(t, sentTask(workingTask())), ended(t, 0, ""))(t).url
				return a
			},
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(time.Hour)) },
			outcome: outbox.NotSent, reason: remote.ReasonAttemptExpired,
		},
	}
}

// lostCases have taken the message and bring no answer.
func lostCases() []sendCase {
	waiting := func(c *h2) {
		c.a.reach()
		<-c.a.release
	}
	lost := func(name, reason string, agent func(*testing.T) *agent) sendCase {
		return sendCase{name: "Ambiguous: " + name, agent: agent, outcome: outbox.Ambiguous, reason: reason, received: 1}
	}
	canceled := lost("canceled before the answer", remote.ReasonCanceled, reading(waiting))
	canceled.end = context.Canceled
	late := lost("the time is over before the answer", remote.ReasonTimeout, reading(waiting))
	late.end = context.DeadlineExceeded
	return []sendCase{
		canceled, late,
		lost("the server reads and closes", remote.ReasonResponseLost, reading(func(*h2) {})),
		lost("the server reads and resets the connection", remote.ReasonResponseLost, reading(func(c *h2) { _ = c.conn.SetLinger(0) })),
		lost("the stream is reset, INTERNAL_ERROR", remote.ReasonResponseLost, reading(func(c *h2) {
			c.write(h2Reset, 1, 0, 0, 0, 2)
			<-c.a.release
		})),
		// RFC 9113, section 8.7, says that such a stream was not processed; net/http does not say that it was this code.
		lost("the stream is reset, REFUSED_STREAM", remote.ReasonResponseLost, reading(func(c *h2) {
			c.write(h2Reset, 1, 0, 0, 0, 7)
			<-c.a.release
		})),
		lost("the server goes away and leaves the stream out", remote.ReasonResponseLost, reading(func(c *h2) {
			c.write(h2GoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0)
			<-c.a.release
		})),
		lost("the answer is not HTTP/2", remote.ReasonResponseLost, reading(func(c *h2) { _, _ = io.WriteString(c.conn, "HTTP/1.1 200 OK\r\n\r\n") })),
	}
}

// localCases are decided on this side of the network, for gRPC as for the others.
func localCases() []sendCase {
	return slices.DeleteFunc(callerCases(), func(c sendCase) bool {
		return c.outcome == outbox.Accepted || c.name == "NotSent: the attempt ends while the connection is made"
	})
}
