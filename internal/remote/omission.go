// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// omitted is the name of the member that describes what was left out of the object it is in. No agent knows it.
var omitted = "omitted-" + uuid.NewString()

// omission is what is known of what was left out.
type omission struct {
	// Size and Digest are those of the content, as an artifact's are; zero and empty where the content is none.
	Size   int64  `json:"size,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Elements is how many artifacts of a task, or parts of an artifact, there were besides.
	Elements int `json:"elements,omitempty"`
}

// member is the omission as a further member of an object.
func (o omission) member() []byte {
	return slices.Concat([]byte(`,"`+omitted+`":`), encodeData(o))
}

// omission is the one that an object has.
func (o lax) omission() (omission, bool) {
	var om omission
	raw, ok := o[omitted]
	return om, ok && json.Unmarshal(raw, &om) == nil
}

// omissions is the same as the metadata of what the object is read into; nil where nothing was left out. The agent's own
// metadata is not read.
func (o lax) omissions() map[string]any {
	if om, ok := o.omission(); ok {
		return map[string]any{omitted: om}
	}
	return nil
}

// omissionOf is what omissions put into metadata.
func omissionOf(metadata map[string]any) (omission, bool) {
	om, ok := metadata[omitted].(omission)
	return om, ok
}

// longestHead is how much is looked at of a text that does not fit, in bytes of JSON, of which an escape takes six for one.
const longestHead = 6 * maxReply

// contents are the members that hold a part's content: of a Part (A2A 1.0, section 4.1.6), and of the file in one (A2A
// 0.3, section 6.6).
var contents = []string{"text", "raw", "data", "url", "bytes", "uri"}

// value is a member's value that is taken whole or, when it gets longer than its limit, left out; or an element that is
// left out.
type value struct {
	sieve   *sieve
	start   int
	limit   int
	member  string
	dropped bool
	// over reads what does not fit; nil as long as it does.
	over *digester
	// head is the beginning of a value that does not fit.
	head []byte
}

func (v *value) take(b []byte) {
	s := v.sieve
	switch {
	case v.dropped:
	case v.over != nil:
		v.over.write(b)
		if v.head != nil {
			// What is shown must not depend on the pieces that a text came in.
			v.head = append(v.head, b[:min(len(b), longestHead-len(v.head))]...)
		}
	case len(s.out)-v.start+len(b) <= v.limit:
		s.out = append(s.out, b...)
	default:
		v.over = newDigester(v.member)
		v.over.write(s.out[v.start:])
		v.over.write(b)
		if v.member == "text" && !s.below("artifacts", "history") {
			v.head = slices.Concat(s.out[v.start:], b)
			v.head = slices.Clone(v.head[:min(len(v.head), longestHead)])
		}
		s.out = s.out[:v.start]
	}
}

// replacement is what stands for a value that did not fit. A text keeps its beginning, which is all that is shown of one
// that is no artifact.
func (v *value) replacement() []byte {
	if v.over == nil {
		return nil
	}
	om := v.over.sum()
	switch {
	case !slices.Contains(contents, v.member):
		return []byte("null")
	case len(v.head) > 0 && v.head[0] == '"':
		head, _ := unescape(v.head[1:][:whole(v.head[1:])]) // empty where it is none
		return slices.Concat(encodeData(head), om.member())
	case v.member == "data":
		return slices.Concat([]byte("null"), om.member())
	}
	return slices.Concat([]byte(`""`), om.member())
}
