// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.sign(t, "ca", &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign writes NAME.crt and NAME.key.
func (a *authority) sign(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: plain}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// The command serves TLS, wants a client's certificate, says what it counted, and ends in order.
func TestServe(t *testing.T) {
	a := newAuthority(t)
	a.sign(t, "server", &x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	spiffe := &url.URL{Scheme: "spiffe", Host: "example.com", Path: "/orchestrator"}
	a.sign(t, "client", &x509.Certificate{SerialNumber: big.NewInt(3), URIs: []*url.URL{spiffe}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"r-1"}}}`)
	}))
	defer agent.Close()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	address, admin := filepath.Join(a.dir, "address"), free(t)
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{
			"--listen=127.0.0.1:0", "--address-file", address, "--upstream", agent.URL, "--store", "sqlite:" + a.file("m.db"),
			"--principal=mtls", "--client-ca", a.file("ca.crt"), "--tls-cert", a.file("server.crt"), "--tls-key", a.file("server.key"),
			"--metrics-bind-address", admin, "--health-probe-bind-address", admin,
		}, io.Discard)
	}()
	base := awaitFile(ctx, t, address)
	if !strings.HasPrefix(base, "https://") {
		t.Fatalf("listens on %s", base)
	}
	send := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","parts":[{"text":"x"}]}}}`
	known, stranger := a.client(t, true), a.client(t, false)
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

func (a *authority) client(t *testing.T, known bool) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	conf := &tls.Config{RootCAs: pool}
	if known {
		pair, err := tls.LoadX509KeyPair(a.file("client.crt"), a.file("client.key"))
		if err != nil {
			t.Fatal(err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
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
