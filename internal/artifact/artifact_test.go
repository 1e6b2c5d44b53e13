// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const configMap = "reconcile-artifacts"

var names = artifact.Names(configMap)

// made is an artifact of these parts whose name is its id and .out.
func made(id string, parts ...outbox.ArtifactPart) outbox.Artifact {
	return outbox.Artifact{ID: id, Name: id + ".out", Parts: parts}
}

func text(s string) outbox.ArtifactPart {
	return outbox.ArtifactPart{MediaType: "text/plain", Text: true, Content: []byte(s)}
}

func binary(b []byte) outbox.ArtifactPart {
	return outbox.ArtifactPart{MediaType: "application/octet-stream", Content: b}
}

func link(url string) outbox.ArtifactPart {
	return outbox.ArtifactPart{MediaType: "application/pdf", URL: url}
}

func letters(n int) string { return strings.Repeat("a", n) }

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// texts and binaries are what all ConfigMaps of a plan hold.
func texts(p *artifact.Plan) map[string]string {
	out := map[string]string{}
	for _, m := range p.Maps {
		maps.Copy(out, m.Text)
	}
	return out
}

func binaries(p *artifact.Plan) map[string][]byte {
	out := map[string][]byte{}
	for _, m := range p.Maps {
		maps.Copy(out, m.Binary)
	}
	return out
}

// place is where the content of an artifact is.
type place string

const (
	nowhere   place = "nowhere"
	inline    place = "inline"
	asText    place = "as text in the ConfigMap"
	asBinary  place = "as bytes in the ConfigMap"
	inChunks  place = "in chunks over ConfigMaps"
	truncated place = "truncated"
)

// placeOf also fails the test where the content is in two places, or not what its digest says.
func placeOf(t *testing.T, p *artifact.Plan, st v1alpha1.ArtifactStatus) place {
	t.Helper()
	found, content := []place{}, ""
	if st.Text != "" {
		found, content = append(found, inline), st.Text
	}
	if st.Truncated {
		found = append(found, truncated)
	}
	if ref := st.ConfigMapRef; ref != nil {
		var text bool
		if content, text = held(t, p, *ref); text {
			found = append(found, asText)
		} else {
			found = append(found, asBinary)
		}
	}
	if len(st.Chunks) > 0 {
		found, content = append(found, inChunks), joined(t, p, st)
	}
	switch {
	case len(found) == 0 && st.Size == 0 && st.Digest == "":
		return nowhere
	case len(found) != 1:
		t.Fatalf("the content of %s is in %q", st.ArtifactID, found)
	case found[0] != truncated && (int64(len(content)) != st.Size || digestOf(content) != st.Digest):
		t.Errorf("%s: the content has %d bytes and digest %s, the status says %d and %s",
			st.ArtifactID, len(content), digestOf(content), st.Size, st.Digest)
	}
	return found[0]
}

// held is what a plan has under a reference, and whether it is text.
func held(t *testing.T, p *artifact.Plan, ref v1alpha1.KeyReference) (content string, text bool) {
	t.Helper()
	for _, m := range p.Maps {
		if m.Name != ref.Name {
			continue
		}
		if s, ok := m.Text[ref.Key]; ok {
			return s, true
		}
		if b, ok := m.Binary[ref.Key]; ok {
			return string(b), false
		}
	}
	t.Fatalf("the plan has nothing under %+v", ref)
	return "", false
}

func TestBorders(t *testing.T) {
	euro := strings.Repeat("€", artifact.MaxInline/3)
	cases := []struct {
		name  string
		parts []outbox.ArtifactPart
		want  place
	}{
		{"no parts", nil, nowhere},
		{"an empty text", []outbox.ArtifactPart{text("")}, nowhere},
		{"a text", []outbox.ArtifactPart{text("done")}, inline},
		{"the largest text for the status", []outbox.ArtifactPart{text(letters(artifact.MaxInline))}, inline},
		{"one byte more", []outbox.ArtifactPart{text(letters(artifact.MaxInline + 1))}, asText},
		{"one byte more in a second part", []outbox.ArtifactPart{text(letters(artifact.MaxInline)), text("a")}, asText},
		{"bytes and not characters count", []outbox.ArtifactPart{text(euro + "€")}, asText},
		{"the largest text", []outbox.ArtifactPart{text(letters(artifact.MaxStored))}, asText},
		{"a text too large for one", []outbox.ArtifactPart{text(letters(artifact.MaxStored + 1))}, inChunks},
		{"the largest text in chunks", []outbox.ArtifactPart{text(letters(artifact.MaxMaps * artifact.MaxStored))}, inChunks},
		{"a text too large for all", []outbox.ArtifactPart{text(letters(artifact.MaxMaps*artifact.MaxStored + 1))}, truncated},
		{"small and binary", []outbox.ArtifactPart{binary([]byte{0xff})}, asBinary},
		{"binary that looks like text", []outbox.ArtifactPart{binary([]byte("done"))}, asBinary},
		{"text that is none", []outbox.ArtifactPart{text("\xff")}, asBinary},
		{"text and binary", []outbox.ArtifactPart{text("done"), binary([]byte{0})}, asBinary},
		{"binary and text", []outbox.ArtifactPart{binary([]byte{0}), text("done")}, asBinary},
		{"the largest binary", []outbox.ArtifactPart{binary(make([]byte, artifact.MaxStored))}, asBinary},
		{"a binary too large for one", []outbox.ArtifactPart{binary(make([]byte, artifact.MaxStored+1))}, inChunks},
		{"a binary too large for all", []outbox.ArtifactPart{binary(make([]byte, artifact.MaxMaps*artifact.MaxStored+1))}, truncated},
		{"a URL", []outbox.ArtifactPart{link("https://files.example.com/a.pdf")}, nowhere},
		{"a URL and a text", []outbox.ArtifactPart{link("https://files.example.com/a.pdf"), text("done")}, inline},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := artifact.Place(names, []outbox.Artifact{made("report", c.parts...)})
			if len(p.Status) != 1 {
				t.Fatalf("%d artifacts, want 1", len(p.Status))
			}
			if got := placeOf(t, p, p.Status[0]); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if stored := c.want == asText || c.want == asBinary || c.want == inChunks; len(p.Maps) > 0 != stored {
				t.Errorf("%d ConfigMaps, want some: %t", len(p.Maps), stored)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	const tooLarge = artifact.MaxMaps*artifact.MaxStored + 1
	const url = "https://files.example.com/statement.pdf"
	csv := outbox.ArtifactPart{MediaType: "text/csv", Text: true, Content: []byte("a,b\n")}
	plain := outbox.ArtifactPart{Text: true, Content: []byte("c,d\n")}
	cases := []struct {
		name string
		in   outbox.Artifact
		want v1alpha1.ArtifactStatus
	}{
		{"parts are joined and media types listed once", outbox.Artifact{ID: "a-1", Name: "report", Parts: []outbox.ArtifactPart{csv, plain, csv}},
			v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "report", MediaTypes: []string{"text/csv"},
				Size: 12, Digest: digestOf("a,b\nc,d\na,b\n"), Text: "a,b\nc,d\na,b\n"}},
		{"media types in order", made("a-1", text("x"), csv, text("y")), v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "a-1.out",
			MediaTypes: []string{"text/plain", "text/csv"}, Size: 6, Digest: digestOf("xa,b\ny"), Text: "xa,b\ny"}},
		{"a URL", made("a-1", link(url)), v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "a-1.out",
			MediaTypes: []string{"application/pdf"}, URL: url}},
		{"a URL besides content", made("a-1", text("see"), link(url)), v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "a-1.out",
			MediaTypes: []string{"text/plain", "application/pdf"}, URL: url, Size: 3, Digest: digestOf("see"), Text: "see"}},
		{"stored", made("a-1", binary([]byte{1})), v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "a-1.out",
			MediaTypes: []string{"application/octet-stream"}, Size: 1, Digest: digestOf("\x01"),
			ConfigMapRef: &v1alpha1.KeyReference{Name: configMap, Key: "a-1.out"}}},
		{"truncated", made("a-1", text(letters(tooLarge))), v1alpha1.ArtifactStatus{ArtifactID: "a-1", Name: "a-1.out",
			MediaTypes: []string{"text/plain"}, Size: tooLarge, Digest: digestOf(letters(tooLarge)), Truncated: true}},
		{"nothing", outbox.Artifact{ID: "a-1"}, v1alpha1.ArtifactStatus{ArtifactID: "a-1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := artifact.Place(names, []outbox.Artifact{c.in}).Status
			if want := []v1alpha1.ArtifactStatus{c.want}; !reflect.DeepEqual(got, want) {
				t.Errorf("status %+v, want %+v", got, want)
			}
		})
	}
}

func TestNoArtifacts(t *testing.T) {
	if p := artifact.Place(names, nil); len(p.Maps) > 0 || len(p.Status) != 0 {
		t.Errorf("the plan for nothing is %+v", p)
	}
}

// An artifactId is unique within a task: the last one counts, in the place of the first.
func TestDuplicates(t *testing.T) {
	p := artifact.Place(names, []outbox.Artifact{
		made("a-1", text("old")), made("a-2", text("other")), made("a-1", binary([]byte{1})), made("a-3", text("last")), made("a-1", text("new")),
	})
	var got []string
	for _, st := range p.Status {
		got = append(got, st.ArtifactID+"="+st.Text)
	}
	if want := []string{"a-1=new", "a-2=other", "a-3=last"}; !reflect.DeepEqual(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if len(p.Maps) > 0 {
		t.Error("what was replaced is stored")
	}
}

// Without ConfigMaps what they would hold is truncated, and described as it is with them.
func TestWithoutConfigMaps(t *testing.T) {
	all := []outbox.Artifact{
		made("inline", text("done")), made("text", text(letters(artifact.MaxInline+1))), made("binary", binary([]byte{1})),
		made("url", link("https://files.example.com/a.pdf")), made("large", text(letters(artifact.MaxStored+1))),
	}
	with, without := artifact.Place(names, all), artifact.Place(nil, all)
	for i, want := range []place{inline, truncated, truncated, nowhere, truncated} {
		st := without.Status[i]
		if got := placeOf(t, without, st); got != want {
			t.Errorf("%s is %s, want %s", st.ArtifactID, got, want)
		}
		if other := with.Status[i]; st.Size != other.Size || st.Digest != other.Digest || !reflect.DeepEqual(st.MediaTypes, other.MediaTypes) {
			t.Errorf("%s is described as %+v", st.ArtifactID, st)
		}
	}
	if len(without.Maps) > 0 {
		t.Errorf("%d ConfigMaps", len(without.Maps))
	}
}

// What is not wanted is described, and neither there nor truncated.
func TestDescribed(t *testing.T) {
	p := artifact.Place(names, []outbox.Artifact{
		made("inline", text("done")), made("text", text(letters(artifact.MaxInline+1))), made("large", text(letters(artifact.MaxStored+1))),
	})
	for i, st := range p.Described() {
		if st.Text != "" || st.ConfigMapRef != nil || st.Chunks != nil || st.Truncated || st.Digest != p.Status[i].Digest {
			t.Errorf("%+v", st)
		}
	}
}

// The content that a plan holds is its own: an agent's answer may be kept and changed elsewhere.
func TestPlanHoldsCopies(t *testing.T) {
	content := bytes.Repeat([]byte{1}, 8)
	p := artifact.Place(names, []outbox.Artifact{made("a-1", binary(content))})
	content[0] = 2
	if got := binaries(p)["a-1.out"]; !bytes.Equal(got, bytes.Repeat([]byte{1}, 8)) {
		t.Errorf("the plan holds %v", got)
	}
}
