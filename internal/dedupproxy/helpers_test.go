// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/principal"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

const patience = 20 * time.Second

// agent serves a finance agent that does not deduplicate.
func agent(t *testing.T, change func(*server.Config)) *httptest.Server {
	t.Helper()
	cfg := server.Defaults()
	cfg.Dedup = false
	cfg.Logger = slog.New(slog.DiscardHandler)
	stopping := make(chan struct{})
	cfg.Stopping = stopping
	if change != nil {
		change(&cfg)
	}
	finance, err := server.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(finance)
	t.Cleanup(func() {
		close(stopping)
		srv.CloseClientConnections()
		srv.Close()
		if err := finance.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// proxied is a proxy that serves in front of something.
type proxied struct {
	*dedupproxy.Proxy
	url string
}

// proxy serves a proxy in front of an agent until the test ends.
func proxy(t *testing.T, upstream string, change func(*dedupproxy.Config)) *proxied {
	t.Helper()
	base, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	cfg := dedupproxy.Config{
		Upstream: base, Transport: transport, Principals: principal.Anonymous{},
		Table: dedup.NewTable(dedup.NewMemory(), dedup.WithLogger(slog.New(slog.DiscardHandler))), Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	p, err := dedupproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p)
	t.Cleanup(func() {
		p.Hurry()
		srv.CloseClientConnections()
		srv.Close()
		transport.CloseIdleConnections()
	})
	return &proxied{Proxy: p, url: srv.URL}
}

// binding is one of the two ways to say the same.
type binding struct{ name, path, stream string }

var (
	rpc      = binding{"JSONRPC", server.JSONRPCPath, server.JSONRPCPath}
	rest     = binding{"HTTP+JSON", server.RESTPath + "/message:send", server.RESTPath + "/message:stream"}
	bindings = []binding{rpc, rest}
)

// message is built member by member.
type message map[string]any

func msg(id, text string) message {
	return message{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
}

func (m message) with(name string, value any) message {
	out := maps.Clone(m)
	out[name] = value
	return out
}

// ledgers is a message that the finance agent can work on.
func ledgers(id string) message {
	return msg(id, "").with("parts", []any{map[string]any{"data": map[string]any{
		"ledger": "entry_id,date,account,counterparty,reference,description,kind,amount\n",
		"bank":   "line_id,date,counterparty,reference,description,amount\n",
	}}})
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a message by a binding, and reads the answer whole.
func (p *proxied) send(t *testing.T, b binding, m message, headers ...string) reply {
	t.Helper()
	return post(t, p.url+b.path, b.body("SendMessage", m), headers...)
}

func (b binding) body(method string, m message) string {
	params := map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}
	var whole any = params
	if b.name == rpc.name {
		whole = map[string]any{"jsonrpc": "2.0", "id": "q-1", "method": method, "params": params}
	}
	data, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func post(t *testing.T, url, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req, append([]string{"Content-Type", "application/json"}, headers...)...)
}

func get(t *testing.T, url string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req, headers...)
}

func do(t *testing.T, req *http.Request, headers ...string) reply {
	t.Helper()
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// record is what the agent saw of a message.
func record(t *testing.T, agentURL, messageID string, headers ...string) server.Record {
	t.Helper()
	r := get(t, agentURL+server.LedgerPath, headers...)
	var list []server.Record
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		t.Fatal(err)
	}
	sum := server.Record{MessageID: messageID}
	for _, one := range list {
		if one.MessageID == messageID {
			sum.Received += one.Received
			sum.Accepted += one.Accepted
			sum.Continued += one.Continued
			sum.TaskIDs = append(sum.TaskIDs, one.TaskIDs...)
		}
	}
	return sum
}

// requireRecord fails the test unless the agent got a message so often and made so many tasks of it.
func requireRecord(t *testing.T, agentURL, messageID string, received, accepted int) {
	t.Helper()
	if r := record(t, agentURL, messageID); r.Received != received || r.Accepted != accepted {
		t.Errorf("message %s: the agent received %d and made %d tasks, want %d and %d", messageID, r.Received, r.Accepted, received, accepted)
	}
}

// asking is a message about which the finance agent asks back.
func asking(t *testing.T, id string) message {
	t.Helper()
	parts := []any{map[string]any{"text": "Reconcile September 2026"}}
	for _, name := range []string{"ledger.csv", "bank.csv"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, map[string]any{"text": string(data), "filename": name, "mediaType": "text/csv"})
	}
	return msg(id, "").with("parts", parts)
}

// awaitState waits until a task is in a state.
func awaitState(t *testing.T, agentURL, task, state string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r := get(t, agentURL+server.RESTPath+"/tasks/"+task)
		if strings.Contains(r.body, state) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("task is not in %s: %s", state, r.body)
		}
	}
}
