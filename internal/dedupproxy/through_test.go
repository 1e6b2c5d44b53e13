// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/principal"
)

// echo serves what it got: the request's line, headers and body, as JSON.
func echo(t *testing.T, change func(w http.ResponseWriter, r *http.Request)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if change != nil {
			change(w, r)
		}
		w.Header().Set("X-Agent", "yes")
		_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "uri": r.RequestURI, "header": r.Header, "body": string(body)})
	}))
	t.Cleanup(srv.Close)
	return srv
}

type echoed struct {
	Method, URI, Body string
	Header            http.Header
}

func (r reply) echoed(t *testing.T) echoed {
	t.Helper()
	var e echoed
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	return e
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// What is no send goes through byte by byte.
func TestThrough(t *testing.T) {
	e := echo(t, nil)
	p := proxy(t, e.URL+"/base", nil)
	odd := `{"jsonrpc":"2.0","method":"x/unknown","params":{"big":12345678901234567890,"a":1,"a":2},"extra":"<&>"}`
	for _, path := range []string{"/a2a?x=1&y=%2F", "/tasks/a%2Fb:cancel", "/anything"} {
		got := post(t, p.url+path, odd, "X-Own", "1", "Idempotency-Key", "k").echoed(t)
		if got.Method != http.MethodPost || got.URI != "/base"+path || got.Body != odd {
			t.Errorf("%+v", got)
		}
		if got.Header.Get("X-Own") != "1" || got.Header.Get("Idempotency-Key") != "k" || got.Header.Get("A2A-Version") != "1.0" {
			t.Errorf("headers %v", got.Header)
		}
	}
	if got := get(t, p.url+"/tasks/t-1?historyLength=3").echoed(t); got.URI != "/base/tasks/t-1?historyLength=3" {
		t.Errorf("%+v", got)
	}
}

// Of a send nothing is lost either, and net/http is not made to repeat it.
func TestSendThrough(t *testing.T) {
	e := echo(t, nil)
	p := proxy(t, e.URL, func(c *dedupproxy.Config) { c.Lookup = dedupproxy.LookupNone })
	for _, b := range bindings {
		body := strings.Replace(b.body("SendMessage", msg("m-"+b.name, "x")), `"role"`, `"x-new":[1,{"y":null}],"role"`, 1)
		got := post(t, p.url+b.path+"?key=1", body, "X-Own", "1", "X-Forwarded-For", "9.9.9.9").echoed(t)
		if got.Body != body || got.URI != b.path+"?key=1" || got.Header.Get("X-Own") != "1" {
			t.Errorf("%+v", got)
		}
		if f := got.Header.Get("X-Forwarded-For"); f != "127.0.0.1" {
			t.Errorf("X-Forwarded-For %q: a client's word was passed on", f)
		}
	}
}

func TestForwardedFor(t *testing.T) {
	e := echo(t, nil)
	p := proxy(t, e.URL, func(c *dedupproxy.Config) { c.TrustedProxies = loopback })
	if f := get(t, p.url+"/x", "X-Forwarded-For", "9.9.9.9").echoed(t).Header.Get("X-Forwarded-For"); f != "9.9.9.9, 127.0.0.1" {
		t.Errorf("X-Forwarded-For %q", f)
	}
}

func TestRedirect(t *testing.T) {
	e := echo(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://elsewhere.example.com/")
		w.WriteHeader(http.StatusFound)
	})
	if r := get(t, proxy(t, e.URL, nil).url+"/x"); r.status != http.StatusFound || r.header.Get("X-Agent") != "" {
		t.Errorf("%d %v", r.status, r.header)
	}
}

// Two callers who choose the same messageId have nothing to do with each other; nor have two tenants.
func TestCallers(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, func(c *dedupproxy.Config) {
		c.Principals = principal.Header{Name: "X-Principal", Trusted: loopback}
		c.TrustedProxies, c.PrincipalHeader = loopback, "X-Principal"
	})
	tasks := map[string]bool{}
	for _, who := range []string{"alice", "bob"} {
		for _, b := range bindings {
			tasks[p.send(t, b, ledgers("m-1"), "X-Principal", who).task(t)] = true
		}
	}
	if len(tasks) != 2 {
		t.Errorf("%d tasks of two callers", len(tasks))
	}
	r := p.send(t, rpc, ledgers("m-2"))
	if r.status != http.StatusUnauthorized || r.header.Get("WWW-Authenticate") == "" || r.reason(t) != dedupproxy.ReasonPrincipal {
		t.Errorf("without a principal: %d %v %s", r.status, r.header, r.body)
	}
	requireRecord(t, a.URL, "m-2", 0, 0)
}

func TestUntrustedHeader(t *testing.T) {
	e := echo(t, nil)
	p := proxy(t, e.URL, func(c *dedupproxy.Config) { c.PrincipalHeader = "X-Principal" })
	if got := get(t, p.url+"/x", "X-Principal", "alice").echoed(t); got.Header.Get("X-Principal") != "" {
		t.Error("the agent got a principal of the client's own making")
	}
}

// A tenant has one name in the path, in the body and in JSON-RPC.
func TestTenants(t *testing.T) {
	card := `{"supportedInterfaces":[{"url":"/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`
	tasks := map[string]int{}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "agent-card.json") {
			_, _ = io.WriteString(w, card)
			return
		}
		if strings.Contains(r.URL.Path, "/tasks/") || r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"id":"again"}`)
			return
		}
		tasks[r.URL.Path]++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"q-1","result":{"task":{"id":"t-1"}},"task":{"id":"t-1"}}`)
	}))
	defer agent.Close()
	p := proxy(t, agent.URL, nil)
	in := func(tenant string) string {
		return strings.Replace(rest.body("SendMessage", msg("m-1", "x")), `{"conf`, `{"tenant":"`+tenant+`","conf`, 1)
	}
	plain := rest.body("SendMessage", msg("m-1", "x"))
	for _, test := range []struct {
		path, body string
		first      bool
	}{
		{"/rest/message:send", plain, true},
		{"/rest/acme/message:send", plain, true},
		{"/rest/acme/message:send", plain, false},
		{"/rest/message:send", in("acme"), false},
		{"/rest/acme/message:stream", in("acme"), false},
		{"/rest/eu/acme/message:send", plain, true},
		{"/rest/message:send", in("eu/acme"), false},
		{"/a2a", strings.Replace(rpc.body("SendMessage", msg("m-1", "x")), `"params":{`, `"params":{"tenant":"acme",`, 1), false},
	} {
		r := post(t, p.url+test.path, test.body)
		if isFirst := r.read(t).Task.ID == "t-1"; isFirst != test.first && test.path != "/a2a" {
			t.Errorf("%s %s: first %v, want %v: %s", test.path, test.body, isFirst, test.first, r.body)
		}
	}
	if tasks["/a2a"] != 1 { // its GetTask only
		t.Errorf("%v", tasks)
	}
}

func TestCard(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, nil)
	r := get(t, p.url+"/.well-known/agent-card.json")
	for _, want := range []string{`"url":"` + p.url + `/a2a"`, `"url":"` + p.url + `/rest"`, dedup.ExtensionURI, `"retention":"72h"`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("card lacks %s: %s", want, r.body)
		}
	}
	if strings.Contains(r.body, a.URL) || r.header.Get("Cache-Control") == "" || r.header.Get(dedupproxy.SignaturesHeader) != "" {
		t.Errorf("%v %s", r.header, r.body)
	}
	tag := r.header.Get("ETag")
	if same := get(t, p.url+"/.well-known/agent-card.json", "If-None-Match", `"x", W/`+tag); same.status != http.StatusNotModified || same.body != "" || same.header.Get("ETag") != tag {
		t.Errorf("with its ETag %s: %d %q", tag, same.status, same.body)
	}
	public, err := url.Parse("https://finance.example.com/x")
	if err != nil {
		t.Fatal(err)
	}
	p = proxy(t, a.URL, func(c *dedupproxy.Config) { c.PublicURL, c.Retention = public, time.Hour })
	r = get(t, p.url+"/.well-known/agent-card.json")
	if !strings.Contains(r.body, `"https://finance.example.com/x/a2a"`) || !strings.Contains(r.body, `"retention":"1h"`) || r.header.Get("ETag") == tag {
		t.Errorf("%v %s", r.header, r.body)
	}
}

func TestExtendedCard(t *testing.T) {
	card := `{"name":"x","supportedInterfaces":[{"url":"/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"signatures":[{"signature":"s"}],"keep":1}`
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, card)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":`+card+`}`)
	}))
	defer agent.Close()
	p := proxy(t, agent.URL, nil)
	for name, r := range map[string]reply{
		"HTTP+JSON": get(t, p.url+"/rest/extendedAgentCard"),
		"JSON-RPC":  post(t, p.url+"/a2a", `{"jsonrpc":"2.0","id":7,"method":"GetExtendedAgentCard"}`),
	} {
		if !strings.Contains(r.body, p.url+"/a2a") || !strings.Contains(r.body, dedup.ExtensionURI) || !strings.Contains(r.body, `"keep":1`) ||
			strings.Contains(r.body, "signature\"") || r.header.Get(dedupproxy.SignaturesHeader) == "" {
			t.Errorf("%s: %v %s", name, r.header, r.body)
		}
	}
}

func TestMetrics(t *testing.T) {
	a := agent(t, nil)
	p := proxy(t, a.URL, nil)
	registry := prometheus.NewRegistry()
	if err := p.Metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	task := p.send(t, rpc, ledgers("m-1")).task(t)
	p.send(t, rpc, ledgers("m-1"))
	p.send(t, rpc, msg("m-1", "else"))
	awaitState(t, a.URL, task, "TASK_STATE_COMPLETED")
	p.send(t, rpc, msg("m-2", "more").with("taskId", task))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			got[f.GetName()] += value
			if len(m.Label) == 1 && m.Label[0].GetName() == "result" {
				got[m.Label[0].GetValue()] = value
			}
		}
	}
	for name, want := range map[string]float64{
		string(dedupproxy.ResultFirst): 1, string(dedupproxy.ResultReplay): 1, string(dedupproxy.ResultMismatch): 1, string(dedupproxy.ResultReleased): 1,
		"a2a_dedup_unsupported_operations_total": 1, "a2a_dedup_rows_in_progress": 0, "a2a_dedup_added_seconds": 4, "a2a_dedup_upstream_seconds": 3,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}
