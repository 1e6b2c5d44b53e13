// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// chunkKey is the key of a chunk, by the key that the whole would have and the chunk's number from 1, of which there are at
// most MaxMaps.
func chunkKey(key string, number int) string { return fmt.Sprintf("%s.chunk-%d", key, number) }

// chunkSuffixes are what chunk keys end in.
func chunkSuffixes() []string {
	var all []string
	for n := range MaxMaps {
		all = append(all, chunkKey("", n+1))
	}
	return all
}

// split spreads a content over the room that the ConfigMaps have left, at most one chunk in each, and has the status say
// so; that it is truncated where there is not room for all of it.
func (p *Plan) split(a outbox.Artifact, c content, st *v1alpha1.ArtifactStatus) {
	pieces := p.cut(c)
	if pieces == nil {
		st.Truncated = true
		return
	}
	key := p.key(a, chunkSuffixes()...)
	size := 0
	for i, piece := range pieces {
		if len(piece) > 0 {
			size += encoded(v1alpha1.ArtifactChunk{
				ConfigMapRef: v1alpha1.KeyReference{Name: p.names[i], Key: chunkKey(key, MaxMaps)}, Size: int64(len(piece)), Digest: st.Digest,
			})
		}
	}
	if p.described+size > MaxDescribed {
		st.Truncated = true
		return
	}
	p.described += size
	for i, piece := range pieces {
		if len(piece) > 0 {
			ref := p.put(i, chunkKey(key, len(st.Chunks)+1), piece, c.text)
			st.Chunks = append(st.Chunks, v1alpha1.ArtifactChunk{ConfigMapRef: ref, Size: int64(len(piece)), Digest: digest(piece)})
		}
	}
}

// cut returns the pieces of a content by the number of the ConfigMap that each fits into; nil where they have no room for
// all of it. Text is not cut within a character, since a ConfigMap's text has to be UTF-8.
func (p *Plan) cut(c content) [][]byte {
	var pieces [][]byte
	rest := c.bytes
	for i := 0; i < len(p.names) && len(rest) > 0; i++ {
		n := min(len(rest), p.room(i))
		for c.text && n > 0 && n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	if len(rest) > 0 {
		return nil
	}
	return pieces
}
