// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// algorithms are the asymmetric ones: a key that verifies must not be one that signs.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Token takes a bearer token that is a JWT (RFC 7519): its issuer and its subject.
type Token struct{ verifier *oidc.IDTokenVerifier }

// TokenConfig says which tokens are taken. One of KeysURL and KeysFile has to be given.
type TokenConfig struct {
	// Issuer and Audience are what the claims iss and aud have to hold.
	Issuer, Audience string
	// KeysURL is where the issuer publishes its keys as a JWK set (RFC 7517). They are fetched again for a key that is
	// not known.
	KeysURL string
	// KeysFile holds such a set. It is read again when it changes.
	KeysFile string
	// Client fetches the keys; one of its own where it is nil.
	Client *http.Client
}

// NewToken returns an error that names what is missing. ctx is the life of the keys' fetches.
func NewToken(ctx context.Context, c TokenConfig) (*Token, error) {
	switch {
	case c.Issuer == "", c.Audience == "":
		return nil, errors.New("issuer and audience of tokens must be given")
	case (c.KeysURL == "") == (c.KeysFile == ""):
		return nil, errors.New("either a URL or a file of keys must be given")
	}
	var keys oidc.KeySet
	if c.KeysFile != "" {
		file := &fileKeys{path: c.KeysFile}
		if _, err := file.load(); err != nil {
			return nil, err
		}
		keys = file
	} else {
		if c.Client != nil {
			ctx = oidc.ClientContext(ctx, c.Client)
		}
		keys = oidc.NewRemoteKeySet(ctx, c.KeysURL)
	}
	conf := &oidc.Config{ClientID: c.Audience}
	for _, a := range algorithms {
		conf.SupportedSigningAlgs = append(conf.SupportedSigningAlgs, string(a))
	}
	return &Token{verifier: oidc.NewVerifier(c.Issuer, keys, conf)}, nil
}

// Of returns ErrCredential without a bearer token, and ErrToken for one that is not valid now.
func (t *Token) Of(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", ErrCredential
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrCredential
	}
	token, err := t.verifier.Verify(r.Context(), strings.TrimSpace(raw))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	case token.Subject == "":
		return "", fmt.Errorf("%w: it has no subject", ErrToken)
	}
	return "jwt:" + pair(token.Issuer, token.Subject), nil
}

// fileKeys is a JWK set in a file.
type fileKeys struct {
	path string

	mu    sync.Mutex
	set   jose.JSONWebKeySet
	mtime time.Time
	size  int64
}

// VerifySignature implements oidc.KeySet.
func (f *fileKeys) VerifySignature(_ context.Context, jwt string) ([]byte, error) {
	signed, err := jose.ParseSigned(jwt, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("the token has not exactly one signature")
	}
	set, err := f.load()
	if err != nil {
		return nil, err
	}
	id := signed.Signatures[0].Header.KeyID
	for _, key := range set.Keys {
		if id != "" && key.KeyID != id || !key.IsPublic() {
			continue
		}
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("no key of the file verifies the token")
}

// load reads the file if it has changed. A file that can't be read leaves the keys that are known.
func (f *fileKeys) load() (jose.JSONWebKeySet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil && info.ModTime().Equal(f.mtime) && info.Size() == f.size {
		return f.set, nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(f.path)
	}
	var set jose.JSONWebKeySet
	if err == nil {
		err = json.Unmarshal(data, &set)
	}
	if err == nil && len(set.Keys) == 0 {
		err = errors.New("it holds no keys")
	}
	switch {
	case err == nil:
		f.set, f.mtime, f.size = set, info.ModTime(), info.Size()
	case len(f.set.Keys) == 0:
		return f.set, fmt.Errorf("file of keys: %w", err)
	}
	return f.set, nil
}
