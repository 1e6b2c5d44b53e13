// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// stored returns the plan of one byte under each of these names; the ids are numbers.
func stored(names ...string) *artifact.Plan {
	var all []outbox.Artifact
	for i, name := range names {
		all = append(all, outbox.Artifact{ID: fmt.Sprint("id-", i), Name: name, Parts: []outbox.ArtifactPart{binary([]byte{byte(i)})}})
	}
	return artifact.Place(names, all)
}

func TestKeys(t *testing.T) {
	cases := []struct {
		name string
		in   []string
		want []string
	}{
		{"valid as it is", []string{"Report_2026-09.csv"}, []string{"Report_2026-09.csv"}},
		{"the id where there is no name", []string{""}, []string{"id-0"}},
		{"a path", []string{"../../etc/passwd"}, []string{"-..-etc-passwd"}},
		{"only dots", []string{".", "..", "..."}, []string{"artifact", "artifact-2", "artifact-3"}},
		{"dots at the front", []string{"..data", ".hidden"}, []string{"data", "hidden"}},
		{"spaces and umlauts", []string{"Übertrag für Mai.csv"}, []string{"-bertrag-f-r-Mai.csv"}},
		{"characters that JSON and YAML know", []string{"a\x00\"{}:\n\xff"}, []string{"a-------"}},
		{"the same again", []string{"a", "a", "a"}, []string{"a", "a-2", "a-3"}},
		{"the same after cleaning", []string{"a b", "a/b"}, []string{"a-b", "a-b-2"}},
		{"a number that is taken", []string{"a", "a-2", "a", "a"}, []string{"a", "a-2", "a-3", "a-4"}},
		{"long", []string{strings.Repeat("x", 300), strings.Repeat("x", 300)}, []string{strings.Repeat("x", 200), strings.Repeat("x", 200) + "-2"}},
		{"long and only dots", []string{strings.Repeat(".", 300)}, []string{"artifact"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := stored(c.in...)
			var got []string
			for i, st := range p.Status {
				got = append(got, st.ConfigMapRef.Key)
				if b := binaries(p)[st.ConfigMapRef.Key]; len(b) != 1 || b[0] != byte(i) {
					t.Errorf("key %q holds %v", st.ConfigMapRef.Key, b)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("keys %q, want %q", got, c.want)
			}
			wantValidKeys(t, p)
		})
	}
}

// Text and binary share the keys of one ConfigMap.
func TestKeysOfTextAndBinaryDiffer(t *testing.T) {
	p := artifact.Place(names, []outbox.Artifact{
		{ID: "a-1", Name: "report", Parts: []outbox.ArtifactPart{binary([]byte{1})}},
		{ID: "a-2", Name: "report", Parts: []outbox.ArtifactPart{text(letters(artifact.MaxInline + 1))}},
		{ID: "a-3", Name: "report", Parts: []outbox.ArtifactPart{binary([]byte{1})}},
	})
	if len(texts(p)) != 1 || len(binaries(p)) != 2 || texts(p)["report-2"] == "" {
		t.Errorf("%d texts and %d binaries", len(texts(p)), len(binaries(p)))
	}
	wantValidKeys(t, p)
}

func wantValidKeys(t *testing.T, p *artifact.Plan) {
	t.Helper()
	refs := 0
	for _, st := range p.Status {
		if st.ConfigMapRef != nil {
			refs++
		}
		refs += len(st.Chunks)
	}
	keys := map[string]bool{}
	for key := range texts(p) {
		keys[key] = true
	}
	for key := range binaries(p) {
		keys[key] = true
	}
	if len(keys) != refs || len(texts(p))+len(binaries(p)) != refs {
		t.Errorf("%d references to %d keys", refs, len(keys))
	}
	for key := range keys {
		if wrong := validation.IsConfigMapKey(key); len(wrong) > 0 {
			t.Errorf("key %q: %q", key, wrong)
		}
	}
}

func TestListingLimit(t *testing.T) {
	for count, want := range map[int]int{artifact.MaxListed - 1: artifact.MaxListed - 1, artifact.MaxListed: artifact.MaxListed, artifact.MaxListed + 1: artifact.MaxListed} {
		names := make([]string, count)
		p := stored(names...)
		if len(p.Status) != want || len(binaries(p)) != want {
			t.Errorf("%d artifacts: %d listed and %d stored, want %d", count, len(p.Status), len(binaries(p)), want)
		}
	}
	// One that replaces another does not count.
	var all []outbox.Artifact
	for i := range 3 * artifact.MaxListed {
		all = append(all, made(fmt.Sprint(i%artifact.MaxListed), text(fmt.Sprint(i))))
	}
	p := artifact.Place(names, all)
	if last := p.Status[len(p.Status)-1].Text; len(p.Status) != artifact.MaxListed || last != fmt.Sprint(len(all)-1) {
		t.Errorf("%d listed, the last one is %s", len(p.Status), last)
	}
}

// What does not fit into one ConfigMap goes into the next, what is small enough after it fills the gaps, and after the last
// one it is truncated.
func TestConfigMapLimit(t *testing.T) {
	half := letters(artifact.MaxStored / 2)
	full := letters(artifact.MaxStored)
	p := artifact.Place(names, []outbox.Artifact{
		made("first", text(half)), made("second", text(half+"a")), made("third", text(half)), made("fourth", text(full)),
		made("fifth", text(full)), made("too-much", text(half)), made("gap", binary([]byte{1})), made("inline", text("a")),
	})
	want := []string{"", "-2", "", "-3", "-4", "truncated", "-2", "inline"}
	for i, st := range p.Status {
		got := "inline"
		switch where := placeOf(t, p, st); {
		case st.ConfigMapRef != nil:
			got = strings.TrimPrefix(st.ConfigMapRef.Name, configMap)
		case where == truncated:
			got = "truncated"
		}
		if got != want[i] {
			t.Errorf("%s is in %q, want %q", st.ArtifactID, got, want[i])
		}
	}
	wantLimits(t, p)
}

// A status that the API server does not take would keep a Delegation from ever finishing.
func TestStatusLimit(t *testing.T) {
	many := func(parts ...outbox.ArtifactPart) []outbox.Artifact {
		var out []outbox.Artifact
		for i := range artifact.MaxListed {
			out = append(out, made(fmt.Sprint(i), parts...))
		}
		return out
	}
	var mediaTypes []outbox.ArtifactPart
	for i := range 500 {
		mediaTypes = append(mediaTypes, outbox.ArtifactPart{MediaType: fmt.Sprintf("text/%0120d", i), Text: true, Content: []byte("a")})
	}
	cases := []struct {
		name string
		in   []outbox.Artifact
		// listed of them, and inline, at least.
		listed, inline int
	}{
		{"texts", many(text(letters(artifact.MaxInline))), artifact.MaxListed, artifact.MaxListed},
		{"texts that JSON makes six times as long", many(text(strings.Repeat("<", artifact.MaxInline))), artifact.MaxListed, 20},
		{"control characters", many(text(strings.Repeat("\x01", artifact.MaxInline))), artifact.MaxListed, 20},
		{"long URLs", many(link("https://files.example.com/?" + strings.Repeat("&", 4000))), 10, 0},
		{"more media types than anybody needs", many(mediaTypes...), artifact.MaxListed, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := artifact.Place(names, c.in)
			inlined := 0
			for _, st := range p.Status {
				if placeOf(t, p, st) == inline {
					inlined++
				}
			}
			if len(p.Status) < c.listed || inlined < c.inline {
				t.Errorf("%d listed and %d inline, want at least %d and %d", len(p.Status), inlined, c.listed, c.inline)
			}
			wantLimits(t, p)
		})
	}
}

func wantLimits(t *testing.T, p *artifact.Plan) {
	t.Helper()
	list, err := json.Marshal(p.Status)
	if err != nil {
		t.Fatal(err)
	}
	// The names of the fields for the text and the reference, and the commas between artifacts, are not counted.
	if limit := artifact.MaxDescribed + artifact.MaxInlined + 40*artifact.MaxListed; len(list) > limit {
		t.Errorf("the status takes %d bytes, the limit is %d", len(list), limit)
	}
	for _, m := range p.Maps {
		size := 0
		for _, s := range m.Text {
			size += len(s)
		}
		for _, b := range m.Binary {
			size += len(b)
		}
		if size > artifact.MaxStored {
			t.Errorf("ConfigMap %s holds %d bytes, the limit is %d", m.Name, size, artifact.MaxStored)
		}
	}
	if len(p.Maps) > artifact.MaxMaps {
		t.Errorf("%d ConfigMaps, the limit is %d", len(p.Maps), artifact.MaxMaps)
	}
	if len(p.Status) > artifact.MaxListed {
		t.Errorf("%d artifacts are listed, the limit is %d", len(p.Status), artifact.MaxListed)
	}
}

// Whatever an agent makes up, the plan keeps its limits, its keys are valid, and the same artifacts get the same plan: a
// second process that finishes the same Delegation writes the same.
func TestAnyArtifacts(t *testing.T) {
	for seed := range uint64(50) {
		p, again := artifact.Place(names, random(seed)), artifact.Place(names, random(seed))
		if !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: two plans for the same artifacts", seed)
		}
		ids := map[string]bool{}
		for _, st := range p.Status {
			ids[st.ArtifactID] = true
			placeOf(t, p, st)
		}
		if len(ids) != len(p.Status) {
			t.Errorf("seed %d: %d artifacts with %d ids", seed, len(p.Status), len(ids))
		}
		wantLimits(t, p)
		wantValidKeys(t, p)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func random(seed uint64) []outbox.Artifact {
	r := rand.New(rand.NewPCG(seed, 1))
	alphabet := []rune("aB.-_/ ü\x00\n€")
	word := func() string {
		out := make([]rune, r.IntN(12))
		for i := range out {
			out[i] = alphabet[r.IntN(len(alphabet))]
		}
		return strings.Repeat(string(out), 1+r.IntN(30))
	}
	large := []int{artifact.MaxStored / 3, artifact.MaxStored - 1, artifact.MaxStored, artifact.MaxStored + 1, 2 * artifact.MaxStored}
	var out []outbox.Artifact
	for range r.IntN(artifact.MaxListed + 10) {
		a := outbox.Artifact{ID: word(), Name: word()}
		for range r.IntN(3) {
			content := make([]byte, r.IntN(artifact.MaxInline+2))
			if r.IntN(100) == 0 {
				content = make([]byte, large[r.IntN(len(large))])
			}
			a.Parts = append(a.Parts, outbox.ArtifactPart{MediaType: word(), Text: r.IntN(2) == 0, Content: content})
		}
		out = append(out, a)
	}
	return out
}
