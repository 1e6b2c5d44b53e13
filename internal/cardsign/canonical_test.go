// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"errors"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
)

// What a signer removed before signing, and the card as it is served.
func TestCanonicalForms(t *testing.T) {
	s := cardtest.NewSigner(t, jose.ES256, "k1")
	trusted := keys(t, cardtest.Set(t, s))
	// The example of A2A 1.0, section 8.4.1, and its canonical form there.
	const example = `{"name": "Example Agent", "description": "", "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []}, "skills": []}`
	const example841 = `{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}`
	const served = `{"name":"a","documentationUrl":"","provider":{},"capabilities":{"streaming":false,"extensions":[{"uri":"u","required":false,"description":"",` +
		`"params":{"a":"","b":[],"c":null,"d":0,"e":[1,"",{}]}}]},"supportedInterfaces":[{"url":"https://a","tenant":""}],"securitySchemes":` +
		`{"m":{"mtlsSecurityScheme":{"description":""}}},"skills":[],"unknown":{"x":""}}`
	for _, c := range []struct{ name, card, payload string }{
		{"the specification's example", example, example841},
		{"the example as the SDKs sign it", example, `{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}`},
		{"as it is", served, served},
		{"by the specification", served, `{"name":"a","documentationUrl":"","provider":{},"capabilities":{"streaming":false,"extensions":[{"uri":"u",` +
			`"params":{"a":"","b":[],"c":null,"d":0,"e":[1,"",{}]}}]},"supportedInterfaces":[{"url":"https://a"}],"securitySchemes":` +
			`{"m":{"mtlsSecurityScheme":{}}},"skills":[],"unknown":{"x":""}}`},
		{"as the SDKs sign it", served, `{"name":"a","capabilities":{"streaming":false,"extensions":[{"uri":"u","params":{"d":0,"e":[1]}}]},` +
			`"supportedInterfaces":[{"url":"https://a"}]}`},
		{"in another order, with numbers and characters in other spellings",
			`{"skills":[],"x":{"\ud83d\ude00":1.0e2,"\ufb33":"\u00e9\/"},"name":"a"}`, "{\"name\":\"a\",\"skills\":[],\"x\":{\"\U0001f600\":100,\"\ufb33\":\"é/\"}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entry := s.Entry(t, c.payload, nil)
			got, err := cardsign.Verify(cardtest.With(t, c.card, entry), trusted)
			if err != nil {
				t.Fatal(err)
			}
			// What comes of it is what was signed: the signature is of it as it stands.
			if again, err := cardsign.Verify(cardtest.With(t, string(got.Payload), entry), trusted); err != nil || string(again.Payload) != string(got.Payload) {
				t.Errorf("%s\n%s\n%v", got.Payload, again.Payload, err)
			}
		})
	}
}

// A default that no rule removes can't be taken away.
func TestDefaultsThatCount(t *testing.T) {
	s := cardtest.NewSigner(t, jose.ES256, "k1")
	trusted := keys(t, cardtest.Set(t, s))
	const signed = `{"name":"a","description":"","capabilities":{"streaming":false},"skills":[]}`
	for _, served := range []string{
		`{"name":"a","capabilities":{"streaming":false},"skills":[]}`, `{"name":"a","description":"","capabilities":{},"skills":[]}`,
		`{"name":"a","description":"","capabilities":{"streaming":true},"skills":[]}`, `{"name":"a","description":"","capabilities":{"streaming":false}}`,
	} {
		if _, err := cardsign.Verify(cardtest.With(t, served, s.Entry(t, signed, nil)), trusted); !errors.Is(err, cardsign.ErrInvalid) {
			t.Errorf("%s: %v", served, err)
		}
	}
}
