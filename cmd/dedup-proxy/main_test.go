// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/testenv/pki"
)

const patience = 20 * time.Second

func TestParse(t *testing.T) {
	good := "--upstream=http://127.0.0.1:8090/ --store=memory "
	for _, args := range []string{
		"--principal=anonymous",
		"--principal=jwt --jwt-issuer=i --jwt-audience=a --jwks-url=https://i/keys",
		"--principal=mtls --client-ca=ca --tls-cert=c --tls-key=k",
		"--principal=header --principal-header=X-P --trusted-proxies=10.0.0.0/8,::1/128",
		"--principal=credential --principal-key-file=k",
	} {
		if o, err := parse(strings.Fields(good+args), io.Discard); err != nil || o.proxy.Upstream.String() != "http://127.0.0.1:8090" {
			t.Errorf("%s: %v", args, err)
		}
	}
	for args, names := range map[string]string{
		"":                              "--upstream",
		"--upstream=http://a":           "--store",
		"--upstream=ftp://a":            "-upstream",
		"--upstream=http://u:p@a":       "-upstream",
		good:                            "--principal",
		good + "--principal=guess":      "--principal",
		good + "--principal=jwt":        "--jwt-issuer",
		good + "--principal=header":     "--principal-header",
		good + "--principal=credential": "--principal-key-file",
		good + "--principal=mtls":       "--client-ca",
		good + "--principal=anonymous --jwks-url=x":               "--jwks-url",
		good + "--principal=header --principal-header=X":          "--trusted-proxies",
		good + "--principal=mtls --client-ca=x":                   "--tls-cert",
		good + "--principal=jwt --jwt-issuer=i --jwt-audience=a":  "--jwks-url",
		good + "--principal=anonymous --store-file=x":             "--store-file",
		good + "--principal=anonymous --tls-cert=x":               "--tls-key",
		good + "--principal=anonymous --retention=1s":             "--lease",
		good + "--principal=anonymous --send-timeout=0s":          "--send-timeout",
		good + "--principal=anonymous --settle=-1s":               "--settle",
		good + "--principal=anonymous --max-request-bytes=0":      "--max-request-bytes",
		good + "--principal=anonymous --lookup=maybe":             "authoritative",
		good + "--principal=anonymous --trusted-proxies=10.0.0.1": "CIDR",
		good + "--principal=anonymous extra":                      "extra",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: error %v, want one that names %s", args, err, names)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}

func TestStores(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "store")
	if err := os.WriteFile(secret, []byte("sqlite:"+filepath.Join(dir, "b.db")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*options{{store: "memory"}, {store: "sqlite:" + filepath.Join(dir, "a.db")}, {store: "sqlite://" + filepath.Join(dir, "c.db")}, {storeFile: secret}} {
		s, err := open(t.Context(), o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if err := errors.Join(ping(t.Context(), s), s.Close()); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []*options{{store: "sqlite:"}, {store: "mysql://secret"}, {storeFile: filepath.Join(dir, "none")}} {
		if _, err := open(t.Context(), o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}

// The command serves TLS, wants a client's certificate, says what it counted, and ends in order.
func TestServe(t *testing.T) {
	authority, dir := pki.New(t, "ca"), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	authority.Write(t, dir, "ca")
	authority.Issue(t, "127.0.0.1").Write(t, dir, "server")
	caller := authority.Issue(t, "orchestrator", func(c *x509.Certificate) {
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/orchestrator"}}
	})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"r-1"}}}`)
	}))
	defer agent.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	address, admin := file("address"), free(t)
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{
			"--listen=127.0.0.1:0", "--address-file", address, "--upstream", agent.URL, "--store", "sqlite:" + file("m.db"),
			"--principal=mtls", "--client-ca", file("ca.crt"), "--tls-cert", file("server.crt"), "--tls-key", file("server.key"),
			"--metrics-bind-address", admin, "--health-probe-bind-address", admin,
		}, io.Discard)
	}()
	base := awaitFile(ctx, t, address)
	if !strings.HasPrefix(base, "https://") {
		t.Fatalf("listens on %s", base)
	}
	send := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","parts":[{"text":"x"}]}}}`
	known, stranger := client(t, authority, caller.TLS), client(t, authority)
	for range 2 {
		resp, err := known.Post(base+"/a2a", "application/json", strings.NewReader(send))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || resp.ProtoMajor != 2 || !strings.Contains(string(body), "r-1") {
			t.Errorf("%v: %s %s", err, resp.Proto, body)
		}
	}
	if resp, err := stranger.Post(base+"/a2a", "application/json", strings.NewReader(send)); err == nil {
		_ = resp.Body.Close()
		t.Error("a client without a certificate was served")
	}
	for path, want := range map[string]string{"/metrics": `a2a_dedup_sends_total{result="replay"} 1`, "/healthz": "", "/readyz": ""} {
		resp, err := http.Get("http://" + admin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, %d", path, err, resp.StatusCode)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func client(t *testing.T, authority *pki.Authority, own ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), Certificates: own}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func free(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func awaitFile(ctx context.Context, t *testing.T, file string) string {
	t.Helper()
	for {
		if data, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(data))
		}
		if ctx.Err() != nil {
			t.Fatal("no address file")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
