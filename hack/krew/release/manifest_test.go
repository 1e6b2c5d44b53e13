// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"strings"
	"testing"
)

func digest(string) (string, error) { return strings.Repeat("0a", 32), nil }

func TestManifest(t *testing.T) {
	text, err := os.ReadFile("../../../config/krew/delegation.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good, err := Render(string(text), "v1.2.3", digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Validate(good)
	if err != nil || m.Metadata.Name != "delegation" || len(m.Spec.Platforms) != 5 || strings.Contains(good, "{{") {
		t.Fatalf("%v\n%s", err, good)
	}
	for what, old := range map[string][2]string{
		"another field":      {"  homepage:", "  site:"},
		"a version":          {"version: v1.2.3", "version: 1.2.3"},
		"a platform twice":   {"arch: arm64", "arch: amd64"},
		"no digest":          {strings.Repeat("0a", 32), "0a"},
		"another binary":     {"bin: kubectl-delegation.exe", "bin: delegation"},
		"another kind":       {"kind: Plugin", "kind: Plug"},
		"a long description": {"Hand work to A2A agents", strings.Repeat("x", 51)},
	} {
		if _, err := Validate(strings.Replace(good, old[0], old[1], 1)); err == nil {
			t.Errorf("%s passes", what)
		}
	}
}
