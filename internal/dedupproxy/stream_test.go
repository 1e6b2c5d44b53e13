// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

// stream is an open stream.
type stream struct {
	*http.Response
	lines *bufio.Scanner
	end   context.CancelFunc
}

func (p *proxied) stream(t *testing.T, b binding, m message) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+b.stream, strings.NewReader(b.body("SendStreamingMessage", m)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{Response: resp, lines: bufio.NewScanner(resp.Body), end: cancel}
}

// next is the data of the next event; empty at the end of the stream.
func (s *stream) next() string {
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data:"); ok {
			return strings.TrimSpace(data)
		}
	}
	return ""
}

func taskOf(t *testing.T, event string) string {
	t.Helper()
	return reply{status: 200, body: event, header: http.Header{}}.task(t)
}

// The first event comes and binds while the task goes on; the rest follows as it happens. A repeat gets one event.
func TestStream(t *testing.T) {
	for _, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			a := agent(t, func(c *server.Config) { c.Delay = time.Second })
			p := proxy(t, a.URL, nil)
			s := p.stream(t, b, ledgers("m-1"))
			task := taskOf(t, s.next()) // which would not come before the end if anything buffered it
			state := get(t, a.URL+server.RESTPath+"/tasks/"+task)
			if strings.Contains(state.body, "COMPLETED") {
				t.Fatal("the first event came after the end of the task")
			}
			again := p.stream(t, b, ledgers("m-1"))
			if got := taskOf(t, again.next()); got != task {
				t.Errorf("repeat: task %s, want %s", got, task)
			}
			if more := again.next(); more != "" {
				t.Errorf("repeat: a second event %s", more)
			}
			last := ""
			for event := s.next(); event != ""; event = s.next() {
				last = event
			}
			if !strings.Contains(last, "TASK_STATE_COMPLETED") {
				t.Errorf("last event %s", last)
			}
			if got := p.send(t, b, ledgers("m-1")).task(t); got != task {
				t.Errorf("sent without a stream: task %s, want %s", got, task)
			}
			requireRecord(t, a.URL, "m-1", 1, 1)
		})
	}
}

// Errors of a stream come where clients of streams look for them.
func TestStreamErrors(t *testing.T) {
	for _, b := range bindings {
		p := proxy(t, agent(t, func(c *server.Config) { c.Delay = time.Hour }).URL, nil)
		s := p.stream(t, b, ledgers("m-1"))
		taskOf(t, s.next())
		other := p.stream(t, b, msg("m-1", "else"))
		if b == rpc {
			r := reply{status: other.StatusCode, header: http.Header{}, body: other.next()}
			if other.StatusCode != http.StatusOK || r.reason(t) != dedup.ReasonMismatch {
				t.Errorf("%d %s", other.StatusCode, r.body)
			}
		} else if other.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", other.StatusCode)
		}
	}
}

// A client that hangs up does not end the forward: what came of it is there for its next copy.
func TestHangUp(t *testing.T) {
	for _, b := range bindings {
		for _, streaming := range []bool{false, true} {
			a := agent(t, nil)
			arrived, release := make(chan struct{}), make(chan struct{})
			f := inFront(t, a.URL, func(f *front, _ int64, w http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-release
				f.agent.ServeHTTP(w, r)
			})
			p := proxy(t, f.URL, nil)
			ctx, hangUp := context.WithCancel(t.Context())
			path, method := b.path, "SendMessage"
			if streaming {
				path, method = b.stream, "SendStreamingMessage"
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, strings.NewReader(b.body(method, ledgers("m-1"))))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				resp, err := http.DefaultClient.Do(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				done <- err
			}()
			<-arrived
			hangUp()
			if err := <-done; err == nil {
				t.Error("the client got an answer")
			}
			if r := p.send(t, b, ledgers("m-1")); r.reason(t) != dedup.ReasonInProgress {
				t.Errorf("copy at the same time: %d %s", r.status, r.body)
			}
			close(release)
			p.repeat(t, b, ledgers("m-1")).task(t)
			requireRecord(t, a.URL, "m-1", 1, 1)
		}
	}
}

// A stream that breaks before its first event is answered with the task that the agent made all the same.
func TestStreamBreaks(t *testing.T) {
	for _, b := range bindings {
		for name, instead := range map[string]string{"nothing": "", "a comment": ": ping\n\n", "half an event": "data: {\"task\":"} {
			a := agent(t, nil)
			f := inFront(t, a.URL, func(f *front, _ int64, w http.ResponseWriter, r *http.Request) {
				f.take(r)
				give(w, 200, "text/event-stream", instead)
			})
			p := proxy(t, f.URL, nil)
			task := taskOf(t, p.stream(t, b, ledgers("m-1")).next())
			if got := p.send(t, b, ledgers("m-1")).task(t); got != task {
				t.Errorf("%s, %s: task %s, want %s", b.name, name, got, task)
			}
			requireRecord(t, a.URL, "m-1", 1, 1)
		}
	}
}

// Events are found however lines end and however the bytes come.
func TestEventForms(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"CR LF":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"CR":         func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"two lines":  func(s string) string { return strings.Replace(s, `"result":`, "\ndata: \"result\":", 1) },
		"no space":   func(s string) string { return strings.ReplaceAll(s, "data: ", "data:") },
		"a preamble": func(s string) string { return ": hello\n\nevent: x\nretry: 7\n\ndata: {\"other\":1}\n\n" + s },
	} {
		t.Run(name, func(t *testing.T) {
			a := agent(t, nil)
			want := ""
			f := inFront(t, a.URL, func(f *front, _ int64, w http.ResponseWriter, r *http.Request) {
				want = change(f.take(r).Body.String())
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range want { // byte by byte
					_, _ = w.Write([]byte{want[i]})
					if i < 600 {
						_ = http.NewResponseController(w).Flush()
					}
				}
			})
			p := proxy(t, f.URL, nil)
			r := post(t, p.url+rpc.path, rpc.body("SendStreamingMessage", ledgers("m-1")))
			if r.body != want {
				t.Errorf("the stream was changed:\n%q\nwant\n%q", r.body, want)
			}
			p.send(t, rpc, ledgers("m-1")).task(t)
			requireRecord(t, a.URL, "m-1", 1, 1)
		})
	}
}
