// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifact decides where a task's results are kept: small text in the status, more in ConfigMaps, and what is too
// large for either nowhere, but said.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	// MaxInline is how large a text may be, in bytes, to stand in the status.
	MaxInline = 2 << 10
	// MaxStored is how much one ConfigMap takes, in bytes; the API server's limit for an object is about 1.5 MiB.
	MaxStored = 900 << 10
	// MaxMaps is how many ConfigMaps hold the artifacts of one task, which are as many calls and at most 3.5 MiB in etcd.
	MaxMaps = 4
	// MaxListed is how many artifacts a status lists. The rest are only at the agent.
	MaxListed = 100
	// MaxDescribed is how much the descriptions take in one status, in bytes of JSON. The API server takes an object whole
	// or not at all: with a status that is too large the Delegation would never finish.
	MaxDescribed = 256 << 10
	// MaxInlined is how much the texts take in it besides.
	MaxInlined = 256 << 10
	// MaxMediaTypes is how many media types are listed for one artifact.
	MaxMediaTypes = 16
)

// Plan is where each artifact goes.
type Plan struct {
	// Status describes the artifacts.
	Status []v1alpha1.ArtifactStatus
	// Unlisted is how many artifacts the status does not describe.
	Unlisted int
	// Maps are the ConfigMaps that it needs.
	Maps []*Map
	// described and inlined are what the limits of those names are for, so far.
	described, inlined int
}

// Map is the content of a ConfigMap by key.
type Map struct {
	Name   string
	Text   map[string]string
	Binary map[string][]byte
	// stored is what MaxStored is for, so far.
	stored int
}

func (m *Map) has(key string) bool {
	_, isText := m.Text[key]
	_, isBinary := m.Binary[key]
	return isText || isBinary
}

// Described describes the artifacts of a plan whose content is not wanted.
func (p *Plan) Described() []v1alpha1.ArtifactStatus {
	out := slices.Clone(p.Status)
	for i := range out {
		out[i].Text, out[i].ConfigMapRef = "", nil
	}
	return out
}

// Truncated describes the artifacts of a plan of which these ConfigMaps, or without a name none of them, could be stored.
func (p *Plan) Truncated(stored ...string) []v1alpha1.ArtifactStatus {
	out := slices.Clone(p.Status)
	for i := range out {
		if ref := out[i].ConfigMapRef; ref != nil && !slices.Contains(stored, ref.Name) {
			out[i].ConfigMapRef, out[i].Truncated = nil, true
		}
	}
	return out
}

// Place plans where the artifacts go; name is that of the first ConfigMap, and -2 to -4 are added for more. A repeated id replaces the artifact before it (A2A
// 1.0, section 4.1.7: an artifactId is unique within a task).
func Place(name string, artifacts []outbox.Artifact) *Plan {
	p := &Plan{}
	all := unique(artifacts)
	for _, a := range all {
		st, content, text := describe(a)
		size := encoded(st) + encoded(v1alpha1.KeyReference{Name: name + "-2", Key: p.key(a)})
		if len(p.Status) == MaxListed || p.described+size > MaxDescribed {
			break
		}
		p.described += size
		if !st.Truncated {
			p.keep(name, a, &st, content, text)
		}
		p.Status = append(p.Status, st)
	}
	p.Unlisted = len(all) - len(p.Status)
	return p
}

func unique(artifacts []outbox.Artifact) []outbox.Artifact {
	var out []outbox.Artifact
	at := map[string]int{}
	for _, a := range artifacts {
		if i, ok := at[a.ID]; ok {
			out[i] = a
			continue
		}
		at[a.ID] = len(out)
		out = append(out, a)
	}
	return out
}

// describe returns what the status says of an artifact wherever it is kept, its content, and whether that is text.
func describe(a outbox.Artifact) (st v1alpha1.ArtifactStatus, content []byte, text bool) {
	st, text = v1alpha1.ArtifactStatus{ArtifactID: a.ID, Name: a.Name}, true
	for _, part := range a.Parts {
		if part.MediaType != "" && len(st.MediaTypes) < MaxMediaTypes && !slices.Contains(st.MediaTypes, part.MediaType) {
			st.MediaTypes = append(st.MediaTypes, part.MediaType)
		}
		if part.URL != "" {
			st.URL = part.URL
			continue
		}
		text = text && part.Text && utf8.Valid(part.Content)
		content = append(content, part.Content...)
	}
	if truncated(a) {
		st.Truncated = true
		st.Size, st.Digest = known(a)
		return st, nil, false
	}
	if len(content) > 0 {
		sum := sha256.Sum256(content)
		st.Size, st.Digest = int64(len(content)), "sha256:"+hex.EncodeToString(sum[:])
	}
	return st, content, text
}

// truncated reports whether there is not all of an artifact's content.
func truncated(a outbox.Artifact) bool {
	return a.Incomplete || slices.ContainsFunc(a.Parts, func(p outbox.ArtifactPart) bool { return p.Omitted != nil })
}

// known returns size and digest of a content that is not there as a whole; zero and empty where they can't be known.
func known(a outbox.Artifact) (size int64, digest string) {
	if a.Incomplete {
		return 0, ""
	}
	pieces := 0
	for _, p := range a.Parts {
		switch {
		case p.Omitted == nil && len(p.Content) == 0:
			continue
		case p.Omitted == nil:
			size += int64(len(p.Content))
		case p.Omitted.Digest == "":
			return 0, ""
		default:
			size, digest = size+p.Omitted.Size, p.Omitted.Digest
		}
		pieces++
	}
	if pieces > 1 {
		digest = ""
	}
	return size, digest
}

// keep finds a place for the content.
func (p *Plan) keep(name string, a outbox.Artifact, st *v1alpha1.ArtifactStatus, content []byte, text bool) {
	inline := text && len(content) <= MaxInline
	switch {
	case len(content) == 0:
		return
	case inline && p.inlined+encoded(string(content)) <= MaxInlined:
		p.inlined += encoded(string(content))
		st.Text = string(content)
		return
	}
	m := p.room(name, len(content))
	if m == nil {
		st.Truncated = true
		return
	}
	m.stored += len(content)
	key := p.key(a)
	st.ConfigMapRef = &v1alpha1.KeyReference{Name: m.Name, Key: key}
	if text {
		m.Text[key] = string(content)
	} else {
		m.Binary[key] = content
	}
}

// room returns the first ConfigMap with room for so many bytes; nil where there is none.
func (p *Plan) room(name string, size int) *Map {
	for _, m := range p.Maps {
		if m.stored+size <= MaxStored {
			return m
		}
	}
	if size > MaxStored || len(p.Maps) == MaxMaps {
		return nil
	}
	if n := len(p.Maps); n > 0 {
		name = fmt.Sprintf("%s-%d", name, n+1)
	}
	m := &Map{Name: name, Text: map[string]string{}, Binary: map[string][]byte{}}
	p.Maps = append(p.Maps, m)
	return m
}

// encoded is how many bytes a value takes in an object.
func encoded(v any) int {
	text, _ := json.Marshal(v) // strings and structs of them always have a JSON form
	return len(text)
}

// key returns a key that is free in all ConfigMaps and resembles the artifact's name.
func (p *Plan) key(a outbox.Artifact) string {
	base := a.Name
	if base == "" {
		base = a.ID
	}
	base = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, base)
	base = strings.TrimLeft(base[:min(len(base), 200)], ".")
	if base == "" {
		base = "artifact"
	}
	for key, i := base, 2; ; i++ {
		if !slices.ContainsFunc(p.Maps, func(m *Map) bool { return m.has(key) }) {
			return key
		}
		key = fmt.Sprintf("%s-%d", base, i)
	}
}
