// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"slices"
	"testing"
)

// However a stream is cut into pieces, it has the same events, and none takes more than its share.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		"data: x\n\n", "\xEF\xBB\xBFdata:x\r\n\r\n", "data: a\rdata: b\r\r", ": c\n\nevent: e\ndata\n\n", "data: x\n\r\n", "\r\r\n\n", "dat", "data: {}\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Add(slices.Concat([]byte("data: "), bytes.Repeat([]byte("x"), maxEvent+9), []byte("\n\n")), uint8(100))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, pieces := split(t, stream, len(stream)), split(t, stream, max(int(size), 1))
		if !slices.EqualFunc(whole, pieces, func(a, b event) bool { return bytes.Equal(a.data, b.data) && a.cut == b.cut }) {
			t.Errorf("%v in one piece, %v in pieces of %d", whole, pieces, size)
		}
	})
}

func split(t *testing.T, stream []byte, size int) []event {
	var got []event
	s := &events{}
	for piece := range slices.Chunk(stream, max(size, 1)) {
		s.feed(piece, func(e event) bool {
			got = append(got, event{data: bytes.Clone(e.data), cut: e.cut})
			return true
		})
		if len(s.line) > maxEvent || len(s.event.data) > maxEvent {
			t.Fatalf("holds a line of %d and an event of %d bytes", len(s.line), len(s.event.data))
		}
	}
	return got
}
