// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/rawjson"
)

// member is what an object has under a name: the last value, as readers take it that allow more than one, and how many.
type member struct {
	value json.RawMessage
	times int
}

// pick finds members of an object, which has to be valid, in the order of the names. Go's readers take names in any case, and
// those of other languages as they are, so that members count as one that differ by their case alone.
func pick(object []byte, names ...string) []member {
	all := make([]member, len(names))
	for m := range rawjson.Members(object) {
		for i, name := range names {
			if strings.EqualFold(m.Name, name) {
				all[i].value = m.Value
				all[i].times++
			}
		}
	}
	return all
}

// twice reports whether one of the members was there more than once.
func twice(members ...member) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.times > 1 })
}

// value is the first value of a body, as agents read it that read requests as a stream; a byte order mark is skipped. It is
// valid, and nil where there is none.
func value(body []byte) json.RawMessage {
	body = unmarked(body)
	if json.Valid(body) {
		return bytes.TrimSpace(body)
	}
	var one json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&one) != nil {
		return nil
	}
	return one
}

// decode reads the first value of a body, see value. A body that is one value, as nearly all are, needs no copy for that.
func decode(body []byte, into any) error {
	body = unmarked(body)
	if json.Unmarshal(body, into) == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(into)
}

// decodes reports whether decode found what was wanted.
func decodes(body []byte, into any) bool { return decode(body, into) == nil }

// first is the first byte of a body that is no white space; 0 for an empty one.
func first(body []byte) byte {
	body = bytes.TrimLeft(unmarked(body), " \t\r\n")
	if len(body) == 0 {
		return 0
	}
	return body[0]
}

func unmarked(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF")) }

// text is the string in raw; empty where there is none.
func text(raw json.RawMessage) string {
	if first(raw) != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
