// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"
)

// digester computes size and digest of a part's content from its JSON, piece by piece, as they would be of the whole.
type digester struct {
	member string
	hash   hash.Hash
	size   int64
	// rest is what a piece broke off in: an escape or a character, and in base64 a group of four.
	rest, group []byte
	// begun says that the opening quote was taken, and failed that the content is none.
	begun, failed bool
	// quoted and escaped are where data has broken off.
	quoted, escaped bool
}

func newDigester(member string) *digester { return &digester{member: member, hash: sha256.New()} }

func (d *digester) write(b []byte) {
	switch d.member {
	case "data":
		d.compact(b)
	case "text", "raw", "bytes":
		if !d.begun && len(b) > 0 {
			d.begun, d.failed = true, b[0] != '"'
			b = b[1:]
		}
		d.inString(b)
	default:
		d.failed = true
	}
}

// compact leaves out the white space between tokens, as encodeData does.
func (d *digester) compact(b []byte) {
	kept := make([]byte, 0, len(b))
	for _, c := range b {
		switch {
		case d.escaped:
			d.escaped = false
		case d.quoted && c == '\\':
			d.escaped = true
		case c == '"':
			d.quoted = !d.quoted
		case !d.quoted && c <= ' ':
			continue
		}
		kept = append(kept, c)
	}
	d.add(kept)
}

func (d *digester) inString(b []byte) {
	if d.failed {
		return
	}
	b = slices.Concat(d.rest, b)
	n := whole(b)
	d.rest = b[n:]
	d.content(b[:n])
}

func (d *digester) content(escaped []byte) {
	text, ok := unescape(escaped)
	d.failed = d.failed || !ok
	if d.member == "text" {
		d.add([]byte(text))
		return
	}
	d.group = append(d.group, strings.NewReplacer("-", "+", "_", "/", "=", "", "\r", "", "\n", "").Replace(text)...)
	n := len(d.group) / 4 * 4
	d.decode(d.group[:n])
	d.group = slices.Clone(d.group[n:])
}

func (d *digester) decode(group []byte) {
	content, err := base64.RawStdEncoding.DecodeString(string(group))
	d.failed = d.failed || err != nil
	d.add(content)
}

func (d *digester) add(content []byte) {
	_, _ = d.hash.Write(content) // it never fails
	d.size += int64(len(content))
}

// sum ends the content.
func (d *digester) sum() omission {
	if n := len(d.rest); n > 0 && d.rest[n-1] == '"' {
		d.content(d.rest[:n-1])
	}
	d.decode(d.group)
	if d.failed {
		return omission{}
	}
	return omission{Size: d.size, Digest: "sha256:" + hex.EncodeToString(d.hash.Sum(nil))}
}

// unescape reads what stands between the quotes of a JSON string, and reports whether that is one.
func unescape(b []byte) (string, bool) {
	var s string
	err := json.Unmarshal(slices.Concat([]byte{'"'}, b, []byte{'"'}), &s)
	return s, err == nil
}

// whole is how many of the bytes in a JSON string are whole characters, up to its end.
func whole(b []byte) int {
	for i := 0; i < len(b); {
		n := character(b[i:])
		if n == 0 {
			return i
		}
		i += n
	}
	return len(b)
}

// character is the length of the first character of some in a JSON string; 0 at the end, or where it is broken off. A pair
// of surrogates is one (RFC 8259, section 7).
func character(b []byte) int {
	switch {
	case b[0] == '"':
		return 0
	case b[0] == '\\':
		return escape(b)
	case b[0] < utf8.RuneSelf:
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	_, n := utf8.DecodeRune(b)
	return n
}

func escape(b []byte) int {
	const single, pair = 6, 12
	switch {
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < single:
		return 0
	case b[2]|0x20 != 'd' || !strings.ContainsRune("89abAB", rune(b[3])):
		return single
	case len(b) < pair:
		return 0
	case b[6] == '\\' && b[7] == 'u':
		return pair
	}
	return single
}
