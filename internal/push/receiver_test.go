// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/seen"
)

const mine types.UID = "6f0c"

const (
	body = `{"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-09-30T12:00:09Z"}}}`
	// plenty of pushes.
	plenty = 1000
)

// post is a receiver over real HTTP, and what its trigger was told.
type post struct {
	t      *testing.T
	url    string
	mu     sync.Mutex
	events []push.Event
	counts map[push.Result]int
	// fail is what the trigger returns, where it is not nil.
	fail error
}

func newPost(t *testing.T, each push.Pace) *post {
	t.Helper()
	p := &post{t: t, counts: map[push.Result]int{}}
	store, err := seen.NewMemory(plenty, time.Hour, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	limits := push.NewLimits(each, push.Pace{PerSecond: plenty, Burst: plenty}, time.Now)
	server := httptest.NewServer(push.NewReceiver(tokens(t, 1), limits, store, p.trigger, func(r push.Result) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counts[r]++
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *post) trigger(_ context.Context, uid types.UID, e push.Event) (push.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if uid != mine {
		return "", push.ErrUnknown
	}
	p.events = append(p.events, e)
	return push.Hinted, p.fail
}

func (p *post) told() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.events)
}

// answer is what came back of a request.
type answer struct {
	status     int
	retryAfter string
}

// send makes a request; its header holds the names and values in turn.
func (p *post) send(method, path string, body io.Reader, header ...string) answer {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return answer{resp.StatusCode, resp.Header.Get("Retry-After")}
}

func TestReceiver(t *testing.T) {
	const header = "A2A-Notification-Token"
	token := tokens(t, 1).Of(mine)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status, told             int
		result                   push.Result
	}{
		{"a push", "POST", "/6f0c", body, []string{header, token}, 202, 1, push.Hinted},
		{"with the header of 0.3", "POST", "/6f0c", body, []string{"X-" + header, token}, 202, 1, push.Hinted},
		{"one header right and one wrong", "POST", "/6f0c", body, []string{header, "no", "X-" + header, token}, 202, 1, push.Hinted},
		{"behind a path", "POST", "/a2a/push/6f0c", body, []string{header, token}, 202, 1, push.Hinted},
		{"a body that can't be read is a push", "POST", "/6f0c", "<xml/>", []string{header, token}, 202, 1, push.Hinted},
		{"without a body", "POST", "/6f0c", "", []string{header, token}, 202, 1, push.Hinted},
		{"too large is looked at, and read no further", "POST", "/6f0c", strings.Repeat("x", push.MaxBody+1), []string{header, token}, 413, 1, push.TooLarge},
		{"as large as may be", "POST", "/6f0c", strings.Repeat("x", push.MaxBody), []string{header, token}, 202, 1, push.Hinted},
		{"no token", "POST", "/6f0c", body, nil, 401, 0, push.Unauthorized},
		{"a wrong token", "POST", "/6f0c", body, []string{header, token[1:] + "A"}, 401, 0, push.Unauthorized},
		{"the token in another header", "POST", "/6f0c", body, []string{"Authorization", "Bearer " + token}, 401, 0, push.Unauthorized},
		{"another Delegation's token", "POST", "/6f0c", body, []string{header, tokens(t, 1).Of("7a7a")}, 401, 0, push.Unauthorized},
		{"no such Delegation, and no token: as for one that there is", "POST", "/7a7a", body, nil, 401, 0, push.Unauthorized},
		{"no such Delegation, and a wrong token: as for one that there is", "POST", "/7a7a", body, []string{header, token}, 401, 0, push.Unauthorized},
		{"a Delegation that is gone", "POST", "/7a7a", body, []string{header, tokens(t, 1).Of("7a7a")}, 404, 0, push.Unknown},
		{"no Delegation", "POST", "/", body, []string{header, token}, 401, 0, push.Unauthorized},
		{"GET", "GET", "/6f0c", "", []string{header, token}, 405, 0, push.WrongMethod},
		{"PUT", "PUT", "/6f0c", body, []string{header, token}, 405, 0, push.WrongMethod},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPost(t, push.Pace{PerSecond: 1, Burst: plenty})
			resp := p.send(c.method, c.path, strings.NewReader(c.body), c.header...)
			if resp.status != c.status || p.told() != c.told || p.counts[c.result] != 1 || len(p.counts) != 1 {
				t.Errorf("status %d, %d triggers, counts %v; want %d, %d and one %s", resp.status, p.told(), p.counts, c.status, c.told, c.result)
			}
		})
	}
}

func (p *post) push(body string) int {
	p.t.Helper()
	return p.send(http.MethodPost, "/6f0c", strings.NewReader(body), "A2A-Notification-Token", tokens(p.t, 1).Of(mine)).status
}

func TestDuplicates(t *testing.T) {
	p := newPost(t, push.Pace{PerSecond: 1, Burst: plenty})
	p.fail = errors.New("the API server is away")
	if got := p.push(body); got != http.StatusServiceUnavailable {
		t.Errorf("status %d for a push that nobody could be told of; want 503", got)
	}
	p.fail = nil
	for range 3 {
		if got := p.push(body); got != http.StatusAccepted {
			t.Errorf("status %d, want 202", got)
		}
	}
	if p.told() != 2 || p.counts[push.Failed] != 1 || p.counts[push.Hinted] != 1 || p.counts[push.Duplicate] != 2 {
		t.Errorf("%d triggers, counts %v; want the one that failed and one more", p.told(), p.counts)
	}
	// What has no time may be another event that looks the same.
	const timeless = `{"statusUpdate":{"taskId":"t-1","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`
	p.push(timeless)
	p.push(timeless)
	if p.told() != 4 {
		t.Errorf("%d triggers; want 2 more", p.told())
	}
}

func TestTooMany(t *testing.T) {
	p := newPost(t, push.Pace{PerSecond: 0.001, Burst: 2})
	p.push("1")
	p.push("2")
	resp := p.send(http.MethodPost, "/6f0c", strings.NewReader("3"), "A2A-Notification-Token", tokens(t, 1).Of(mine))
	if resp.status != http.StatusTooManyRequests || resp.retryAfter == "" || p.told() != 2 {
		t.Errorf("status %d, Retry-After %q, %d triggers; want 429 for the third", resp.status, resp.retryAfter, p.told())
	}
	// A stranger uses up nothing.
	other := p.send(http.MethodPost, "/7a7a", strings.NewReader(body), "A2A-Notification-Token", tokens(t, 1).Of("7a7a"))
	if other.status != http.StatusNotFound {
		t.Errorf("status %d for another Delegation, want 404", other.status)
	}
}

// A body that breaks off is no push.
func TestABodyThatBreaksOff(t *testing.T) {
	p := newPost(t, push.Pace{PerSecond: 1, Burst: plenty})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /6f0c HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nA2A-Notification-Token: "+tokens(t, 1).Of(mine)+"\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || p.told() != 0 {
		t.Errorf("answer %q, error %v, %d triggers; want 400 and none", got, err, p.told())
	}
}

func TestLimits(t *testing.T) {
	now := time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)
	l := push.NewLimits(push.Pace{PerSecond: 1, Burst: 2}, push.Pace{PerSecond: 100, Burst: 3}, func() time.Time { return now })
	for i, c := range []struct {
		uid   types.UID
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"a", 0, true}, {"a", 0, false}, // its own share is used up
		{"b", 0, true}, {"b", 0, false}, // all that there is is used up
		{"b", time.Second, true}, {"a", 0, true}, {"a", 0, false},
		{"a", 10 * time.Second, true}, {"a", 0, true}, {"a", 0, false},
	} {
		now = now.Add(c.after)
		if got := l.Allow(c.uid); got != c.want {
			t.Errorf("call %d, for %s: %t, want %t", i+1, c.uid, got, c.want)
		}
	}
}
