// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

const jsonType, yamlType = "application/json", "application/apply-patch+yaml"

// manifest is a Delegation with these parts, in JSON; every JSON is YAML too.
func manifest(name, parts string) string {
	return fmt.Sprintf(`{"apiVersion":"a2a.delegation.dev/v1alpha1","kind":"Delegation","metadata":{"name":%q},`+
		`"spec":{"agentRef":{"name":"finance"},"message":{"parts":[%s]}}}`, name, parts)
}

// bomb is a Delegation in YAML whose parts are aliases of aliases: 10^9 parts in 1 KiB.
func bomb(name string) string {
	var out strings.Builder
	out.WriteString("apiVersion: a2a.delegation.dev/v1alpha1\nkind: Delegation\nmetadata: {name: " + name + "}\n")
	out.WriteString("a0: &a0 {text: a}\n")
	for i := 1; i <= 9; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i, i, strings.Join(strings.Split(strings.Repeat(alias+" ", 10)[:len(alias)*10+9], " "), ", "))
	}
	out.WriteString("spec: {agentRef: {name: finance}, message: {parts: *a9}}\n")
	return out.String()
}

// A manifest of any size or depth is refused, soon and in a short answer: by the API server's limit of a request, by its limit of
// aliases, or by the schema's of parts. Nothing of it comes to the manager.
func TestHugeManifests(t *testing.T) {
	s := cluster.Space(t)
	httpClient, err := rest.HTTPClientFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(admin.Host, "/") + "/apis/a2a.delegation.dev/v1alpha1/namespaces/" + s.Namespace + "/delegations"
	million := strings.TrimSuffix(strings.Repeat(`{"text":"a"},`, 1_000_000), ",")
	nested := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for _, c := range []struct {
		name, method, path, mediaType, body string
		status                              int
	}{
		{"a million parts", http.MethodPost, "", jsonType, manifest("million", million), 413},
		{"a million parts, applied", http.MethodPatch, "/million?fieldManager=test", yamlType, manifest("million", million), 413},
		{"as many parts as a request has room for, by the order of magnitude", http.MethodPost, "", jsonType, manifest("many", million[:100_000*len(`{"text":"a"},`)-1]), 422},
		{"one part too many", http.MethodPost, "", jsonType, manifest("one", million[:65*len(`{"text":"a"},`)-1]), 422},
		{"data that is very deep", http.MethodPost, "", jsonType, manifest("deep", `{"data":`+nested+`}`), 400},
		{"aliases of aliases", http.MethodPatch, "/bomb?fieldManager=test", yamlType, bomb("bomb"), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", c.mediaType)
			httpClient.Timeout = harness.Patience
			resp, err := httpClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status || len(text) > 1<<20 {
				t.Errorf("status %d with %d bytes: %.300s", resp.StatusCode, len(text), text)
			}
		})
	}
}
