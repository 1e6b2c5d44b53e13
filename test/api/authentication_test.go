// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

func authentication(pairs ...any) *unstructured.Unstructured {
	return remoteAgent(set(part(pairs...), "spec", "authentication"))
}

func TestAuthenticationSchema(t *testing.T) {
	const of = "spec.authentication"
	ref, name := part("name", "finance", "key", "token"), part("name", "finance")
	apiKey := func(header string) *unstructured.Unstructured {
		return authentication("apiKey", part("header", header, "secretRef", ref))
	}
	oauth2 := func(pairs ...any) *unstructured.Unstructured {
		o := part("tokenURL", "https://login.example.com/token", "clientID", "operator", "clientSecretRef", ref)
		for key, value := range part(pairs...) {
			o[key] = value
		}
		return authentication("oauth2", o)
	}
	account := func(pairs ...any) *unstructured.Unstructured {
		return authentication("serviceAccountToken", part(pairs...))
	}
	run(t, []row{
		{name: "bearer", manifest: authentication("bearer", part("secretRef", ref))},
		{name: "basic", manifest: authentication("basic", part("secretRef", name))},
		{name: "apiKey", manifest: apiKey("X-API-Key")},
		{name: "apiKey in Authorization", manifest: apiKey("Authorization")},
		{name: "oauth2", manifest: oauth2("scopes", []any{"a2a.send", "https://example.com/.default"}, "clientAuthentication", "Post")},
		{name: "serviceAccountToken", manifest: account("serviceAccountName", "robot", "audience", "https://finance.example.com", "expiration", "10m")},
		{name: "none of them", manifest: authentication(), field: of},
		{name: "two of them", manifest: authentication("bearer", part("secretRef", ref), "basic", part("secretRef", name)), field: of},
		{name: "a header with a line break", manifest: apiKey("X-API\nKey"), field: of + ".apiKey.header"},
		{name: "a header of the protocol", manifest: apiKey("a2a-Version"), field: of + ".apiKey.header"},
		{name: "the header of the message's length", manifest: apiKey("Content-Length"), field: of + ".apiKey.header"},
		{name: "the header of the host", manifest: apiKey("host"), field: of + ".apiKey.header"},
		{name: "a relative tokenURL", manifest: oauth2("tokenURL", "/token"), field: of + ".oauth2.tokenURL"},
		{name: "a tokenURL with credentials", manifest: oauth2("tokenURL", "https://a:b@login.example.com/token"), field: of + ".oauth2.tokenURL"},
		{name: "a tokenURL with a fragment", manifest: oauth2("tokenURL", "https://login.example.com/token#x"), field: of + ".oauth2.tokenURL"},
		{name: "a clientID with a line break", manifest: oauth2("clientID", "a\nb"), field: of + ".oauth2.clientID"},
		{name: "two scopes in one", manifest: oauth2("scopes", []any{"a b"}), field: of + ".oauth2.scopes[0]"},
		{name: "a scope with a backslash", manifest: oauth2("scopes", []any{`a\b`}), field: of + ".oauth2.scopes[0]"},
		{name: "another client authentication", manifest: oauth2("clientAuthentication", "JWT"), field: of + ".oauth2.clientAuthentication"},
		{name: "no audience", manifest: account("serviceAccountName", "robot", "audience", ""), field: of + ".serviceAccountToken.audience"},
		{name: "a ServiceAccount of another namespace", manifest: account("serviceAccountName", "hr/robot", "audience", "a"), field: of + ".serviceAccountToken.serviceAccountName"},
		{name: "an expiration too short", manifest: account("serviceAccountName", "robot", "audience", "a", "expiration", "9m"), field: of + ".serviceAccountToken.expiration"},
	})
}

func TestTLSSchema(t *testing.T) {
	ref := part("name", "ca", "key", "ca.crt")
	with := func(pairs ...any) change { return set(part(pairs...), "spec", "tls") }
	byHand := func(url string) change {
		return set([]any{part("url", url)}, "spec", "interfaces")
	}
	run(t, []row{
		{name: "all of it", manifest: remoteAgent(with("caSecretRef", ref, "clientCertSecretRef", part("name", "own"), "serverName", "finance.example.com"))},
		{name: "authorities in a ConfigMap", manifest: remoteAgent(with("caConfigMapRef", ref))},
		{name: "interfaces by hand", manifest: remoteAgent(unset("spec", "cardURL"), byHand("https://finance.example.com/a2a"), with("caSecretRef", ref))},
		{name: "empty", manifest: remoteAgent(with()), field: "spec.tls"},
		{name: "two sources of authorities", manifest: remoteAgent(with("caSecretRef", ref, "caConfigMapRef", ref)), field: "spec.tls"},
		{name: "a serverName with a port", manifest: remoteAgent(with("serverName", "finance.example.com:443")), field: "spec.tls.serverName"},
		{name: "an http cardURL", manifest: remoteAgent(set("http://finance.example.com", "spec", "cardURL"), with("caSecretRef", ref)), field: "spec"},
		{name: "an http interface", manifest: remoteAgent(byHand("http://finance.example.com/a2a"), with("caSecretRef", ref)), field: "spec"},
	})
}

// The message of a rule names the fields and what to do.
func TestAuthenticationRemedy(t *testing.T) {
	s := cluster.Space(t)
	cause := requireRefused(t, try(t, s, authentication()), "spec.authentication")
	for _, word := range []string{"exactly one", "bearer", "basic", "apiKey", "oauth2", "serviceAccountToken", "remove"} {
		if !strings.Contains(cause.Message, word) {
			t.Errorf("%q does not say %s", cause.Message, word)
		}
	}
}

// The samples of authentication are accepted, with no field that the schema does not know.
func TestAuthenticationSamples(t *testing.T) {
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "samples", "auth", "*.yaml"))
	if err != nil || len(files) != 7 {
		t.Fatalf("%d samples, error %v; want one for each of the 6 kinds, and one of a verified card", len(files), err)
	}
	s := cluster.Space(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range strings.Split(string(text), "\n---\n") {
				u := &unstructured.Unstructured{}
				if err := utilyaml.Unmarshal([]byte(doc), &u.Object); err != nil {
					t.Fatal(err)
				}
				if err := try(t, s, u); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
