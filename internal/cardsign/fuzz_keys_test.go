// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
)

// FuzzKeys requires of published keys and of those that somebody wrote down: keys or ErrKeys, no more than 64, each with a
// name of its own, and no part of the text in an error.
func FuzzKeys(f *testing.F) {
	s := cardtest.NewSigner(f, jose.ES256, "k1")
	f.Add([]byte(cardtest.Set(f, s)))
	f.Add([]byte(cardtest.Set(f, s, cardtest.NewSigner(f, jose.EdDSA, ""))))
	for _, text := range []string{
		``, `null`, `{"keys":[null,7,{}]}`, `{"keys":[{"kty":"oct","k":"czNjcjN0"}]}`, `{"kty":"EC","crv":"P-256","x":"s3cr3t","y":"AA"}`,
		`{"kty":"RSA","n":"AQAB","e":"AQAB"}`, `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"s3cr3t"}`,
		"-----BEGIN PUBLIC KEY-----\ns3cr3t\n-----END PUBLIC KEY-----\n", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
		`{"keys":[` + strings.Repeat(`{},`, 64) + `{}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, parse := range map[string]func([]byte) (cardsign.Keys, error){"written": cardsign.ParseKeys, "published": cardsign.ParseSet} {
			got, err := parse(text)
			switch {
			case err != nil:
				if !errors.Is(err, cardsign.ErrKeys) || got != nil || strings.Contains(err.Error(), "s3cr3t") || len(err.Error()) > 256 {
					t.Errorf("%s: %v, %v", name, got, err)
				}
			case len(got) == 0 && name == "written" || len(got) > 64:
				t.Errorf("%s: %d keys", name, len(got))
			default:
				for _, sum := range got.Thumbprints() {
					if len(sum) != 43 {
						t.Errorf("%s: thumbprint %q", name, sum)
					}
				}
			}
		}
	})
}
