// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// joined puts the chunks of an artifact together, and fails the test where one is not what the status says of it.
func joined(t *testing.T, p *artifact.Plan, st v1alpha1.ArtifactStatus) string {
	t.Helper()
	var whole strings.Builder
	for _, c := range st.Chunks {
		content, text := held(t, p, c.ConfigMapRef)
		if content == "" || int64(len(content)) != c.Size || digestOf(content) != c.Digest || text && !utf8.ValidString(content) {
			t.Errorf("%s: %+v has %d bytes of digest %s", st.ArtifactID, c, len(content), digestOf(content))
		}
		whole.WriteString(content)
	}
	return whole.String()
}

// shown is where a plan has each artifact, as "map key size" where it is in ConfigMaps.
func shown(t *testing.T, p *artifact.Plan) []string {
	t.Helper()
	var out []string
	for _, st := range p.Status {
		at := []string{string(placeOf(t, p, st))}
		if st.ConfigMapRef != nil {
			at = []string{strings.TrimPrefix(st.ConfigMapRef.Name, configMap) + " " + st.ConfigMapRef.Key}
		} else if len(st.Chunks) > 0 {
			at = nil
		}
		for _, c := range st.Chunks {
			at = append(at, fmt.Sprintf("%s %s %d", strings.TrimPrefix(c.ConfigMapRef.Name, configMap), c.ConfigMapRef.Key, c.Size))
		}
		out = append(out, strings.Join(at, ", "))
	}
	return out
}

func TestChunks(t *testing.T) {
	const full = artifact.MaxStored
	euros := strings.Repeat("\u20ac", full/3+1) // the limit is one byte behind a character's beginning
	cases := []struct {
		name  string
		maps  []string
		given []outbox.Artifact
		want  []string
	}{
		{"two", names, []outbox.Artifact{made("a", text(letters(full+1)))}, []string{
			fmt.Sprintf(" a.out.chunk-1 %d, -2 a.out.chunk-2 1", full),
		}},
		{"characters stay whole", names, []outbox.Artifact{made("a", text("x"+euros))}, []string{
			fmt.Sprintf(" a.out.chunk-1 %d, -2 a.out.chunk-2 %d", full-2, len(euros)+1-(full-2)),
		}},
		{"bytes are cut anywhere", names, []outbox.Artifact{made("a", binary([]byte("x"+euros)))}, []string{
			fmt.Sprintf(" a.out.chunk-1 %d, -2 a.out.chunk-2 %d", full, len(euros)+1-full),
		}},
		{"what fits into one comes first", names, []outbox.Artifact{made("large", text(letters(3*full))), made("small", text(letters(full)))}, []string{
			fmt.Sprintf("-2 large.out.chunk-1 %d, -3 large.out.chunk-2 %d, -4 large.out.chunk-3 %d", full, full, full), " small.out",
		}},
		{"gaps are filled", names[:2], []outbox.Artifact{made("a", text(letters(full-10))), made("b", text(letters(full-10))), made("c", binary(make([]byte, 20)))}, []string{
			" a.out", "-2 b.out", " c.out.chunk-1 10, -2 c.out.chunk-2 10",
		}},
		{"no gap is large enough", names[:2], []outbox.Artifact{made("a", text(letters(full-10))), made("b", text(letters(full-10))), made("c", binary(make([]byte, 21)))}, []string{
			" a.out", "-2 b.out", "truncated",
		}},
		{"one that is too large leaves the room to the next", names, []outbox.Artifact{made("a", text(letters(4*full+1))), made("b", text(letters(full+1)))}, []string{
			"truncated", fmt.Sprintf(" b.out.chunk-1 %d, -2 b.out.chunk-2 1", full),
		}},
		{"names that are taken", names, []outbox.Artifact{
			{ID: "1", Name: "a", Parts: []outbox.ArtifactPart{text(letters(full + 1))}},
			{ID: "2", Name: "a", Parts: []outbox.ArtifactPart{text(letters(full + 1))}},
			{ID: "3", Name: "a.chunk-2", Parts: []outbox.ArtifactPart{binary([]byte{1})}},
		}, []string{
			fmt.Sprintf(" a-2.chunk-1 %d, -2 a-2.chunk-2 2", full-1), fmt.Sprintf("-2 a-3.chunk-1 %d, -3 a-3.chunk-2 3", full-2), " a.chunk-2",
		}},
		{"another name in between", []string{names[0], names[2]}, []outbox.Artifact{made("a", text(letters(full+1)))}, []string{
			fmt.Sprintf(" a.out.chunk-1 %d, -3 a.out.chunk-2 1", full),
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := artifact.Place(c.maps, c.given)
			if got := shown(t, p); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			wantLimits(t, p)
			wantValidKeys(t, p)
		})
	}
}
