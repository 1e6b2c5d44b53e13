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
)

// Each algorithm verifies by a JWK set and by PEM, and what comes of it is the card without its signatures.
func TestAlgorithms(t *testing.T) {
	want, err := jcs.Transform([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.PS256, jose.EdDSA} {
		t.Run(string(algorithm), func(t *testing.T) {
			s := newSigner(t, algorithm, "k1")
			document := with(t, plain, s.entry(t, plain, nil))
			for _, text := range []string{set(t, s), s.pem(t)} {
				trusted := keys(t, text)
				got, err := cardsign.Verify(document, trusted)
				if err != nil || string(got.Payload) != string(want) || got.Algorithm != string(algorithm) || !trusted.Has(got.Thumbprint) {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
}

// No member of a card, at any depth, can be changed or taken away.
func TestTampering(t *testing.T) {
	s := newSigner(t, jose.ES256, "k1")
	entry, trusted := s.entry(t, plain, nil), keys(t, set(t, s))
	tried := 0
	for name, changed := range tampered(t, plain) {
		tried++
		if _, err := cardsign.Verify(with(t, changed, entry), trusted); !errors.Is(err, cardsign.ErrInvalid) {
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
	s := newSigner(t, jose.ES256, "k1")
	entry, trusted := s.entry(t, plain, nil), keys(t, set(t, s))
	for _, added := range []string{
		`"url":"https://evil.example.com"`, `"additionalInterfaces":[{"url":"https://evil.example.com","transport":"JSONRPC"}]`,
		`"supported_interfaces":[{"url":"https://evil.example.com"}]`, `"iconUrl":null`, `"provider":{}`, `"Name":"evil"`, `"securitySchemes":{}`,
	} {
		got, err := cardsign.Verify(with(t, strings.TrimSuffix(plain, "}")+","+added+"}", entry), trusted)
		if err != nil || string(got.Payload) != string(want) {
			t.Errorf("%s: %s, %v", added, got.Payload, err)
		}
	}
}

func TestRefusedCards(t *testing.T) {
	good, other := newSigner(t, jose.ES256, "k1"), newSigner(t, jose.ES256, "k1")
	renewed, edwards := newSigner(t, jose.ES256, "k2"), newSigner(t, jose.EdDSA, "k1")
	trusted := keys(t, set(t, good))
	entry := good.entry(t, plain, nil)
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
		{"no signature in the list", with(t, plain), cardsign.ErrUnsigned},
		{"null for a list", []byte(strings.TrimSuffix(plain, "}") + `,"signatures":null}`), cardsign.ErrUnsigned},
		{"no list", []byte(strings.TrimSuffix(plain, "}") + `,"signatures":"x"}`), cardsign.ErrInvalid},
		{"another key under the same kid", with(t, plain, other.entry(t, plain, nil)), cardsign.ErrInvalid},
		{"a key that is not there", with(t, plain, renewed.entry(t, plain, nil)), cardsign.ErrKeyUnknown},
		{"another algorithm under the same kid", with(t, plain, edwards.entry(t, plain, nil)), cardsign.ErrInvalid},
		{"of another card", with(t, plain, good.entry(t, `{"name":"hr"}`, nil)), cardsign.ErrInvalid},
		{"no signature value", with(t, plain, changed(func(e map[string]any) { delete(e, "signature") })), cardsign.ErrInvalid},
		{"an empty signature value", with(t, plain, changed(func(e map[string]any) { e["signature"] = "" })), cardsign.ErrInvalid},
		{"no header", with(t, plain, changed(func(e map[string]any) { delete(e, "protected") })), cardsign.ErrInvalid},
		{"the header where nothing protects it", with(t, plain, changed(func(e map[string]any) {
			e["header"] = map[string]any{"alg": "ES256", "kid": "k1"}
			e["protected"] = ""
		})), cardsign.ErrInvalid},
		{"a header that is no base64url", with(t, plain, changed(func(e map[string]any) { e["protected"] = protected + "=" })), cardsign.ErrInvalid},
		{"a payload of its own", with(t, plain, changed(func(e map[string]any) { e["protected"] = protected + ".e30" })), cardsign.ErrInvalid},
		{"alg none", with(t, plain, forged(t, plain, `{"alg":"none","kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"alg None", with(t, plain, forged(t, plain, `{"alg":"None","kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"no alg", with(t, plain, forged(t, plain, `{"kid":"k1"}`, nothing)), cardsign.ErrInvalid},
		{"HS256 with the public key as the secret", with(t, plain, forged(t, plain, `{"alg":"HS256","kid":"k1"}`, hmacOf(good.pem(t)))), cardsign.ErrInvalid},
		{"HS256 with the key set as the secret", with(t, plain, forged(t, plain, `{"alg":"HS256","kid":"k1"}`, hmacOf(set(t, good)))), cardsign.ErrInvalid},
		{"alg twice", with(t, plain, forged(t, plain, `{"alg":"none","kid":"k1","alg":"ES256"}`, nothing)), cardsign.ErrInvalid},
		{"crit of an extension", with(t, plain, good.entry(t, plain, map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1})), cardsign.ErrInvalid},
		{"crit of b64", with(t, plain, good.entry(t, plain, map[jose.HeaderKey]any{"crit": []string{"b64"}, "b64": true})), cardsign.ErrInvalid},
		{"an empty crit", with(t, plain, good.entry(t, plain, map[jose.HeaderKey]any{"crit": []string{}})), cardsign.ErrInvalid},
		{"more signatures than are looked at", with(t, plain, slices.Repeat([]map[string]any{entry}, 9)...), cardsign.ErrInvalid},
		{"a member twice", append([]byte(`{"name":"evil",`), with(t, plain, entry)[1:]...), cardsign.ErrMalformed},
		{"a member twice, deep", []byte(strings.Replace(string(with(t, plain, entry)), `"streaming":true`, `"streaming":true,"streaming":true`, 1)), cardsign.ErrMalformed},
		{"signatures twice", []byte(strings.Replace(string(with(t, plain, entry)), `{"name"`, `{"signatures":[],"name"`, 1)), cardsign.ErrMalformed},
		{"a member twice by an escape", append([]byte(`{"n\u0061me":"evil",`), with(t, plain, entry)[1:]...), cardsign.ErrMalformed},
		{"bytes that are no UTF-8", []byte(strings.Replace(string(with(t, plain, entry)), "finance", "fin\xff", 1)), cardsign.ErrMalformed},
		{"a second document", append(with(t, plain, entry), []byte(plain)...), cardsign.ErrMalformed},
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
	old, renewed, stranger := newSigner(t, jose.ES256, "k1"), newSigner(t, jose.RS256, "k2"), newSigner(t, jose.EdDSA, "k3")
	document := with(t, plain, map[string]any{"protected": "!"}, stranger.entry(t, plain, nil), old.entry(t, `{"name":"hr"}`, nil), renewed.entry(t, plain, nil))
	for _, c := range []struct {
		name, keys string
		want       error
	}{
		{"the one that is good", set(t, renewed), nil},
		{"a good one behind a bad one", set(t, old, renewed), nil},
		{"the bad one only", set(t, old), cardsign.ErrInvalid},
	} {
		got, err := cardsign.Verify(document, keys(t, c.keys))
		if !errors.Is(err, c.want) || err == nil && got.KeyID != "k2" {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	_, err := cardsign.Verify(with(t, plain, stranger.entry(t, plain, nil), renewed.entry(t, plain, nil)), keys(t, set(t, old)))
	var unknown *cardsign.UnknownKeyError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.IDs, []string{"k3", "k2"}) {
		t.Errorf("%v", err)
	}
}

// Keys come from who verifies, whatever the header says about where they are.
func TestKeysOfTheHeaderAreNotUsed(t *testing.T) {
	good, evil := newSigner(t, jose.ES256, "k1"), newSigner(t, jose.ES256, "evil")
	trusted := keys(t, set(t, good))
	for name, header := range map[string]map[jose.HeaderKey]any{
		"jku": {"jku": "https://evil.example.com/jwks.json"}, "jwk": {"jwk": evil.jwk()}, "x5u": {"x5u": "https://evil.example.com/chain.pem"},
	} {
		if _, err := cardsign.Verify(with(t, plain, evil.entry(t, plain, header)), trusted); !errors.Is(err, cardsign.ErrKeyUnknown) {
			t.Errorf("%s of another: %v", name, err)
		}
		if _, err := cardsign.Verify(with(t, plain, good.entry(t, plain, header)), trusted); err != nil {
			t.Errorf("%s next to a good key: %v", name, err)
		}
	}
	under := evil
	under.id = "k1"
	if _, err := cardsign.Verify(with(t, plain, under.entry(t, plain, map[jose.HeaderKey]any{"jwk": evil.jwk()})), trusted); !errors.Is(err, cardsign.ErrInvalid) {
		t.Errorf("jwk under the kid of a good key: %v", err)
	}
}

// A signature without a kid may be of any of the keys.
func TestNoKeyID(t *testing.T) {
	first, second := newSigner(t, jose.ES256, "k1"), newSigner(t, jose.ES256, "k2")
	nameless := second
	nameless.id = ""
	got, err := cardsign.Verify(with(t, plain, nameless.entry(t, plain, nil)), keys(t, set(t, first, second)))
	if err != nil || got.KeyID != "k2" {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzVerify requires that nothing verifies but what was signed, and that nothing panics.
func FuzzVerify(f *testing.F) {
	s := newSigner(f, jose.ES256, "k1")
	trusted := keys(f, set(f, s))
	signed, err := jcs.Transform([]byte(plain))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(with(f, plain, s.entry(f, plain, nil)))
	f.Add([]byte(plain))
	f.Add([]byte(`{"signatures":[{"protected":"eyJhbGciOiJub25lIn0","signature":"AA"}]}`))
	f.Add([]byte(`{"signatures":[null,7,{"protected":7}],"skills":[null,{"tags":null}],"capabilities":7}`))
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
