// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const goodCard = `{"name":"finance","version":"3.1","supportedInterfaces":[` +
	`{"url":"https://finance.example.com/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},` +
	`{"url":"https://finance.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"acme"}],` +
	`"capabilities":{"streaming":true,"extensions":[{"uri":"` + v1alpha1.DeduplicationExtensionURI + `","params":{"retention":"48h"}}]},` +
	`"skills":[{"id":"reconcile","name":"Reconcile"},{"name":"without id"},7],"securitySchemes":["odd"]}`

func publishing(t *testing.T, path string, status int, header http.Header, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFetchCard(t *testing.T) {
	for _, c := range []struct{ name, served, asked string }{
		{"by the base URL", "/.well-known/agent-card.json", ""},
		{"by the base URL with a slash", "/.well-known/agent-card.json", "/"},
		{"below a path", "/agents/finance/.well-known/agent-card.json", "/agents/finance"},
		{"by its own URL", "/cards/finance.json", "/cards/finance.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := publishing(t, c.served, 200, jsonHeader(), goodCard)
			card, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL+c.asked)
			if err != nil {
				t.Fatal(err)
			}
			if card.Name != "finance" || card.Version != "3.1" || len(card.SupportedInterfaces) != 2 || !card.Capabilities.Streaming ||
				len(card.Skills) != 1 || card.Skills[0].ID != "reconcile" {
				t.Errorf("%+v", card)
			}
			if d, ok := remote.Retention(card); !ok || d != 48*time.Hour {
				t.Errorf("retention %s %v", d, ok)
			}
		})
	}
}

func TestFetchCardFails(t *testing.T) {
	const path = "/.well-known/agent-card.json"
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   error
	}{
		{"HTTP 404", 404, "", remote.ErrCardUnavailable},
		{"HTTP 401", 401, "", remote.ErrCardUnavailable},
		{"HTTP 503", 503, "", remote.ErrCardUnavailable},
		{"HTML", 200, "<html></html>", remote.ErrCardInvalid},
		{"a list", 200, "[]", remote.ErrCardInvalid},
		{"nothing", 200, "", remote.ErrCardInvalid},
		{"an object that is no card", 200, `{"status":"ok"}`, remote.ErrCardInvalid},
		{"too large", 200, goodCard + strings.Repeat(" ", 1<<20), remote.ErrCardInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := publishing(t, path, c.status, nil, c.body)
			if _, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL); !isErr(t, err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	_, err := remote.FetchCard(t.Context(), remote.Network{}, deaf(t).url)
	if !isErr(t, err, remote.ErrCardUnavailable) || !isErr(t, err, syscall.ECONNREFUSED) {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := remote.FetchCard(ctx, remote.Network{}, deaf(t).url); !isErr(t, err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for _, u := range []string{"", "finance", "/card.json", "ftp://example.com/card.json", "https://me:" + secret + "@example.com"} {
		if _, err := remote.FetchCard(t.Context(), remote.Network{}, u); !isErr(t, err, remote.ErrCardUnavailable) {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestFetchCardFollowsNoRedirect(t *testing.T) {
	var heard atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer elsewhere.Close()
	s := publishing(t, "/.well-known/agent-card.json", 302, http.Header{"Location": {elsewhere.URL + "/card.json?key=" + secret}}, "")
	_, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL)
	if !isErr(t, err, remote.ErrCardUnavailable) || !strings.Contains(err.Error(), elsewhere.URL) {
		t.Errorf("%v", err)
	}
	if heard.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

func iface(url, binding, version string) *a2a.AgentInterface {
	return &a2a.AgentInterface{URL: url, ProtocolBinding: a2a.TransportProtocol(binding), ProtocolVersion: a2a.ProtocolVersion(version)}
}

func TestSelectInterface(t *testing.T) {
	const from, good = "https://finance.example.com", "https://finance.example.com/a2a"
	for _, c := range []struct {
		name string
		list []*a2a.AgentInterface
		from string
		want string
		errs []error
	}{
		{"the first that fits", []*a2a.AgentInterface{nil, iface(good, "GRPC", "1.0"), iface(good, "JSONRPC", "1.0"), iface("https://b", "JSONRPC", "1.0")},
			from, good, nil},
		{"1.0.0", []*a2a.AgentInterface{iface(good, "JSONRPC", "1.0.0")}, from, good, nil},
		{"1.1", []*a2a.AgentInterface{iface(good, "jsonrpc", "1.1")}, from, good, nil},
		{"none", nil, from, "", []error{remote.ErrNoInterface}},
		{"another binding", []*a2a.AgentInterface{iface(good, "SOAP", "1.0")}, from, "", []error{remote.ErrBindingUnsupported}},
		{"no version", []*a2a.AgentInterface{iface(good, "JSONRPC", "")}, from, "", []error{remote.ErrVersionMissing}},
		{"v1.0", []*a2a.AgentInterface{iface(good, "JSONRPC", "v1.0")}, from, good, nil},
		{"0.3", []*a2a.AgentInterface{iface(good, "JSONRPC", "0.3")}, from, good, nil},
		{"0.3.0", []*a2a.AgentInterface{iface(good, "JSONRPC", "0.3.0")}, from, good, nil},
		{"0.3 over HTTP+JSON", []*a2a.AgentInterface{iface(good, "HTTP+JSON", "0.3.0")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"0.3 over gRPC", []*a2a.AgentInterface{iface(good, "GRPC", "0.3")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"0.3 with a tenant", []*a2a.AgentInterface{{URL: good, ProtocolBinding: "JSONRPC", ProtocolVersion: "0.3", Tenant: "acme"}}, from, "",
			[]error{remote.ErrInterfaceUnusable}},
		{"0.30", []*a2a.AgentInterface{iface(good, "JSONRPC", "0.30")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"0.2.6", []*a2a.AgentInterface{iface(good, "JSONRPC", "0.2.6")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"1.x", []*a2a.AgentInterface{iface(good, "JSONRPC", "1.x")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"10.0", []*a2a.AgentInterface{iface(good, "JSONRPC", "10.0")}, from, "", []error{remote.ErrVersionUnsupported}},
		{"a relative URL", []*a2a.AgentInterface{iface("/a2a", "JSONRPC", "1.0")}, from, "", []error{remote.ErrURLRelative}},
		{"no URL", []*a2a.AgentInterface{iface("", "JSONRPC", "1.0")}, from, "", []error{remote.ErrURLRelative}},
		{"a URL without a scheme", []*a2a.AgentInterface{iface("finance.example.com/a2a", "JSONRPC", "1.0")}, from, "", []error{remote.ErrURLRelative}},
		{"another scheme", []*a2a.AgentInterface{iface("ws://finance.example.com", "JSONRPC", "1.0")}, from, "", []error{remote.ErrInterfaceUnusable}},
		{"credentials", []*a2a.AgentInterface{iface("https://me:"+secret+"@finance.example.com", "JSONRPC", "1.0")}, from, "",
			[]error{remote.ErrInterfaceUnusable}},
		{"a URL that can't be parsed", []*a2a.AgentInterface{iface("https://fin ance", "JSONRPC", "1.0")}, from, "", []error{remote.ErrInterfaceUnusable}},
		{"a long URL", []*a2a.AgentInterface{iface(good+strings.Repeat("/", 2048), "JSONRPC", "1.0")}, from, "", []error{remote.ErrInterfaceUnusable}},
		{"a long tenant", []*a2a.AgentInterface{{URL: good, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0", Tenant: strings.Repeat("t", 257)}}, from, "",
			[]error{remote.ErrInterfaceUnusable}},
		{"its own localhost", []*a2a.AgentInterface{iface("http://localhost:9999/", "JSONRPC", "1.0")}, from, "", []error{remote.ErrInterfaceUnusable}},
		{"its own wildcard", []*a2a.AgentInterface{iface("http://0.0.0.0:9999/", "JSONRPC", "1.0")}, from, "", []error{remote.ErrInterfaceUnusable}},
		{"our localhost", []*a2a.AgentInterface{iface("http://127.0.0.1:9999/", "JSONRPC", "1.0")}, "http://localhost:9999", "http://127.0.0.1:9999/", nil},
		{"all causes", []*a2a.AgentInterface{iface("/a2a", "JSONRPC", "1.0"), iface(good, "GRPC", "0.3")}, from, "",
			[]error{remote.ErrURLRelative, remote.ErrVersionUnsupported}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := remote.SelectInterface(&a2a.AgentCard{SupportedInterfaces: c.list}, c.from, remote.AnyOrigin)
			if got.URL != c.want || (err == nil) != (c.errs == nil) {
				t.Fatalf("%+v, %v", got, err)
			}
			for _, want := range c.errs {
				if !isErr(t, err, want) || !strings.Contains(err.Error(), "spec.interfaces") || len(err.Error()) > 1024 {
					t.Errorf("%v", err)
				}
			}
			if err == nil && (got.ProtocolBinding != "JSONRPC" || strings.HasPrefix(got.ProtocolVersion, "v")) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The order of the card does not matter, since agents list what they prefer, and what is spoken best is known here.
func TestSelectInterfacePrefers(t *testing.T) {
	all := []*a2a.AgentInterface{iface("https://g", "grpc", "1.0"), iface("https://h", "http+json", "1.0"), iface("https://j", "jsonrpc", "1.0")}
	for _, c := range []struct {
		name, want, url string
		list            []*a2a.AgentInterface
	}{
		{"all", "JSONRPC", "https://j", all},
		{"an old JSONRPC", "HTTP+JSON", "https://h", append(all[:2:2], iface("https://j", "JSONRPC", "0.3"))},
		{"gRPC and an old JSONRPC", "GRPC", "https://g", []*a2a.AgentInterface{iface("https://j", "JSONRPC", "0.3"), all[0]}},
		{"HTTP+JSON only", "HTTP+JSON", "https://h", all[1:2]},
		{"the first of a kind", "HTTP+JSON", "https://h", append(all[1:2:2], iface("https://h2", "HTTP+JSON", "1.0"))},
	} {
		got, err := remote.SelectInterface(&a2a.AgentCard{SupportedInterfaces: c.list}, "https://finance.example.com", remote.AnyOrigin)
		if err != nil || got.ProtocolBinding != c.want || got.URL != c.url {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestRetention(t *testing.T) {
	of := func(params map[string]any) *a2a.AgentCard {
		return &a2a.AgentCard{Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{
			{URI: "https://example.com/other"}, {URI: v1alpha1.DeduplicationExtensionURI, Params: params},
		}}}
	}
	for _, c := range []struct {
		name string
		card *a2a.AgentCard
		want time.Duration
		ok   bool
	}{
		{"no extension", &a2a.AgentCard{}, 0, false},
		{"no parameter", of(nil), 72 * time.Hour, true},
		{"a duration", of(map[string]any{"retention": "24h"}), 24 * time.Hour, true},
		{"a number", of(map[string]any{"retention": 3600.0}), 0, false},
		{"null", of(map[string]any{"retention": nil}), 0, false},
		{"days", of(map[string]any{"retention": "3d"}), 0, false},
		{"negative", of(map[string]any{"retention": "-1h"}), 0, false},
		{"zero", of(map[string]any{"retention": "0s"}), 0, false},
	} {
		if got, ok := remote.Retention(c.card); got != c.want || ok != c.ok {
			t.Errorf("%s: %s %v", c.name, got, ok)
		}
	}
}
