// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifact decides where a task's results are kept: small text in the status, more in ConfigMaps, what is too large
// for one of these in chunks over several, and what is too large for all of them nowhere, but said.
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
	// MaxStored is how much one ConfigMap takes, in bytes; the API server's limit for its content is 1 MiB.
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
	// names are those that the ConfigMaps may have.
	names []string
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
		out[i].Text, out[i].ConfigMapRef, out[i].Chunks = "", nil, nil
	}
	return out
}

// Names are those of the ConfigMaps that may hold the artifacts of one task: the first, and -2 to -4 after it.
func Names(first string) []string {
	names := []string{first}
	for n := 2; n <= MaxMaps; n++ {
		names = append(names, fmt.Sprintf("%s-%d", first, n))
	}
	return names
}

// Place plans where the artifacts go; names are the ConfigMaps that there may be, which are used in this order. What fits
// into one is placed before anything is split, so that no large artifact takes the place of small ones. A repeated id
// replaces the artifact before it (A2A 1.0, section 4.1.7: an artifactId is unique within a task).
func Place(names []string, artifacts []outbox.Artifact) *Plan {
	p := &Plan{names: names}
	var large []func()
	all := unique(artifacts)
	for i, a := range all {
		c := describe(a)
		size := encoded(c.status) + p.reference(a)
		if len(p.Status) == MaxListed || p.described+size > MaxDescribed {
			break
		}
		p.described += size
		if !c.status.Truncated && !p.keep(a, &c) {
			large = append(large, func() { p.split(a, c, &p.Status[i]) })
		}
		p.Status = append(p.Status, c.status)
	}
	for _, split := range large {
		split()
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

// content is an artifact's.
type content struct {
	// status is what the status says of the artifact wherever it is kept.
	status v1alpha1.ArtifactStatus
	bytes  []byte
	text   bool
}

func describe(a outbox.Artifact) content {
	c := content{status: v1alpha1.ArtifactStatus{ArtifactID: a.ID, Name: a.Name}, text: true}
	st := &c.status
	for _, part := range a.Parts {
		if part.MediaType != "" && len(st.MediaTypes) < MaxMediaTypes && !slices.Contains(st.MediaTypes, part.MediaType) {
			st.MediaTypes = append(st.MediaTypes, part.MediaType)
		}
		if part.URL != "" {
			st.URL = part.URL
			continue
		}
		c.text = c.text && part.Text && utf8.Valid(part.Content)
		c.bytes = append(c.bytes, part.Content...)
	}
	if truncated(a) {
		st.Truncated, c.bytes = true, nil
		st.Size, st.Digest = known(a)
		return c
	}
	if len(c.bytes) > 0 {
		st.Size, st.Digest = int64(len(c.bytes)), digest(c.bytes)
	}
	return c
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
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

// keep finds a place for the content as a whole, and reports whether there is one.
func (p *Plan) keep(a outbox.Artifact, c *content) bool {
	inline := c.text && len(c.bytes) <= MaxInline
	switch {
	case len(c.bytes) == 0:
		return true
	case inline && p.inlined+encoded(string(c.bytes)) <= MaxInlined:
		p.inlined += encoded(string(c.bytes))
		c.status.Text = string(c.bytes)
		return true
	}
	for i := range p.names {
		if len(c.bytes) <= p.room(i) {
			ref := p.put(i, p.key(a, ""), c.bytes, c.text)
			c.status.ConfigMapRef = &ref
			return true
		}
	}
	return false
}

// reference is how many bytes it takes at most to say in which ConfigMap an artifact is.
func (p *Plan) reference(a outbox.Artifact) int {
	if len(p.names) == 0 {
		return 0
	}
	return encoded(v1alpha1.KeyReference{Name: p.names[len(p.names)-1], Key: p.key(a, "")})
}

// room is how many bytes the ConfigMap of this number, from 0, has room for.
func (p *Plan) room(i int) int {
	if i >= len(p.Maps) {
		return MaxStored
	}
	return MaxStored - p.Maps[i].stored
}

// put stores bytes in the ConfigMap of this number, which is new where it is the next.
func (p *Plan) put(i int, key string, b []byte, text bool) v1alpha1.KeyReference {
	if i == len(p.Maps) {
		p.Maps = append(p.Maps, &Map{Name: p.names[i], Text: map[string]string{}, Binary: map[string][]byte{}})
	}
	m := p.Maps[i]
	m.stored += len(b)
	if text {
		m.Text[key] = string(b)
	} else {
		m.Binary[key] = b
	}
	return v1alpha1.KeyReference{Name: m.Name, Key: key}
}

// encoded is how many bytes a value takes in an object.
func encoded(v any) int {
	text, _ := json.Marshal(v) // strings and structs of them always have a JSON form
	return len(text)
}

// key returns a key that resembles the artifact's name and, with each of the suffixes, is free in all ConfigMaps.
func (p *Plan) key(a outbox.Artifact, suffixes ...string) string {
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
		taken := func(suffix string) bool {
			return slices.ContainsFunc(p.Maps, func(m *Map) bool { return m.has(key + suffix) })
		}
		if !slices.ContainsFunc(suffixes, taken) {
			return key
		}
		key = fmt.Sprintf("%s-%d", base, i)
	}
}
