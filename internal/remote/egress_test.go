// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/testenv/nameserver"
)

// bindings are the interfaces that are spoken.
var bindings = []v1alpha1.AgentInterface{
	{ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}, {ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
	{ProtocolBinding: "GRPC", ProtocolVersion: "1.0"}, {ProtocolBinding: "JSONRPC", ProtocolVersion: "0.3"},
}

// reaching gives a client a binding and a policy.
func reaching(i v1alpha1.AgentInterface, p *egress.Policy) func(*remote.Config) {
	return func(c *remote.Config) {
		i.URL = c.Interface.URL
		c.Interface, c.DialContext = i, p.DialContext
	}
}

// loopbackAt allows the one address at which the tests' agents are, and looks names up at a server.
func loopbackAt(t *testing.T, s *nameserver.Server) *egress.Policy {
	t.Helper()
	p, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}, Resolver: s.Resolver()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// renamed is an agent under a name: http://name:port of it.
func renamed(t *testing.T, a *agent, name string) *agent {
	t.Helper()
	u, err := url.Parse(a.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort(name, u.Port())
	a.url = u.String()
	return a
}

// everyCall makes one call of each kind.
func everyCall(t *testing.T, c *remote.Client) map[string]outbox.Exchange {
	return map[string]outbox.Exchange{
		"SendMessage": c.Send(t.Context(), token(t), message()), "GetTask": c.Get(t.Context(), "t-1"), "CancelTask": c.Cancel(t.Context(), "t-1"),
		"SubscribeToTask": c.Subscribe(t.Context(), "t-1", func() {}),
	}
}

// A connection that is denied is a message that was certainly not sent, whatever the binding and whether the scheme is http
// or https, and says so in words that show no address.
func TestDeniedCalls(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"agent.example.com.": {{"127.0.0.2"}}})
	for _, i := range bindings {
		for _, scheme := range []string{"http", "https"} {
			t.Run(i.ProtocolBinding+" "+i.ProtocolVersion+" "+scheme, func(t *testing.T) {
				a := renamed(t, willing(t), "agent.example.com")
				a.url = scheme + strings.TrimPrefix(a.url, "http")
				for call, ex := range everyCall(t, connect(t, a, reaching(i, loopbackAt(t, names)))) {
					if ex.Outcome != outbox.NotSent || ex.Reason != remote.ReasonEgressDenied {
						t.Errorf("%s: %s %q", call, ex.Outcome, ex.Reason)
					}
					if !strings.Contains(ex.Detail, "agent.example.com") || !strings.Contains(ex.Detail, "--egress-allow=127.0.0.0/8") || strings.Contains(ex.Detail, "127.0.0.2") {
						t.Errorf("%s: %q", call, ex.Detail)
					}
				}
				if n := a.received.Load(); n != 0 {
					t.Errorf("%d requests arrived", n)
				}
			})
		}
	}
}

// An agent whose name leads elsewhere after the first call gets no second one there.
func TestReboundCalls(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"agent.example.com.": {{"127.0.0.1"}, {"169.254.169.254"}}})
	a := renamed(t, answering(200, http.Header{"Connection": {"close"}, "Content-Type": {"application/json"}},
		resultBody(`{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}`))(t), "agent.example.com")
	c := connect(t, a, reaching(bindings[0], loopbackAt(t, names)))
	if ex := c.Get(t.Context(), "t-1"); ex.Outcome != outbox.Accepted {
		t.Fatalf("%s %q %s", ex.Outcome, ex.Reason, ex.Detail)
	}
	if ex := c.Get(t.Context(), "t-1"); ex.Outcome != outbox.NotSent || ex.Reason != remote.ReasonEgressDenied {
		t.Errorf("%s %q %s", ex.Outcome, ex.Reason, ex.Detail)
	}
}

// spellings of 169.254.169.254 in URLs. Some resolvers know them all; net/http turns wide digits and dots into ASCII.
var spellings = []string{
	"169.254.169.254", "169.254.169.254.", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376", "0251.254.169.254", "169.16689662", "169.254.43518",
	"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]",
	"[fd00:ec2::254]", "[fe80::a9fe:a9fe%25eth0]", "\uff11\uff16\uff19.254.169.254", "169\u3002254\u3002169\u3002254", "metadata.example.com",
}

// No spelling of a metadata address in a card's URL, or an interface's, is connected to.
func TestMetadataInAllSpellings(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"metadata.example.com.": {{"169.254.169.254"}}})
	p := loopbackAt(t, names)
	for _, host := range spellings {
		_, err := remote.FetchCard(t.Context(), remote.Network{DialContext: p.DialContext}, "http://"+host+"/latest/meta-data/card.json")
		if !isErr(t, err, egress.ErrDenied) || !isErr(t, err, remote.ErrCardUnavailable) {
			t.Errorf("card at %s: %v", host, err)
		}
		for _, i := range bindings {
			a := &agent{url: "http://" + host + "/a2a", configure: nothing}
			if ex := connect(t, a, reaching(i, p)).Send(t.Context(), token(t), message()); ex.Outcome != outbox.NotSent || ex.Reason != remote.ReasonEgressDenied {
				t.Errorf("%s at %s: %s %q %s", i.ProtocolBinding, host, ex.Outcome, ex.Reason, ex.Detail)
			}
		}
	}
}

// No redirect of any kind is followed, so that an allowed host can't send the manager anywhere: by none of the bindings, by
// no call, and not for a card.
func TestRedirectsReachNothing(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	for _, status := range []int{300, 301, 302, 303, 305, 307, 308} {
		header := http.Header{"Location": {inside.URL + "/card.json"}, "Refresh": {"0;url=" + inside.URL}}
		moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), header)
			w.WriteHeader(status)
		}))
		t.Cleanup(moved.Close)
		if _, err := remote.FetchCard(t.Context(), remote.Network{}, moved.URL); !isErr(t, err, remote.ErrCardUnavailable) {
			t.Errorf("card with %d: %v", status, err)
		}
		for _, i := range bindings {
			a := grpcAnswering(status, header, "", nil)(t)
			if i.ProtocolBinding != "GRPC" {
				a = &agent{url: moved.URL, configure: nothing}
			}
			for call, ex := range everyCall(t, connect(t, a, reaching(i, loopbackAt(t, nameserver.Start(t, nil))))) {
				if ex.Outcome != outbox.Ambiguous || ex.Reason != remote.ReasonRedirected {
					t.Errorf("%s by %s with %d: %s %q", call, i.ProtocolBinding, status, ex.Outcome, ex.Reason)
				}
			}
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

// proxyTest makes this test's own process the one that is tried: net/http reads the variables once.
const proxyTest = "REMOTE_TEST_OF_PROXY"

// Variables that name a proxy change nothing: what is dialed, and so decided on, is the agent's own host.
func TestNoProxyIsUsed(t *testing.T) {
	const proxy = "http://proxy.example.com:3128"
	if os.Getenv(proxyTest) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyIsUsed$", "-test.v")
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			cmd.Env = append(cmd.Env, name+"="+proxy)
		}
		cmd.Env = append(cmd.Env, proxyTest+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNoProxyIsUsed") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent.example.com", nil)
	if u, err := http.ProxyFromEnvironment(request); err != nil || u == nil || u.String() != proxy {
		t.Fatalf("the variables name the proxy %v, %v", u, err)
	}
	dialed := map[string]bool{}
	n := remote.Network{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		dialed[address] = true
		return nil, egress.ErrDenied
	}}
	for _, scheme := range []string{"http", "https"} {
		_, _ = remote.FetchCard(t.Context(), n, scheme+"://agent.example.com")
		for _, i := range bindings {
			a := &agent{url: scheme + "://agent.example.com/a2a", configure: func(c *remote.Config) { c.Network = n; i.URL = c.Interface.URL; c.Interface = i }}
			everyCall(t, connect(t, a))
		}
	}
	if len(dialed) != 2 || !dialed["agent.example.com:80"] || !dialed["agent.example.com:443"] {
		t.Errorf("dialed %v", dialed)
	}
}
