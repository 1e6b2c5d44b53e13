// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
)

// plain is a card that all canonical forms leave as it is.
const plain = `{"name":"finance","description":"Reconciles","version":"3.1","supportedInterfaces":[` +
	`{"url":"https://finance.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],` +
	`"capabilities":{"streaming":true,"extensions":[{"uri":"https://example.com/e","params":{"retention":"48h","n":1.50}}]},` +
	`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],` +
	`"skills":[{"id":"reconcile","name":"Réconcile","description":"d","tags":["t"]}]}`

// signer is somebody who signs cards.
type signer struct {
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
	id        string
}

// madeRSA is made once, since it takes long.
var madeRSA = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newSigner(t testing.TB, algorithm jose.SignatureAlgorithm, id string) signer {
	t.Helper()
	s := signer{algorithm: algorithm, id: id}
	var err error
	switch algorithm {
	case jose.ES256:
		s.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		s.private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.ES512:
		s.private, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case jose.EdDSA:
		_, s.private, err = ed25519.GenerateKey(rand.Reader)
	default:
		s.private, err = madeRSA()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s signer) jwk() jose.JSONWebKey { return jose.JSONWebKey{Key: s.private.Public(), KeyID: s.id} }

// pem is the public key, which has no id there.
func (s signer) pem(t testing.TB) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(s.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// set is a JWK set of the public keys.
func set(t testing.TB, signers ...signer) string {
	t.Helper()
	var s jose.JSONWebKeySet
	for _, one := range signers {
		s.Keys = append(s.Keys, one.jwk())
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func keys(t testing.TB, text string) cardsign.Keys {
	t.Helper()
	k, err := cardsign.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// entry is an AgentCardSignature over a payload, with more in the protected header.
func (s signer) entry(t testing.TB, payload string, header map[jose.HeaderKey]any) map[string]any {
	t.Helper()
	canonical, err := jcs.Transform([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	options := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{"typ": "JOSE"}}
	for name, value := range header {
		options.ExtraHeaders[name] = value
	}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: s.algorithm, Key: jose.JSONWebKey{Key: s.private, KeyID: s.id}}, options)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := made.Sign(canonical)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := jws.DetachedCompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	protected, value, _ := strings.Cut(compact, "..")
	return map[string]any{"protected": protected, "signature": value}
}

// forged is an entry with any header, and a signature that the given function makes of the signing input.
func forged(t testing.TB, payload, header string, sign func(input string) []byte) map[string]any {
	t.Helper()
	canonical, err := jcs.Transform([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	protected := encode([]byte(header))
	return map[string]any{"protected": protected, "signature": encode(sign(protected + "." + encode(canonical)))}
}

// with is a card and its signatures, as a server gives it out.
func with(t testing.TB, card string, entries ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(strings.TrimSpace(card), "}") + `,"signatures":` + string(text) + `}`)
}
