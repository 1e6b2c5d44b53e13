// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
)

func jwkText(t *testing.T, k jose.JSONWebKey) string {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKeys(t *testing.T) {
	a, b := cardtest.NewSigner(t, jose.ES256, "a"), cardtest.NewSigner(t, jose.RS256, "b")
	own, secret := a.JWK(), jose.JSONWebKey{Key: []byte("s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3"), KeyID: "h"}
	own.Key = a.Private
	encrypting, narrowed, odd := a.JWK(), b.JWK(), a.JWK()
	encrypting.Use, narrowed.Algorithm, odd.Algorithm = "enc", "PS256", "RS256"
	small, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(small.Public())
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(a.Private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	setOf := func(texts ...string) string { return `{"keys":[` + strings.Join(texts, ",") + `]}` }
	const weak = `{"kty":"RSA","n":"sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1WlUzewbgBHod5pcM9H95GQRV3JDXboIRROSBigeC5yjU1hGzHHyXss8UDprecbAYxknTcQkhslANGRUZmdTOQ5qTRsLAt6BTYuyvVRdhS8exSZEy_c4","e":"AQAB"}`
	const refused = -1
	const future = `{"kty":"XYZ","x":"AA"}`
	for _, c := range []struct {
		name, text string
		// written and published are how many keys are read, as ParseKeys and ParseSet do; refused for an error.
		written, published int
	}{
		{"a set", setOf(jwkText(t, a.JWK()), jwkText(t, b.JWK())), 2, 2},
		{"a key alone", jwkText(t, a.JWK()), 1, 1},
		{"PEM", a.PEM(t), 1, refused},
		{"two in PEM, with words between", "# one\n" + a.PEM(t) + "\n# two\n" + b.PEM(t), 2, refused},
		{"a narrowed key", setOf(jwkText(t, narrowed)), 1, 1},
		{"a private key in the set", setOf(jwkText(t, own)), refused, 0},
		{"a private key next to a public one", setOf(jwkText(t, b.JWK()), jwkText(t, own)), refused, 1},
		{"a symmetric key", setOf(jwkText(t, secret)), refused, 0},
		{"a key for encryption", setOf(jwkText(t, encrypting)), refused, 0},
		{"a key of another algorithm", setOf(jwkText(t, odd)), refused, 0},
		{"a key that is too short", setOf(weak), refused, 0},
		{"a key of the future next to one of today", setOf(future, jwkText(t, a.JWK())), refused, 1},
		{"a private key in PEM", block("PRIVATE KEY", pkcs8), refused, refused},
		{"a certificate's label", block("CERTIFICATE", der), refused, refused},
		{"another curve", block("PUBLIC KEY", der), refused, refused},
		{"cut PEM", a.PEM(t) + strings.TrimSuffix(b.PEM(t), "-----END PUBLIC KEY-----\n"), refused, refused},
		{"an empty set", setOf(), refused, 0},
		{"too many keys", setOf(strings.Split(strings.Repeat(jwkText(t, a.JWK())+"\n", 65), "\n")[:65]...), refused, refused},
		{"no list of keys", `{"keys":null}`, refused, refused},
		{"another object", `{"status":"ok"}`, refused, refused},
		{"no JSON", "<html>", refused, refused},
		{"nothing", "", refused, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, parse := range map[string]func([]byte) (cardsign.Keys, error){"written": cardsign.ParseKeys, "published": cardsign.ParseSet} {
				want := map[string]int{"written": c.written, "published": c.published}[how]
				got, err := parse([]byte(c.text))
				if len(got) != max(want, 0) || errors.Is(err, cardsign.ErrKeys) != (want == refused) {
					t.Errorf("%s: %d keys, %v; want %d", how, len(got), err, want)
				}
				if strings.Contains(fmt.Sprint(err), "s3cr3t") {
					t.Errorf("%s: the error shows the key: %v", how, err)
				}
			}
		})
	}
}

// A key that its owner has for one algorithm does not verify another.
func TestNarrowedKeys(t *testing.T) {
	pss, pkcs := cardtest.NewSigner(t, jose.PS256, "k"), cardtest.NewSigner(t, jose.RS256, "k")
	narrowed := pss.JWK()
	narrowed.Algorithm = "PS256"
	trusted := keys(t, jwkText(t, narrowed))
	if _, err := cardsign.Verify(cardtest.With(t, plain, pss.Entry(t, plain, nil)), trusted); err != nil {
		t.Errorf("PS256: %v", err)
	}
	if _, err := cardsign.Verify(cardtest.With(t, plain, pkcs.Entry(t, plain, nil)), trusted); !errors.Is(err, cardsign.ErrInvalid) {
		t.Errorf("RS256: %v", err)
	}
}
