// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestVerificationSchema(t *testing.T) {
	const of = "spec.verification"
	ref := part("name", "finance-keys", "key", "jwks.json")
	with := func(pairs ...any) *unstructured.Unstructured {
		return remoteAgent(set(part(pairs...), "spec", "verification"))
	}
	published := func(url string) *unstructured.Unstructured { return with("jwksURL", url) }
	interfaces := set([]any{part("url", "https://finance.example.com/a2a")}, "spec", "interfaces")
	verification := set(part("secretRef", ref), "spec", "verification")
	run(t, []row{
		{name: "keys in a Secret", manifest: with("secretRef", ref)},
		{name: "published keys", manifest: published("https://finance.example.com/.well-known/jwks.json")},
		{name: "a card by http", manifest: remoteAgent(verification, set("http://finance.example.com", "spec", "cardURL"))},
		{name: "empty", manifest: with(), field: of},
		{name: "both", manifest: with("secretRef", ref, "jwksURL", "https://finance.example.com/jwks.json"), field: of},
		{name: "no key of the Secret", manifest: with("secretRef", part("name", "finance-keys")), field: of + ".secretRef.key"},
		{name: "keys by http", manifest: published("http://finance.example.com/jwks.json"), field: of + ".jwksURL"},
		{name: "a relative jwksURL", manifest: published("/jwks.json"), field: of + ".jwksURL"},
		{name: "a jwksURL with credentials", manifest: published("https://a:b@finance.example.com/jwks.json"), field: of + ".jwksURL"},
		{name: "a jwksURL that is too long", manifest: published("https://finance.example.com/" + strings.Repeat("a", 2048)), field: of + ".jwksURL"},
		{name: "interfaces by hand next to the card", manifest: remoteAgent(verification, interfaces), field: "spec"},
		{name: "interfaces by hand", manifest: remoteAgent(verification, interfaces, unset("spec", "cardURL")), field: "spec"},
	})
}

// The messages of the rules name the fields and what to do.
func TestVerificationRemedy(t *testing.T) {
	s := cluster.Space(t)
	interfaces := set([]any{part("url", "https://finance.example.com/a2a")}, "spec", "interfaces")
	verification := set(part("jwksURL", "https://finance.example.com/jwks.json"), "spec", "verification")
	for _, c := range []struct {
		manifest *unstructured.Unstructured
		field    string
		words    []string
	}{
		{remoteAgent(set(part(), "spec", "verification")), "spec.verification", []string{"exactly one", "secretRef", "jwksURL"}},
		{remoteAgent(verification, interfaces), "spec", []string{"remove interfaces", "remove verification", "cardURL"}},
	} {
		cause := requireRefused(t, try(t, s, c.manifest), c.field)
		for _, word := range c.words {
			if !strings.Contains(cause.Message, word) {
				t.Errorf("%q does not say %s", cause.Message, word)
			}
		}
	}
}
