// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"encoding/json"
	"strings"
)

// twice reports whether an object has one of the members more than once. Go's readers take names in any case, and those of
// other languages as they are.
func twice(body []byte, names ...string) bool {
	decoder := json.NewDecoder(bytes.NewReader(unmarked(body)))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return false
		}
		for _, n := range names {
			if strings.EqualFold(name.(string), n) { // the decoder lets nothing else be a name
				if seen[n] {
					return true
				}
				seen[n] = true
			}
		}
	}
	return false
}

// decode reads the first value of a body, as agents do that read requests as a stream; a byte order mark is skipped. A body
// that is one value, as nearly all are, needs no copy for that.
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
