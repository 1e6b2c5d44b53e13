// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// The keys of cards come from the RemoteAgent's own namespace, and what is wrong about them is told like that of credentials.
func TestPublicKeys(t *testing.T) {
	s := cardtest.NewSigner(t, jose.ES256, "k1")
	ra := bearer()
	ra.Spec.Authentication = nil
	ra.Spec.Verification = &v1alpha1.Verification{SecretRef: &v1alpha1.KeyReference{Name: "finance-token", Key: "token"}}
	if refs := credential.References(ra); len(refs) != 1 || refs[0].Name != "finance-token" || refs[0].Kind != credential.KindSecret {
		t.Errorf("references %+v", refs)
	}
	for _, c := range []struct {
		name, namespace, key, value string
		want                        error
		reason                      string
	}{
		{"a JWK set", "books", "token", cardtest.Set(t, s), nil, ""},
		{"PEM", "books", "token", s.PEM(t), nil, ""},
		{"no keys", "books", "token", "s3cr3t", cardsign.ErrKeys, "SecretInvalid"},
		{"another key of the Secret", "books", "Token", s.PEM(t), credential.ErrKeyNotFound, "SecretInvalid"},
		{"another namespace", "hr", "token", s.PEM(t), credential.ErrNotFound, "SecretNotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := keeper(secret(c.namespace, "finance-token", map[string]string{c.key: c.value}))
			keys, err := k.PublicKeys(t.Context(), ra)
			if !errors.Is(err, c.want) || (len(keys) == 1) != (c.want == nil) {
				t.Fatalf("%v, %v", keys, err)
			}
			if err == nil {
				return
			}
			p := credential.Explain(ra, err)
			if p == nil || p.Reason != c.reason || !credential.Watched(err) || strings.Contains(p.Message, "s3cr3t") {
				t.Errorf("explained %+v", p)
			}
		})
	}
}
