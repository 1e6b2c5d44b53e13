// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package save

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"report.md": "report.md", "../../x": "x", "/etc/passwd": "etc-passwd", "..": "artifact", "": "artifact", "a\x00b\x1bc": "a-b-c", ".hidden": "hidden",
		"C:\\x.txt": "C--x.txt", "NUL": "artifact-NUL", "Com1.txt": "artifact-Com1.txt", "trailing. ": "trailing", "übung 日本.md": "übung 日本.md", "\u202egnp.exe": "gnp.exe",
		"-rf": "rf", "a\nb": "a-b", "x;rm -rf": "x-rm -rf", strings.Repeat("é", 300): strings.Repeat("é", 100),
	} {
		if got := Names([]v1alpha1.ArtifactStatus{{Name: in}})[0]; got != want {
			t.Errorf("%q is saved as %q, want %q", in, got, want)
		}
	}
	got := Names([]v1alpha1.ArtifactStatus{{Name: "a.md"}, {Name: "A.md"}, {Name: "a-2.md"}, {ArtifactID: "a.md"}})
	if want := []string{"a.md", "A-2.md", "a-2-2.md", "a-3.md"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever an agent calls a result, its file is one element in the directory.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"report.md", "../x", "a/b", "\x00", "con", strings.Repeat(".", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := Names([]v1alpha1.ArtifactStatus{{Name: name}})[0]
		if !filepath.IsLocal(got) || filepath.Base(got) != got || got == "." || strings.HasPrefix(got, ".") || len(got) > 255 || strings.ContainsAny(got, "/\\\x00\n\x1b") {
			t.Errorf("%q is saved as %q", name, got)
		}
	})
}
