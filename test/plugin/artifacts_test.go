// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func digest(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

// Results are put together and checked, and stay in the directory whatever the agent calls them.
func TestSave(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	text := func(id, name, content string) v1alpha1.ArtifactStatus {
		return v1alpha1.ArtifactStatus{ArtifactID: id, Name: name, Text: content, Size: int64(len(content)), Digest: digest(content)}
	}
	first := s.ConfigMap("x-artifacts", map[string]string{"a.chunk-1": "one,", "whole.txt": "whole"})
	first.BinaryData = map[string][]byte{"raw": {0xff, 0}}
	s.Create(first, s.ConfigMap("x-artifacts-2", map[string]string{"a.chunk-2": "two"}))
	at := func(name, key string) v1alpha1.KeyReference { return v1alpha1.KeyReference{Name: name, Key: key} }
	chunk := func(name, key, content string) v1alpha1.ArtifactChunk {
		return v1alpha1.ArtifactChunk{ConfigMapRef: at(name, key), Size: int64(len(content)), Digest: digest(content)}
	}
	whole, raw, forged := at("x-artifacts", "whole.txt"), at("x-artifacts", "raw"), at("x-artifacts", "whole.txt")
	good := []v1alpha1.ArtifactStatus{
		text("1", "../../escape.txt", "a"), text("2", "/etc/passwd", "b"), text("3", "report.md", "c"), text("4", "REPORT.md", "d"), text("5", ".bashrc", "e"),
		text("6", "..", "f"), text("7", "link", "g"), text("8", "con.txt", "h"),
		{ArtifactID: "9", Name: "whole.txt", ConfigMapRef: &whole, Size: 5, Digest: digest("whole")},
		{ArtifactID: "10", Name: "raw.bin", ConfigMapRef: &raw, Size: 2, Digest: digest("\xff\x00")},
		{ArtifactID: "11", Name: "chunks.csv", Size: 7, Digest: digest("one,two"), Chunks: []v1alpha1.ArtifactChunk{
			chunk("x-artifacts", "a.chunk-1", "one,"), chunk("x-artifacts-2", "a.chunk-2", "two"),
		}},
		{ArtifactID: "12", Name: "elsewhere", URL: "https://example.com/file"}, text("report.md", "3", "another's name is its id"),
	}
	put(t, s, s.Delegation("good").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted, Artifacts: good})
	parent := t.TempDir()
	dir := filepath.Join(parent, "results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A link that leads out, where a file is to be.
	outside := filepath.Join(parent, "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	ran := s.Plugin("", "artifacts", "good", "--save", dir)
	if ran.Code != 1 || !strings.Contains(ran.Stderr, "link is not saved") || !strings.Contains(ran.Stdout, "elsewhere  not fetched: https://example.com/file") {
		t.Errorf("%+v", ran)
	}
	for name, want := range map[string]string{
		"escape.txt": "a", "etc-passwd": "b", "report.md": "c", "REPORT-2.md": "d", "bashrc": "e", "artifact": "f", "artifact-con.txt": "h",
		"whole.txt": "whole", "raw.bin": "\xff\x00", "chunks.csv": "one,two",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
		}
	}
	if names := list(t, parent); !slices.Equal(names, []string{"results"}) {
		t.Errorf("something was written outside: %q", names)
	}
	if names := list(t, dir); len(names) != 12 {
		t.Errorf("the directory holds %q", names)
	}
	if ran := s.Plugin("", "artifacts", "good", "--save", dir); ran.Code != 1 || !strings.Contains(ran.Stderr, "--overwrite") {
		t.Errorf("%+v", ran)
	}
	if ran := s.Plugin("", "artifacts", "good", "--save", dir, "--overwrite"); ran.Code != 0 {
		t.Errorf("%+v", ran)
	}
	if names := list(t, parent); !slices.Equal(names, []string{"results"}) {
		t.Errorf("something was written through a link: %q", names)
	}
	for show, want := range map[string]string{"report.md": "another's name is its id", "3": "c", "REPORT.md": "d"} {
		if ran := s.Plugin("", "artifacts", "good", "--show", show); ran.Stdout != want {
			t.Errorf("--show %s: %+v", show, ran)
		}
	}
	if ran := s.Plugin("", "artifacts", "good", "--show", "11"); ran.Stdout != "one,two" {
		t.Errorf("%+v", ran)
	}

	bad := []v1alpha1.ArtifactStatus{
		text("1", "fine.txt", "fine"),
		{ArtifactID: "2", Name: "forged.txt", ConfigMapRef: &forged, Size: 5, Digest: digest("other")},
		{ArtifactID: "3", Name: "cut.txt", Size: 9, Digest: digest("truncated"), Truncated: true},
		{ArtifactID: "4", Name: "half.csv", Size: 7, Digest: digest("one,two"), Chunks: []v1alpha1.ArtifactChunk{chunk("x-artifacts", "a.chunk-1", "one,")}},
		{ArtifactID: "5", Name: "gone.csv", Size: 7, Digest: digest("one,two"), Chunks: []v1alpha1.ArtifactChunk{chunk("x-artifacts-3", "a.chunk-1", "one,two")}},
	}
	put(t, s, s.Delegation("bad").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted, Artifacts: bad})
	dir = filepath.Join(parent, "bad")
	ran = s.Plugin("", "artifacts", "bad", "--save", dir)
	if ran.Code != 1 || !strings.Contains(ran.Stderr, "4 of 5 artifacts not saved") || strings.Count(ran.Stderr, "size or digest") != 2 {
		t.Errorf("%+v", ran)
	}
	if names := list(t, dir); !slices.Equal(names, []string{"fine.txt"}) {
		t.Errorf("what is not as described was written: %q", names)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
