// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/principal"
)

// The kinds of principals.
const (
	byToken       = "jwt"
	byCertificate = "mtls"
	byHeader      = "header"
	byCredential  = "credential"
	byNobody      = "anonymous"
)

// keysTimeout bounds a fetch of an issuer's keys.
const keysTimeout = 10 * time.Second

// principalOptions say how callers are told apart.
type principalOptions struct {
	kind              string
	issuer, audience  string
	keysURL, keysFile string
	clientCA          string
	header            string
	keyFile           string
}

func (p *principalOptions) bind(f *flag.FlagSet) {
	f.StringVar(&p.kind, "principal", "", "what tells callers apart: jwt, mtls, header, credential or anonymous; required")
	f.StringVar(&p.issuer, "jwt-issuer", "", "issuer of the tokens, with --principal=jwt")
	f.StringVar(&p.audience, "jwt-audience", "", "audience of the tokens, with --principal=jwt")
	f.StringVar(&p.keysURL, "jwks-url", "", "URL of the issuer's keys, with --principal=jwt")
	f.StringVar(&p.keysFile, "jwks-file", "", "file of the issuer's keys, with --principal=jwt; read again when it changes")
	f.StringVar(&p.clientCA, "client-ca", "", "file of the certificates that clients' are verified with, with --principal=mtls")
	f.StringVar(&p.header, "principal-header", "", "header that names the caller, with --principal=header; removed unless it comes from --trusted-proxies")
	f.StringVar(&p.keyFile, "principal-key-file", "", "file of a key of at least 32 bytes, with --principal=credential; the same for all replicas, and kept")
}

// check names the flag that is missing, or that has no effect.
func (p *principalOptions) check(o *options) error {
	type need struct {
		flag  string
		given bool
		kind  string
		must  bool
	}
	for _, n := range []need{
		{"--jwt-issuer", p.issuer != "", byToken, true},
		{"--jwt-audience", p.audience != "", byToken, true},
		{"--jwks-url", p.keysURL != "", byToken, false},
		{"--jwks-file", p.keysFile != "", byToken, false},
		{"--client-ca", p.clientCA != "", byCertificate, true},
		{"--principal-header", p.header != "", byHeader, true},
		{"--principal-key-file", p.keyFile != "", byCredential, true},
	} {
		switch {
		case n.given && p.kind != n.kind:
			return fmt.Errorf("%s has an effect with --principal=%s only", n.flag, n.kind)
		case n.must && !n.given && p.kind == n.kind:
			return fmt.Errorf("--principal=%s needs %s", n.kind, n.flag)
		}
	}
	switch p.kind {
	case byToken:
		if (p.keysURL == "") == (p.keysFile == "") {
			return errors.New("--principal=jwt needs either --jwks-url or --jwks-file")
		}
	case byCertificate:
		if o.tlsCert == "" {
			return errors.New("--principal=mtls needs --tls-cert and --tls-key")
		}
	case byHeader:
		if len(o.proxy.TrustedProxies) == 0 {
			return errors.New("--principal=header needs --trusted-proxies: a header that anybody may set names nobody")
		}
	case byCredential, byNobody:
	default:
		return errors.New("--principal is required: jwt, mtls, header or credential; or anonymous, where all callers may see each other's tasks")
	}
	return nil
}

// build makes what tells callers apart. ctx is the life of the fetches of keys.
func (p *principalOptions) build(ctx context.Context, o *options) (dedupproxy.Principals, error) {
	switch p.kind {
	case byToken:
		return principal.NewToken(ctx, principal.TokenConfig{
			Issuer: p.issuer, Audience: p.audience, KeysURL: p.keysURL, KeysFile: p.keysFile,
			Client: &http.Client{Timeout: keysTimeout},
		})
	case byCertificate:
		return principal.Certificate{}, nil
	case byHeader:
		return principal.Header{Name: p.header, Trusted: o.proxy.TrustedProxies}, nil
	case byCredential:
		key, err := os.ReadFile(p.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--principal-key-file: %w", err)
		}
		credential, err := principal.NewCredential(key)
		if err != nil {
			return nil, fmt.Errorf("--principal-key-file: %w", err)
		}
		return credential, nil
	}
	return principal.Anonymous{}, nil
}
