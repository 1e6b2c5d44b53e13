// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
)

// Each algorithm verifies by a JWK set and by PEM, and what comes of it is the card without its signatures.
func TestAlgorithms(t *testing.T) {
	want, err := jcs.Transform([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.PS256, jose.EdDSA} {
		t.Run(string(algorithm), func(t *testing.T) {
			s := cardtest.NewSigner(t, algorithm, "k1")
			document := cardtest.With(t, plain, s.Entry(t, plain, nil))
			for _, text := range []string{cardtest.Set(t, s), s.PEM(t)} {
				trusted := keys(t, text)
				got, err := cardsign.Verify(document, trusted)
				if err != nil || string(got.Payload) != string(want) || got.Algorithm != string(algorithm) || !slices.Contains(trusted.Thumbprints(), got.Thumbprint) {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
}

// No member of a card, at any depth, can be changed or taken away.
func TestTampering(t *testing.T) {
	s := cardtest.NewSigner(t, jose.ES256, "k1")
	entry, trusted := s.Entry(t, plain, nil), keys(t, cardtest.Set(t, s))
	tried := 0
	for name, changed := range tampered(t, plain) {
		tried++
		if _, err := cardsign.Verify(cardtest.With(t, changed, entry), trusted); !errors.Is(err, cardsign.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tried < 40 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// tampered returns the cards that differ from one in a single place.
func tampered(t *testing.T, card string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var whole any
	if err := json.Unmarshal([]byte(card), &whole); err != nil {
		t.Fatal(err)
	}
	keep := func(what string) {
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		out[what] = string(text)
	}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				old, at := v[name], path+"."+name
				v[name] = "evil"
				keep(at + " changed")
				delete(v, name)
				keep(at + " taken away")
				v[name] = old
				walk(at, old)
			}
			if strings.HasSuffix(path, ".params") {
				v["added"] = "evil"
				keep(path + " added to")
				delete(v, "added")
			}
		case []any:
			for i, one := range v {
				v[i] = "evil"
				keep(fmt.Sprintf("%s[%d] changed", path, i))
				v[i] = one
				walk(fmt.Sprintf("%s[%d]", path, i), one)
			}
		}
	}
	walk("card", whole)
	return out
}

// What is added to a card that its signature does not cover is not part of what comes of it.
func TestAdditionsAreNotUsed(t *testing.T) {
	want, err := jcs.Transform([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	s := cardtest.NewSigner(t, jose.ES256, "k1")
	entry, trusted := s.Entry(t, plain, nil), keys(t, cardtest.Set(t, s))
	for _, added := range []string{
		`"url":"https://evil.example.com"`, `"additionalInterfaces":[{"url":"https://evil.example.com","transport":"JSONRPC"}]`,
		`"supported_interfaces":[{"url":"https://evil.example.com"}]`, `"iconUrl":null`, `"provider":{}`, `"Name":"evil"`, `"securitySchemes":{}`,
	} {
		got, err := cardsign.Verify(cardtest.With(t, strings.TrimSuffix(plain, "}")+","+added+"}", entry), trusted)
		if err != nil || string(got.Payload) != string(want) {
			t.Errorf("%s: %s, %v", added, got.Payload, err)
		}
	}
}

func TestRefusedCards(t *testing.T) {
	good, other := cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k1")
	renewed, edwards := cardtest.NewSigner(t, jose.ES256, "k2"), cardtest.NewSigner(t, jose.EdDSA, "k1")
	trusted := keys(t, cardtest.Set(t, good))
	entry := good.Entry(t, plain, nil)
	changed := func(change func(map[string]any)) map[string]any {
		e := maps.Clone(entry)
		change(e)
		return e
	}
	hmacOf := func(secret string) func(string) []byte {
		return func(input string) []byte {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(input))
			return mac.Sum(nil)
		}
	}
	nothing := func(string) []byte { return []byte{0} }
	protected := entry["protected"].(string)
	for _, c := range []struct {
		name     string
		document []byte
		want     error
	}{
		{"unsigned", []byte(plain), cardsign.ErrUnsigned},
		{"no signature in the list", cardtest.With(t, plain), cardsign.ErrUnsigned},
		{"null for a list", []byte(strings.TrimSuffix(plain, "}") + `,"signatures":null}`), cardsign.ErrUnsigned},
		{"no list", []byte(strings.TrimSuffix(plain, "}") + `,"signatures":"x"}`), cardsign.ErrInvalid},
		{"another key under the same kid", cardtest.With(t, plain, other.Entry(t, plain, nil)), cardsign.ErrInvalid},
		{"a key that is not there", cardtest.With(t, plain, renewed.Entry(t, plain, nil)), cardsign.ErrKeyUnknown},
		{"another algorithm under the same kid", cardtest.With(t, plain, edwards.Entry(t, plain, nil)), cardsign.ErrInvalid},
		{"of another card", cardtest.With(t, plain, good.Entry(t, `{"name":"hr"}`, nil)), cardsign.ErrInvalid},
		{"no signature value", cardtest.With(t, plain, changed(func(e map[string]any) { delete(e, "signature") })), cardsign.ErrInvalid},
		{"an empty signature value", cardtest.With(t, plain, changed(func(e map[string]any) { e["signature"] = "" })), cardsign.ErrInvalid},
		{"no header", cardtest.With(t, plain, changed(func(e map[string]any) { delete(e, "protected") })), cardsign.ErrInvalid},
		{"the header where nothing protects it", cardtest.With(t, plain, changed(func(e map[string]any) {
			e["header"] = map[string]any{"alg": "ES256", "kid": "k1"}
			e["protected"] = ""
		})), cardsign.ErrInvalid},
		{"a header that is no base64url", cardtest.With(t, plain, changed(func(e map[string]any) { e["protected"] = protected + "=" })), cardsign.ErrInvalid},
		{"a payload of its own", cardtest.With(t, plain, changed(func(e map[string]any) { e["protected"] = protected + ".e30" })), cardsign.ErrInvalid},
		{"alg none", cardtest.With(t, plain, forged(t, plain, `{"alg":"none","kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"alg None", cardtest.With(t, plain, forged(t, plain, `{"alg":"None","kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"no alg", cardtest.With(t, plain, forged(t, plain, `{"kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"HS256 with the public key as the secret", cardtest.With(t, plain, forged(t, plain, `{"alg":"HS256","kid":"k1"}`, hmacOf(good.PEM(t)))), cardsign.ErrInvalid},
		{"HS256 with the key set as the secret", cardtest.With(t, plain, forged(t, plain, `{"alg":"HS256","kid":"k1"}`, hmacOf(cardtest.Set(t, good)))), cardsign.ErrInvalid},
		{"alg twice", cardtest.With(t, plain, forged(t, plain, `{"alg":"none","kid":"k1","alg":"ES256"}`, nothing)), cardsign.ErrInvalid},
		{"crit of an extension", cardtest.With(t, plain, good.Entry(t, plain, map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1})), cardsign.ErrInvalid},
		{"crit of b64", cardtest.With(t, plain, good.Entry(t, plain, map[jose.HeaderKey]any{"crit": []string{"b64"}, "b64": true})), cardsign.ErrInvalid},
		{"b64 without crit", cardtest.With(t, plain, good.Entry(t, plain, map[jose.HeaderKey]any{"b64": true})), cardsign.ErrInvalid},
		{"an empty crit", cardtest.With(t, plain, good.Entry(t, plain, map[jose.HeaderKey]any{"crit": []string{}})), cardsign.ErrInvalid},
		{"more signatures than are looked at", cardtest.With(t, plain, slices.Repeat([]map[string]any{entry}, 9)...), cardsign.ErrInvalid},
		{"a member twice", append([]byte(`{"name":"evil",`), cardtest.With(t, plain, entry)[1:]...), cardsign.ErrMalformed},
		{"a member twice, deep", []byte(strings.Replace(string(cardtest.With(t, plain, entry)), `"streaming":true`, `"streaming":true,"streaming":true`, 1)), cardsign.ErrMalformed},
		{"signatures twice", []byte(strings.Replace(string(cardtest.With(t, plain, entry)), `{"name"`, `{"signatures":[],"name"`, 1)), cardsign.ErrMalformed},
		{"a member twice by an escape", append([]byte(`{"n\u0061me":"evil",`), cardtest.With(t, plain, entry)[1:]...), cardsign.ErrMalformed},
		{"bytes that are no UTF-8", []byte(strings.Replace(string(cardtest.With(t, plain, entry)), "finance", "fin\xff", 1)), cardsign.ErrMalformed},
		{"a second document", append(cardtest.With(t, plain, entry), []byte(plain)...), cardsign.ErrMalformed},
		{"a list", []byte(`[]`), cardsign.ErrMalformed},
		{"null", []byte(`null`), cardsign.ErrMalformed},
		{"nothing", nil, cardsign.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cardsign.Verify(c.document, trusted)
			if !errors.Is(err, c.want) || got.Payload != nil {
				t.Errorf("%s, %v; want %v", got.Payload, err, c.want)
			}
		})
	}
}

func TestSeveralSignatures(t *testing.T) {
	old, renewed, stranger := cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.RS256, "k2"), cardtest.NewSigner(t, jose.EdDSA, "k3")
	document := cardtest.With(t, plain, map[string]any{"protected": "!"}, stranger.Entry(t, plain, nil), old.Entry(t, `{"name":"hr"}`, nil), renewed.Entry(t, plain, nil))
	for _, c := range []struct {
		name, keys string
		want       error
	}{
		{"the one that is good", cardtest.Set(t, renewed), nil},
		{"a good one behind a bad one", cardtest.Set(t, old, renewed), nil},
		{"the bad one only", cardtest.Set(t, old), cardsign.ErrInvalid},
	} {
		got, err := cardsign.Verify(document, keys(t, c.keys))
		if !errors.Is(err, c.want) || err == nil && got.KeyID != "k2" {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	_, err := cardsign.Verify(cardtest.With(t, plain, stranger.Entry(t, plain, nil), renewed.Entry(t, plain, nil)), keys(t, cardtest.Set(t, old)))
	var unknown *cardsign.UnknownKeyError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.IDs, []string{"k3", "k2"}) {
		t.Errorf("%v", err)
	}
}

// Keys come from who verifies, whatever the header says about where they are.
func TestKeysOfTheHeaderAreNotUsed(t *testing.T) {
	good, evil := cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "evil")
	trusted := keys(t, cardtest.Set(t, good))
	for name, header := range map[string]map[jose.HeaderKey]any{
		"jku": {"jku": "https://evil.example.com/jwks.json"}, "jwk": {"jwk": evil.JWK()}, "x5u": {"x5u": "https://evil.example.com/chain.pem"},
	} {
		if _, err := cardsign.Verify(cardtest.With(t, plain, evil.Entry(t, plain, header)), trusted); !errors.Is(err, cardsign.ErrKeyUnknown) {
			t.Errorf("%s of another: %v", name, err)
		}
		if _, err := cardsign.Verify(cardtest.With(t, plain, good.Entry(t, plain, header)), trusted); err != nil {
			t.Errorf("%s next to a good key: %v", name, err)
		}
	}
	under := evil
	under.ID = "k1"
	if _, err := cardsign.Verify(cardtest.With(t, plain, under.Entry(t, plain, map[jose.HeaderKey]any{"jwk": evil.JWK()})), trusted); !errors.Is(err, cardsign.ErrInvalid) {
		t.Errorf("jwk under the kid of a good key: %v", err)
	}
}

// A signature without a kid may be of any of the keys.
func TestNoKeyID(t *testing.T) {
	first, second := cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k2")
	nameless := second
	nameless.ID = ""
	got, err := cardsign.Verify(cardtest.With(t, plain, nameless.Entry(t, plain, nil)), keys(t, cardtest.Set(t, first, second)))
	if err != nil || got.KeyID != "k2" {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzVerify requires that nothing verifies but what was signed, and that nothing panics.
func FuzzVerify(f *testing.F) {
	s := cardtest.NewSigner(f, jose.ES256, "k1")
	trusted := keys(f, cardtest.Set(f, s))
	signed, err := jcs.Transform([]byte(plain))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cardtest.With(f, plain, s.Entry(f, plain, nil)))
	f.Add([]byte(plain))
	f.Add([]byte(`{"signatures":[{"protected":"eyJhbGciOiJub25lIn0","signature":"AA"}]}`))
	f.Add([]byte(`{"signatures":[null,7,{"protected":7}],"skills":[null,{"tags":null}],"capabilities":7}`))
	f.Add([]byte(`{"signatures":` + strings.Repeat(`[{"":`, 1<<16)))
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := cardsign.Verify(document, trusted)
		if err == nil && string(got.Payload) != string(signed) {
			t.Errorf("%s was not signed", got.Payload)
		}
		if err != nil && got.Payload != nil {
			t.Errorf("a payload with the error %v", err)
		}
	})
}
