// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

// A repeat is answered with the first copy's task, whichever binding it comes by, and the agent never sees it.
func TestRepeat(t *testing.T) {
	for _, b := range bindings {
		for _, again := range bindings {
			t.Run(b.name+" then "+again.name, func(t *testing.T) {
				a := agent(t, nil)
				p := proxy(t, a.URL, nil)
				task := p.send(t, b, ledgers("m-1")).task(t)
				for range 3 {
					r := p.send(t, again, ledgers("m-1"))
					if got := r.task(t); got != task || r.status != http.StatusOK {
						t.Errorf("repeat: task %s, want %s: %d %s", got, task, r.status, r.body)
					}
				}
				requireRecord(t, a.URL, "m-1", 1, 1)
			})
		}
	}
}

// The id of a JSON-RPC request is that of its answer, of whatever type it is.
func TestRequestID(t *testing.T) {
	p := proxy(t, agent(t, nil).URL, nil)
	for _, id := range []string{`"a"`, `7`, `null`} {
		body := strings.Replace(rpc.body("SendMessage", ledgers("m-1")), `"q-1"`, id, 1)
		for range 2 {
			if r := post(t, p.url+rpc.path, body); !strings.Contains(r.body, `"id":`+id) {
				t.Errorf("request id %s: answer %s", id, r.body)
			}
		}
	}
}

func TestMismatch(t *testing.T) {
	for _, b := range bindings {
		a := agent(t, nil)
		p := proxy(t, a.URL, nil)
		p.send(t, b, ledgers("m-1")).task(t)
		for what, m := range map[string]message{
			"parts":   msg("m-1", "else"),
			"context": ledgers("m-1").with("contextId", "c-9"),
			"refs":    ledgers("m-1").with("referenceTaskIds", []string{"t-1"}),
			"task":    ledgers("m-1").with("taskId", "t-1"),
		} {
			r := p.send(t, b, m)
			status, code := http.StatusBadRequest, http.StatusBadRequest
			if b == rpc {
				status, code = http.StatusOK, -32602
			}
			if r.status != status || r.read(t).Error.Code != code || r.reason(t) != dedup.ReasonMismatch {
				t.Errorf("%s, other %s: %d %s", b.name, what, r.status, r.body)
			}
		}
		// What may differ between attempts does not make another message.
		p.send(t, b, ledgers("m-1").with("metadata", map[string]any{"trace": "2"}).with("unknown", true)).task(t)
		requireRecord(t, a.URL, "m-1", 1, 1)
	}
}

// A message that was refused is forgotten: it can be sent again when it has become legal.
func TestRefusedContinuation(t *testing.T) {
	for _, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			a := agent(t, nil)
			p := proxy(t, a.URL, nil)
			early := msg("m-2", "approve all").with("taskId", "t-none")
			for range 2 {
				if r := p.send(t, b, early); r.read(t).Error.Code == 0 {
					t.Fatalf("a message to no task was taken: %s", r.body)
				}
			}
			requireRecord(t, a.URL, "m-2", 2, 0)
			p.send(t, b, ledgers("m-2")).task(t) // another body, since nothing is known of the first
		})
	}
}

// Messages that the proxy can't name are the agent's to refuse.
func TestWithoutMessageID(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, nil)
	for _, b := range bindings {
		for _, m := range []message{msg("", "x"), msg("m", "x").with("messageId", 7), {}} {
			if r := p.send(t, b, m); r.read(t).Error.Code == 0 {
				t.Errorf("%s: %v was taken: %s", b.name, m, r.body)
			}
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, func(c *dedupproxy.Config) { c.MaxRequest = 4096 })
	large := strings.Repeat("x", 5000)
	for _, test := range []struct {
		name, path, body string
		headers          []string
		status, code     int
	}{
		{"batch", rpc.path, "[" + rpc.body("SendMessage", ledgers("m-1")) + "]", nil, 200, -32600},
		{"too large", rpc.path, rpc.body("SendMessage", msg("m-1", large)), nil, 413, -32600},
		{"too large", rest.path, rest.body("SendMessage", msg("m-1", large)), nil, 413, 413},
		{"no object", rest.path, `[]`, nil, 400, 400},
		{"no JSON", rest.path, `{"message":`, nil, 400, 400},
		{"compressed", rpc.path, "x", []string{"Content-Encoding", "gzip"}, 415, -32600},
		{"long id", rpc.path, rpc.body("SendMessage", msg(strings.Repeat("m", 1025), "x")), nil, 200, -32602},
	} {
		r := post(t, p.url+test.path, test.body, test.headers...)
		if r.status != test.status || r.read(t).Error.Code != test.code {
			t.Errorf("%s: %d %s, want %d and code %d", test.name, r.status, r.body, test.status, test.code)
		}
	}
	requireRecord(t, a.URL, "m-1", 0, 0)
}

// The names of protocol buffers' fields, the case of Go's decoders and bytes behind the request don't hide a message.
func TestSpellings(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, nil)
	body := rpc.body("SendMessage", ledgers("m-1"))
	task := post(t, p.url+rpc.path, body).task(t)
	for _, same := range []string{
		strings.Replace(body, `"messageId"`, `"message_id"`, 1),
		strings.Replace(body, `"messageId"`, `"MessageID"`, 1),
		"\xEF\xBB\xBF" + body, body + "trailing", " \n" + body,
	} {
		if got := post(t, p.url+rpc.path, same).task(t); got != task {
			t.Errorf("%q made the task %s", same, got)
		}
	}
	requireRecord(t, a.URL, "m-1", 1, 1)
}

// written counts the writes to a connection.
type written struct {
	net.Conn
	times *atomic.Int32
}

func (w written) Write(data []byte) (int, error) {
	w.times.Add(1)
	return w.Conn.Write(data)
}

// An agent that reads a message in one piece is woken once for it.
func TestOneWrite(t *testing.T) {
	for _, b := range bindings {
		var times atomic.Int32
		p := proxy(t, agent(t, nil).URL, func(cfg *dedupproxy.Config) {
			cfg.RESTPaths = []string{server.RESTPath} // the card is not asked for them
			cfg.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return written{conn, &times}, err
			}
		})
		p.send(t, b, ledgers("m-1")).task(t)
		if n := times.Load(); n != 1 {
			t.Errorf("%s: a message left in %d writes", b.name, n)
		}
	}
}
