// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/delegation-dev/delegation-operator/internal/rawjson"
)

var (
	errNotObject = errors.New("must be a JSON object")
	errNotArray  = errors.New("must be a JSON array")
	errTwice     = errors.New("name occurs twice")
)

// members takes a JSON object apart, in the order of its text, which has to be valid.
func members(text json.RawMessage) ([]rawjson.Member, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return nil, errNotObject
	}
	var all []rawjson.Member
	seen := map[string]bool{}
	for m := range rawjson.Members(text) {
		if seen[m.Name] {
			return nil, fmt.Errorf("%w: %.100q", errTwice, m.Name)
		}
		seen[m.Name] = true
		all = append(all, m)
	}
	return all, nil
}

func join(open byte, texts [][]byte, end byte) []byte {
	return slices.Concat([]byte{open}, bytes.Join(texts, []byte{','}), []byte{end})
}

func null(value json.RawMessage) bool { return string(value) == "null" }

// empty reports whether a value is null or has nothing in it.
func empty(value json.RawMessage) bool {
	switch string(value) {
	case "null", `""`, "[]", "{}":
		return true
	}
	// Between brackets there may be white space, as long as the text is not canonical.
	inner, list := bytes.CutPrefix(value, []byte{'['})
	inner, closed := bytes.CutSuffix(inner, []byte{']'})
	return list && closed && len(bytes.TrimSpace(inner)) == 0
}
