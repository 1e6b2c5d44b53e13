// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gowebpki/jcs"
)

var (
	errNotObject = errors.New("must be a JSON object")
	errTwice     = errors.New("name occurs twice")
)

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members takes a JSON object apart, in the order of its text.
func members(text json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil {
		return nil, unexpectedEnd(err)
	} else if open != json.Delim('{') {
		return nil, errNotObject
	}
	var all []member
	seen := make(map[string]bool)
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, unexpectedEnd(err)
		}
		m := member{name: name.(string)} // the decoder lets nothing else be a name
		if seen[m.name] {
			return nil, fmt.Errorf("%w: %.100q", errTwice, m.name)
		}
		seen[m.name] = true
		if err := decoder.Decode(&m.value); err != nil {
			return nil, unexpectedEnd(err)
		}
		all = append(all, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, unexpectedEnd(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotObject
	}
	return all, nil
}

// unexpectedEnd keeps the end of a text within an object from looking like the end of a stream.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// object puts members together again, in the order given, which must be the canonical one. The values
// must be canonical.
func object(all []member) ([]byte, error) {
	texts := make([][]byte, 0, len(all))
	for _, m := range all {
		name, err := json.Marshal(m.name)
		if err == nil {
			name, err = jcs.Transform(name)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, slices.Concat(name, []byte{':'}, m.value))
	}
	return join('{', texts, '}'), nil
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
