// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// What an agent's answer was too large for is truncated, with what is known of it, and takes no place from the rest.
func TestOmitted(t *testing.T) {
	gone := outbox.ArtifactPart{MediaType: "text/csv", Text: true, Omitted: &outbox.Omission{Size: 1 << 24, Digest: digestOf("x")}}
	unknown := outbox.ArtifactPart{MediaType: "text/csv", Omitted: &outbox.Omission{}}
	incomplete := made("a", text("done"))
	incomplete.Incomplete = true
	cases := []struct {
		name   string
		in     outbox.Artifact
		size   int64
		digest string
	}{
		{"the only part", made("a", gone), 1 << 24, digestOf("x")},
		{"beside an empty one", made("a", gone, text("")), 1 << 24, digestOf("x")},
		{"beside a URL", made("a", link("https://files.example.com/a.pdf"), gone), 1 << 24, digestOf("x")},
		{"one of two parts", made("a", text("done"), gone), 1<<24 + 4, ""},
		{"both", made("a", gone, gone), 1 << 25, ""},
		{"of unknown size", made("a", text("done"), unknown), 0, ""},
		{"parts of which nothing is known", incomplete, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := artifact.Place(names, []outbox.Artifact{c.in, made("b", text("done"))})
			if st := p.Status[0]; !st.Truncated || st.Size != c.size || st.Digest != c.digest || st.Text != "" || st.ConfigMapRef != nil {
				t.Errorf("%+v, want %d bytes of digest %q", st, c.size, c.digest)
			}
			if len(p.Maps) > 0 || p.Status[1].Text != "done" || p.Unlisted != 0 {
				t.Errorf("%+v", p)
			}
		})
	}
}

// What is not listed is counted.
func TestUnlisted(t *testing.T) {
	names := make([]string, artifact.MaxListed+7)
	if p := stored(names...); p.Unlisted != 7 {
		t.Errorf("%d are not listed, want 7", p.Unlisted)
	}
}
