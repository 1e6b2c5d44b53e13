// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rawjson takes JSON objects and arrays apart and leaves what is in them as it is.
//
// It is for text that was found valid, by [json.Valid] or by having come out of a decoder: every piece of it is valid too,
// so that each byte is looked at once on the way, and nothing is copied. Of other text the pieces are arbitrary.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Member is one member of an object.
type Member struct {
	// Name is the member's name, as encoding/json reads it.
	Name string
	// Value is a piece of the text, without white space around it.
	Value json.RawMessage
	// Text is the piece of the text from the name to the value.
	Text []byte
}

// Members are the members of an object in the order of its text, also those that occur more than once. There are none in
// what is no object.
func Members(text []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for rest := range within(text, '{') {
			quoted := endOfString(rest)
			colon := quoted + bytes.IndexByte(rest[quoted:], ':')
			if colon < quoted {
				return
			}
			value := trimmed(rest[colon+1:])
			if !yield(Member{Name: unquoted(rest[:quoted]), Value: value, Text: rest}) {
				return
			}
		}
	}
}

// Elements are the elements of an array. There are none in what is no array.
func Elements(text []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for element := range within(text, '[') {
			if !yield(element) {
				return
			}
		}
	}
}

// within are the pieces between the commas of an object or an array.
func within(text []byte, open byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		text = trimmed(text)
		if len(text) < 2 || text[0] != open {
			return
		}
		for rest := trimmed(text[1 : len(text)-1]); len(rest) > 0; {
			end := comma(rest)
			if !yield(trimmed(rest[:end])) || end == len(rest) {
				return
			}
			rest = rest[end+1:]
		}
	}
}

// comma is the index of the first comma that is within nothing; the length of the text where there is none.
func comma(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += endOfString(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// endOfString is the index behind the string that text begins with.
func endOfString(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquoted is the string in a literal. Most names are plain ASCII, which need not be decoded.
func unquoted(literal []byte) string {
	for _, b := range literal {
		if b == '\\' || b >= 0x80 {
			var name string
			_ = json.Unmarshal(literal, &name) // it is valid
			return name
		}
	}
	return string(literal[1 : len(literal)-1])
}

func trimmed(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }
