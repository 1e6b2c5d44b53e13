// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// streamCase is one subscription. heard counts the opening too.
type streamCase struct {
	name    string
	agent   func(*testing.T) *agent
	idle    time.Duration
	heard   int
	outcome outbox.Outcome
	reason  string
}

func (s streamCase) run(t *testing.T, adapt ...func(*remote.Config)) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := connect(t, s.agent(t), append(adapt, func(c *remote.Config) { c.Limits.StreamIdle = s.idle })...)
	var heard atomic.Int32
	ex := c.Subscribe(ctx, "t-1", func() { heard.Add(1) })
	if ex.Outcome != s.outcome || ex.Reason != s.reason || int(heard.Load()) != s.heard {
		t.Errorf("%s %q (%s), heard %d; want %s %q, heard %d", ex.Outcome, ex.Reason, ex.Detail, heard.Load(), s.outcome, s.reason, s.heard)
	}
	if strings.Contains(ex.Detail, secret) {
		t.Errorf("the detail shows credentials: %s", ex.Detail)
	}
}

const (
	statusEvent   = `data: {"jsonrpc":"2.0","id":"%s","result":{"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_WORKING"}}}}` + "\n\n"
	artifactEvent = `data: {"jsonrpc":"2.0","id":"%s","result":{"artifactUpdate":{"taskId":"t-1","artifact":{"artifactId":"a"},"append":true}}}` + "\n\n"
)

func streamHeader() http.Header {
	return http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
}

// streaming returns an agent whose stream is these pieces, each flushed by itself.
func streaming(pieces ...string) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
			if c.Method != "SubscribeToTask" || !strings.Contains(string(c.Params), `"t-1"`) {
				t.Errorf("called %s with %s", c.Method, c.Params)
			}
			write(w, c.ID, pieces...)
		})
	}
}

func write(w http.ResponseWriter, id string, pieces ...string) {
	w.Header()["Content-Type"] = streamHeader()["Content-Type"]
	for _, p := range pieces {
		_, _ = io.WriteString(w, withID(p, id))
		w.(http.Flusher).Flush()
	}
}

// rawStream returns an agent on a raw socket that begins a stream, says one event and ends the connection in its way.
func rawStream(head, body string, end func(*net.TCPConn)) func(*testing.T) *agent {
	return speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
		c, ok := a.read(in)
		if !ok {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+head+"\r\n"+withID(body, c.ID))
		end(conn)
	})
}

func fin(*net.TCPConn) {}

// rst resets the connection once the other side has had the time to read: what a reset overtakes is lost.
func rst(conn *net.TCPConn) {
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Read(make([]byte, 1)) // nothing more comes
	_ = conn.SetLinger(0)
}

func bytewise(s string) []string { return strings.Split(s, "") }

func eventCases() []streamCase {
	return []streamCase{
		{"no event", streaming(": hello\n\n"), 0, 1, outbox.Accepted, ""},
		{"two events", streaming(statusEvent, statusEvent), 0, 3, outbox.Accepted, ""},
		{"two events in one piece", streaming(statusEvent + statusEvent), 0, 3, outbox.Accepted, ""},
		{"an event byte by byte", streaming(bytewise("id: 1\r\nevent: x\r\n" + strings.TrimSpace(statusEvent) + "\r\n\r\n")...), 0, 2, outbox.Accepted, ""},
		{"carriage returns alone", streaming(strings.ReplaceAll(statusEvent, "\n", "\r")), 0, 2, outbox.Accepted, ""},
		{"a byte order mark", streaming("\xEF\xBB\xBF" + statusEvent), 0, 2, outbox.Accepted, ""},
		{"data in several lines", streaming("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"%s\",\ndata:\"error\":{\"code\":-32601,\"message\":\"no\"}}\n\n"),
			0, 1, outbox.Refused, remote.ReasonMethodNotFound},
		{"pieces of artifacts are not heard", streaming(artifactEvent, artifactEvent, statusEvent), 0, 2, outbox.Accepted, ""},
		{"an event that is not JSON is heard", streaming("data: ping\n\n"), 0, 2, outbox.Accepted, ""},
		{"an event without an end is not", streaming(strings.TrimSpace(statusEvent)), 0, 1, outbox.Accepted, ""},
		{"fields without data are no event", streaming("event: ping\nid: 7\n\n"), 0, 1, outbox.Accepted, ""},
	}
}

func endCases() []streamCase {
	return []streamCase{
		{"FIN in mid-stream", rawStream("Connection: close\r\n", statusEvent+"data: {\"jsonr", fin), 0, 2, outbox.Accepted, ""},
		{"FIN in mid-stream of a chunked body", rawStream("Transfer-Encoding: chunked\r\n", "7\r\ndata: x\r\n", fin), 0, 1, outbox.Accepted, remote.ReasonResponseTruncated},
		{"RST in mid-stream", rawStream("Connection: close\r\n", statusEvent, rst), 0, 2, outbox.Accepted, remote.ReasonResponseTruncated},
		{"RST before the headers", speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) { a.read(in); _ = conn.SetLinger(0) }),
			0, 0, outbox.Ambiguous, remote.ReasonResponseLost},
		{"silent from the begin", silentBegin, 200 * time.Millisecond, 0, outbox.Ambiguous, remote.ReasonTimeout},
		{"silent after an event", silentAfter(statusEvent), 200 * time.Millisecond, 2, outbox.Accepted, remote.ReasonTimeout},
		{"silent within an event", silentAfter("data: {"), 200 * time.Millisecond, 1, outbox.Accepted, remote.ReasonTimeout},
		{"comments are life", commenting(20, 50*time.Millisecond), 750 * time.Millisecond, 2, outbox.Accepted, ""},
		{"the dial is refused", deaf, 0, 0, outbox.NotSent, remote.ReasonConnectionFailed},
	}
}

func silentBegin(t *testing.T) *agent {
	return served(t, false, func(_ *agent, _ http.ResponseWriter, r *http.Request, _ call) { <-r.Context().Done() })
}

func silentAfter(piece string) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
			write(w, c.ID, piece)
			<-r.Context().Done()
		})
	}
}

// commenting returns an agent that sends n comments at intervals, and then an event.
func commenting(n int, interval time.Duration) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for range n {
				write(w, c.ID, ":\n")
				<-tick.C
			}
			write(w, c.ID, statusEvent)
		})
	}
}

func errorCases() []streamCase {
	onStream := func(err string) func(*testing.T) *agent { return streaming("data: " + errorBody(err) + "\n\n") }
	plain := func(status int, body string) func(*testing.T) *agent { return answering(status, jsonHeader(), body) }
	return []streamCase{
		{"an error as plain JSON", plain(200, errorBody(`{"code":-32004,"message":"no streams"}`)), 0, 0, outbox.Refused, "UnsupportedOperation"},
		{"no such method, as plain JSON", plain(200, errorBody(`{"code":-32601,"message":"no"}`)), 0, 0, outbox.Refused, remote.ReasonMethodNotFound},
		{"no such task, as plain JSON", plain(200, errorBody(`{"code":-32001,"message":"no"}`)), 0, 0, outbox.Absent, remote.ReasonTaskNotFound},
		{"no such task, on the stream", onStream(`{"code":-32001,"message":"no"}`), 0, 1, outbox.Absent, remote.ReasonTaskNotFound},
		{"an error after an event", streaming(statusEvent, "data: "+errorBody(`{"code":-32603,"message":"oh"}`)+"\n\n", statusEvent), 0, 2, outbox.Ambiguous, "InternalError"},
		{"a task in place of a stream", plain(200, resultBody(`{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}`)), 0, 0, outbox.Accepted, ""},
		{"401", plain(401, "{}"), 0, 0, outbox.Unauthorized, "Unauthorized"},
		{"404", answering(404, nil, "not here"), 0, 0, outbox.NotSent, remote.ReasonEndpointNotFound},
		{"429", plain(429, "{}"), 0, 0, outbox.NotSent, remote.ReasonTooManyRequests},
		{"502 as a stream", answering(502, streamHeader(), statusEvent), 0, 0, outbox.Ambiguous, "BadGateway"},
		{"a page", answering(200, http.Header{"Content-Type": {"text/html"}}, "<p>hello"), 0, 0, outbox.Ambiguous, remote.ReasonUnexpectedContentType},
		{"a compressed stream", answering(200, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, "x"), 0, 0, outbox.Ambiguous, remote.ReasonUnexpectedContentType},
		{"a redirect", answering(307, http.Header{"Location": {"http://192.0.2.1/"}}, ""), 0, 0, outbox.Ambiguous, remote.ReasonRedirected},
	}
}

func TestSubscribe(t *testing.T) {
	for _, cases := range [][]streamCase{eventCases(), endCases(), errorCases()} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t) })
		}
	}
}
