// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cardtest signs agent cards for tests.
package cardtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
)

// Signer is somebody who signs cards.
type Signer struct {
	Algorithm jose.SignatureAlgorithm
	Private   crypto.Signer
	// ID is the kid; empty for none.
	ID string
}

// madeRSA is made once, since it takes long.
var madeRSA = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewSigner makes a key for an algorithm.
func NewSigner(t testing.TB, algorithm jose.SignatureAlgorithm, id string) Signer {
	t.Helper()
	s := Signer{Algorithm: algorithm, ID: id}
	var err error
	switch algorithm {
	case jose.ES256:
		s.Private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		s.Private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.ES512:
		s.Private, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case jose.EdDSA:
		_, s.Private, err = ed25519.GenerateKey(rand.Reader)
	default:
		s.Private, err = madeRSA()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// JWK is the public key.
func (s Signer) JWK() jose.JSONWebKey { return jose.JSONWebKey{Key: s.Private.Public(), KeyID: s.ID} }

// PEM is the public key, which has no id there.
func (s Signer) PEM(t testing.TB) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(s.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// Set is a JWK set of the public keys.
func Set(t testing.TB, signers ...Signer) string {
	t.Helper()
	var s jose.JSONWebKeySet
	for _, one := range signers {
		s.Keys = append(s.Keys, one.JWK())
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Entry is an AgentCardSignature over a payload, with more in the protected header.
func (s Signer) Entry(t testing.TB, payload string, header map[jose.HeaderKey]any) map[string]any {
	t.Helper()
	canonical, err := jcs.Transform([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	options := &jose.SignerOptions{ExtraHeaders: map[jose.HeaderKey]any{"typ": "JOSE"}}
	for name, value := range header {
		options.ExtraHeaders[name] = value
	}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: s.Algorithm, Key: jose.JSONWebKey{Key: s.Private, KeyID: s.ID}}, options)
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

// With is a card and its signatures, as a server gives it out.
func With(t testing.TB, card string, entries ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(strings.TrimSpace(card), "}") + `,"signatures":` + string(text) + `}`)
}

// Signed is a card with one signature over it as it stands.
func (s Signer) Signed(t testing.TB, card string) []byte {
	t.Helper()
	return With(t, card, s.Entry(t, card, nil))
}
