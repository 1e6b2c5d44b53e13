// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
)

// lax is a JSON object of which each member is read by itself, so that one odd member does not cost the others. A task's
// id must not be lost because of the format of its timestamp.
type lax map[string]json.RawMessage

// object reads a JSON object; nil for anything else. A nil lax has no members.
func object(raw json.RawMessage) lax {
	var o lax
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// elements reads a JSON array; nil for anything else.
func elements(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// has reports whether the member is there and not null.
func (o lax) has(name string) bool {
	raw := bytes.TrimSpace(o[name])
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// text is a member that is a string; empty for any other.
func (o lax) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

// flag is a member that is a boolean; false for any other.
func (o lax) flag(name string) bool {
	var b bool
	return json.Unmarshal(o[name], &b) == nil && b
}

// isText reports whether the member is a string.
func (o lax) isText(name string) bool {
	var s string
	return o.has(name) && json.Unmarshal(o[name], &s) == nil
}

// pick returns those of the members that are there, as they came.
func (o lax) pick(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if o.has(name) {
			out[name] = o[name]
		}
	}
	return out
}
