package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestLostResponse(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.LoseResponses = 2 }, func(ctx context.Context, t *testing.T, p *peer) {
		for range 2 {
			if _, err := p.SendMessage(ctx, reconciliation(t, "m-71", "c-recon-09")); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("error %v, want a reset connection", err)
			}
		}
		p.wantRecord(t, "m-71", 2, 1, 1)
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if got := p.records(t)["m-71"]; got.Accepted != 1 || got.TaskIDs[0] != task.ID {
			t.Errorf("ledger has %+v, the resend got %s", got, task.ID)
		}
	})
}

// Without deduplication the task is found by its context and the message in its history.
func TestLostResponseWithoutDedup(t *testing.T) {
	lossy := func(c *Config) { c.Dedup, c.Faults.LoseResponses = false, 1 }
	onEachBinding(t, lossy, func(ctx context.Context, t *testing.T, p *peer) {
		if _, err := p.SendMessage(ctx, reconciliation(t, "m-71", "c-recon-09")); err == nil {
			t.Fatal("the response was not lost")
		}
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
		if err != nil || len(list.Tasks) != 1 || !hasMessage(list.Tasks[0], "m-71") {
			t.Fatalf("ListTasks: %+v, %v", list, err)
		}
		if got := p.records(t)["m-71"].TaskIDs; len(got) != 1 || got[0] != list.Tasks[0].ID {
			t.Errorf("listed %s, the ledger has %v", list.Tasks[0].ID, got)
		}
	})
}

func TestFailAfterAccept(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.FailAfterAccept = 1 }, func(ctx context.Context, t *testing.T, p *peer) {
		refused := words("m-90", "again, please")
		refused.Message.TaskID = "t-0"
		if _, err := p.SendMessage(ctx, refused); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("a refused send was hit: %v", err)
		}
		if status, _ := p.raw(ctx, t, reconciliation(t, "m-71", "c-recon-09")); status != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", status)
		}
		p.wantRecord(t, "m-71", 1, 1, 1)
		p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.wantRecord(t, "m-71", 2, 1, 1)
	})
}

func TestLossesComeBeforeFailures(t *testing.T) {
	both := func(c *Config) { c.Faults.LoseResponses, c.Faults.FailAfterAccept = 1, 1 }
	onEachBinding(t, both, func(ctx context.Context, t *testing.T, p *peer) {
		if _, err := p.SendMessage(ctx, reconciliation(t, "m-71", "c-recon-09")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("first: %v", err)
		}
		if status, _ := p.raw(ctx, t, reconciliation(t, "m-71", "c-recon-09")); status != http.StatusServiceUnavailable {
			t.Errorf("second: status %d", status)
		}
		p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.wantRecord(t, "m-71", 3, 1, 1)
	})
}

func TestRejectFirst(t *testing.T) {
	busy := func(c *Config) { c.Faults.Reject = Reject{Code: 429, N: 2, RetryAfter: 3 * time.Second} }
	onEachBinding(t, busy, func(ctx context.Context, t *testing.T, p *peer) {
		status, header := p.raw(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if status != http.StatusTooManyRequests || header.Get("Retry-After") != "3" {
			t.Errorf("status %d, Retry-After %q", status, header.Get("Retry-After"))
		}
		if _, err := p.ListTasks(ctx, &a2a.ListTasksRequest{}); err != nil {
			t.Errorf("a call that sends nothing was rejected: %v", err)
		}
		for _, err := range p.SendStreamingMessage(ctx, reconciliation(t, "m-71", "c-recon-09")) {
			if err == nil {
				t.Error("the second send was not rejected")
			}
			break
		}
		p.wantRecord(t, "m-71", 2, 0, 1)
		p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		p.wantRecord(t, "m-71", 3, 1, 1)
	})
}

func TestDelayedResponse(t *testing.T) {
	const delay = 300 * time.Millisecond
	onEachBinding(t, func(c *Config) { c.Faults.DelayResponse = delay }, func(ctx context.Context, t *testing.T, p *peer) {
		hasty, cancel := context.WithTimeout(ctx, delay/3)
		defer cancel()
		if _, err := p.SendMessage(hasty, reconciliation(t, "m-71", "c-recon-09")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want the client's deadline", err)
		}
		start := time.Now()
		p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		if took := time.Since(start); took < delay {
			t.Errorf("answered after %v", took)
		}
		if got := p.records(t)["m-71"]; got.Accepted != 1 {
			t.Errorf("ledger has %+v", got)
		}
	})
}

func TestBearerToken(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Token = "s3cret" }, func(ctx context.Context, t *testing.T, p *peer) {
		for _, token := range []string{"", "other", "s3cret2"} {
			stranger := connect(ctx, t, p.base, p.binding, token)
			status, header := stranger.raw(ctx, t, reconciliation(t, "m-70", "c-recon-09"))
			if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("token %q: status %d, challenge %q", token, status, header.Get("WWW-Authenticate"))
			}
		}
		task := p.send(ctx, t, reconciliation(t, "m-71", "c-recon-09"))
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: "c-recon-09"})
		if err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != task.ID {
			t.Errorf("ListTasks: %+v, %v", list, err)
		}
		records := p.records(t)
		if len(records) != 1 || records["m-71"].Principal != bearerUser {
			t.Errorf("ledger has %+v, want m-71 of %s alone", records, bearerUser)
		}
	})
}

// A client that is still writing must get the refusal, not a reset connection.
func TestRefusalOfALargeMessage(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Token = "s3cret" }, func(ctx context.Context, t *testing.T, p *peer) {
		stranger := connect(ctx, t, p.base, p.binding, "other")
		if status, _ := stranger.raw(ctx, t, words("m-70", strings.Repeat("x", maxBody/2))); status != http.StatusUnauthorized {
			t.Errorf("status %d, want %d", status, http.StatusUnauthorized)
		}
	})
}

func TestOddRequests(t *testing.T) {
	onEachBinding(t, nil, func(ctx context.Context, t *testing.T, p *peer) {
		post := func(body string) int {
			t.Helper()
			path := JSONRPCPath
			if p.binding == a2a.TransportProtocolHTTPJSON {
				path = RESTPath + "/message:send"
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := p.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		if got := post(string(bytes.Repeat([]byte(" "), maxBody+1))); got != http.StatusRequestEntityTooLarge {
			t.Errorf("body too large: status %d", got)
		}
		for _, body := range []string{"", "{", "[]", `{"jsonrpc":"2.0","method":"SendMessage","id":"1"}`, `{"message":{"messageId":"m-1","parts":[{}]}}`} {
			if got := post(body); got != http.StatusOK && got != http.StatusBadRequest {
				t.Errorf("body %q: status %d", body, got)
			}
		}
		if records := p.records(t); len(records) != 0 {
			t.Errorf("ledger has %+v", records)
		}
	})
}

func TestRejectFlag(t *testing.T) {
	for text, want := range map[string]Reject{
		"429:2":   {Code: 429, N: 2, RetryAfter: time.Second},
		"503:1:0": {Code: 503, N: 1},
		"500:3":   {Code: 500, N: 3},
		"404:1:7": {Code: 404, N: 1, RetryAfter: 7 * time.Second},
	} {
		var got Reject
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		var again Reject
		if err := again.Set(got.String()); err != nil || again != want {
			t.Errorf("%s prints as %s", text, got.String())
		}
	}
	for _, text := range []string{"", "429", "200:1", "600:1", "429:-1", "429:x", "429:1:1:1"} {
		if err := new(Reject).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
