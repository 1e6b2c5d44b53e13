// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package principal_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/principal"
)

func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/a2a", http.NoBody)
	r.RemoteAddr = "10.1.2.3:4567"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

type source interface {
	Of(*http.Request) (string, error)
}

// want checks one name or one error.
func want(t *testing.T, what string, s source, r *http.Request, name string, failure error) {
	t.Helper()
	got, err := s.Of(r)
	if got != name || !errors.Is(err, failure) {
		t.Errorf("%s: %q, %v; want %q, %v", what, got, err, name, failure)
	}
}

// signer is an issuer of tokens.
type signer struct {
	key *ecdsa.PrivateKey
	id  string
}

func newSigner(t *testing.T, id string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{key, id}
}

func (s signer) set() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: s.id, Algorithm: string(jose.ES256), Use: "sig"}}}
}

func (s signer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: s.id}}
	sig, err := jose.NewSigner(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.Signed(sig).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func claims(change map[string]any) map[string]any {
	c := map[string]any{"iss": "https://issuer.example.com", "aud": "finance", "sub": "orchestrator", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range change {
		c[name] = value
	}
	return c
}

func write(t *testing.T, path string, set jose.JSONWebKeySet) {
	t.Helper()
	data, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestToken(t *testing.T) {
	issuer, stranger := newSigner(t, "k1"), newSigner(t, "k1")
	file := filepath.Join(t.TempDir(), "keys.json")
	write(t, file, issuer.set())
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(issuer.set()) }))
	defer keys.Close()
	base := principal.TokenConfig{Issuer: "https://issuer.example.com", Audience: "finance"}
	for name, where := range map[string]principal.TokenConfig{
		"file": {Issuer: base.Issuer, Audience: base.Audience, KeysFile: file},
		"URL":  {Issuer: base.Issuer, Audience: base.Audience, KeysURL: keys.URL},
	} {
		s, err := principal.NewToken(t.Context(), where)
		if err != nil {
			t.Fatal(err)
		}
		bearer := func(raw string) *http.Request { return request("Authorization", "Bearer "+raw) }
		want(t, name, s, bearer(issuer.token(t, claims(nil))), "jwt:https%3A%2F%2Fissuer.example.com|orchestrator", nil)
		want(t, name+", lower case", s, request("Authorization", "bearer "+issuer.token(t, claims(nil))), "jwt:https%3A%2F%2Fissuer.example.com|orchestrator", nil)
		for what, raw := range map[string]string{
			"other key":      stranger.token(t, claims(nil)),
			"other issuer":   issuer.token(t, claims(map[string]any{"iss": "https://else.example.com"})),
			"other audience": issuer.token(t, claims(map[string]any{"aud": "billing"})),
			"expired":        issuer.token(t, claims(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})),
			"not yet":        issuer.token(t, claims(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})),
			"no subject":     issuer.token(t, claims(map[string]any{"sub": ""})),
			"no signature":   "eyJhbGciOiJub25lIn0." + strings.Split(issuer.token(t, claims(nil)), ".")[1] + ".",
			"garbage":        "x",
		} {
			want(t, name+", "+what, s, bearer(raw), "", principal.ErrToken)
		}
		want(t, name+", none", s, request(), "", principal.ErrCredential)
		want(t, name+", basic", s, request("Authorization", "Basic eDp5"), "", principal.ErrCredential)
		want(t, name+", two", s, request("Authorization", "Bearer x", "Authorization", "Bearer y"), "", principal.ErrCredential)
	}
}

// A file of keys is replaced when keys are rotated.
func TestRotatedKeys(t *testing.T) {
	old, renewed := newSigner(t, "k1"), newSigner(t, "k2")
	file := filepath.Join(t.TempDir(), "keys.json")
	write(t, file, old.set())
	s, err := principal.NewToken(t.Context(), principal.TokenConfig{Issuer: "https://issuer.example.com", Audience: "finance", KeysFile: file})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, renewed.set())
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want(t, "new key", s, request("Authorization", "Bearer "+renewed.token(t, claims(nil))), "jwt:https%3A%2F%2Fissuer.example.com|orchestrator", nil)
	want(t, "old key", s, request("Authorization", "Bearer "+old.token(t, claims(nil))), "", principal.ErrToken)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want(t, "file gone", s, request("Authorization", "Bearer "+renewed.token(t, claims(nil))), "jwt:https%3A%2F%2Fissuer.example.com|orchestrator", nil)
}

func TestTokenConfig(t *testing.T) {
	for _, c := range []principal.TokenConfig{
		{}, {Issuer: "i", Audience: "a"}, {Issuer: "i", KeysURL: "u"}, {Audience: "a", KeysURL: "u"},
		{Issuer: "i", Audience: "a", KeysURL: "u", KeysFile: "f"}, {Issuer: "i", Audience: "a", KeysFile: "/none"},
	} {
		if _, err := principal.NewToken(t.Context(), c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestCertificate(t *testing.T) {
	spiffe, err := url.Parse("spiffe://example.com/orchestrator")
	if err != nil {
		t.Fatal(err)
	}
	with := func(verified bool, leaf *x509.Certificate) *http.Request {
		r := request()
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		if verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{leaf}}
		}
		return r
	}
	named := &x509.Certificate{Subject: pkix.Name{CommonName: "orchestrator"}}
	want(t, "URI", principal.Certificate{}, with(true, &x509.Certificate{URIs: []*url.URL{spiffe}, Subject: named.Subject}), "mtls:uri:spiffe://example.com/orchestrator", nil)
	want(t, "subject", principal.Certificate{}, with(true, named), "mtls:subject:CN=orchestrator", nil)
	want(t, "not verified", principal.Certificate{}, with(false, named), "", principal.ErrCertificate)
	want(t, "no name", principal.Certificate{}, with(true, &x509.Certificate{}), "", principal.ErrCertificate)
	want(t, "no TLS", principal.Certificate{}, request(), "", principal.ErrCertificate)
}

func TestHeader(t *testing.T) {
	h := principal.Header{Name: "X-Principal", Trusted: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	want(t, "trusted", h, request("X-Principal", "alice"), "header:alice", nil)
	want(t, "none", h, request(), "", principal.ErrHeader)
	want(t, "empty", h, request("X-Principal", ""), "", principal.ErrHeader)
	want(t, "two", h, request("X-Principal", "alice", "X-Principal", "bob"), "", principal.ErrHeader)
	for _, peer := range []string{"10.2.0.1:1", "[::1]:1", "", "@"} {
		r := request("X-Principal", "alice")
		r.RemoteAddr = peer
		want(t, "from "+peer, h, r, "", principal.ErrUntrusted)
	}
	mapped := request("X-Principal", "alice")
	mapped.RemoteAddr = "[::ffff:10.1.2.3]:1"
	want(t, "IPv4 in IPv6", h, mapped, "header:alice", nil)
}

func TestCredential(t *testing.T) {
	if _, err := principal.NewCredential(make([]byte, 31)); !errors.Is(err, principal.ErrKey) {
		t.Errorf("short key: %v", err)
	}
	names := map[string]bool{}
	for _, key := range []string{strings.Repeat("a", 32), strings.Repeat("b", 32)} {
		c, err := principal.NewCredential([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		for _, credential := range []string{"Bearer secret", "Bearer other", "Basic secret"} {
			name, err := c.Of(request("Authorization", credential))
			if again, _ := c.Of(request("Authorization", credential)); err != nil || name != again || names[name] || strings.Contains(name, "secret") {
				t.Errorf("%s: %q, then %q, %v", credential, name, again, err)
			}
			names[name] = true
		}
		want(t, "none", c, request(), "", principal.ErrCredential)
		want(t, "two", c, request("Authorization", "a", "Authorization", "b"), "", principal.ErrCredential)
	}
}
