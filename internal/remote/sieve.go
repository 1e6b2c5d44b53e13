// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"slices"
)

const (
	// shortValue is how long a value may always be, in bytes of JSON: longer than all that is kept of a text that is no
	// artifact.
	shortValue = maxReply + 64
	// mostElements is how many artifacts of a task are kept, and parts of an artifact.
	mostElements = 4096
	// longestName is how much of a member's name is compared.
	longestName = 64
)

// structure are the members that lead to what is read of an answer. The values of all others are taken or left whole.
var structure = []string{"result", "task", "tasks", "status", "message", "history", "artifacts", "parts", "file"}

// sieve reads JSON of any length and keeps a JSON text of at most limit bytes, in the order of limit in memory. The value
// of a member that is too long is replaced and, where it is content, described by an omission next to it. Artifacts and
// parts for which no space is left are left out and counted. All messages of a history stay, since one that is missing
// would say that a message has not arrived.
type sieve struct {
	out   []byte
	limit int
	stack []frame
	// value is the one that is being taken or left whole; nil between them. depth is that of the brackets within it.
	value *value
	depth int
	// quoted, escaped and bare say what the last byte was in: a string, behind a backslash of one, a number or a word.
	quoted, escaped, bare bool
	// name collects a member's name; nil when it is no name.
	name []byte
}

// frame is an object or an array that is open.
type frame struct {
	array bool
	// under is the name of the member that it is the value of.
	under string
	// member is the name that an object gave last, and named says that its value comes next.
	member string
	named  bool
	// kept and left are how many elements an array has had.
	kept, left int
}

// droppable reports whether it is an array of which elements may be left out.
func (f frame) droppable() bool { return f.array && (f.under == "artifacts" || f.under == "parts") }

// full reports whether what cannot be left out takes more than the limit.
func (s *sieve) full() bool { return len(s.out) > s.limit }

// Write takes the next bytes.
func (s *sieve) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && !s.full() {
		if s.quoted {
			b = s.inString(b)
			continue
		}
		s.step(b[0])
		b = b[1:]
	}
	return n, nil
}

// inString takes bytes of a string up to its end.
func (s *sieve) inString(b []byte) []byte {
	i, ended := 0, false
	for i < len(b) && !ended {
		switch {
		case s.escaped:
			s.escaped = false
		case b[i] == '\\':
			s.escaped = true
		case b[i] == '"':
			ended = true
		}
		i++
	}
	s.emit(b[:i])
	if s.name != nil && len(s.name) <= longestName {
		s.name = append(s.name, b[:min(i, longestName)]...)
	}
	if ended {
		s.quoted = false
		s.endString()
	}
	return b[i:]
}

func (s *sieve) endString() {
	if s.name == nil {
		s.end()
		return
	}
	top := &s.stack[len(s.stack)-1]
	if json.Unmarshal(s.name, &top.member) != nil {
		top.member = ""
	}
	s.name = nil
}

// step takes a byte outside of strings.
func (s *sieve) step(c byte) {
	if s.bare && endsBare(c) {
		s.bare = false
		s.end()
	}
	switch {
	case s.value != nil:
		s.within(c)
	case c == '}' || c == ']':
		s.close(c)
	case c == ':' || c == ',':
		s.separate(c)
	case c == '"' && s.namesNext():
		s.quoted, s.name = true, []byte{c}
		s.emit([]byte{c})
	case s.bare, c <= ' ':
		s.emit([]byte{c})
	default:
		s.begin(c)
	}
}

// endsBare reports whether a byte ends a number or a word.
func endsBare(c byte) bool { return c == ',' || c == ']' || c == '}' || c <= ' ' }

// within takes a byte of a value that is not looked into.
func (s *sieve) within(c byte) {
	s.emit([]byte{c})
	switch c {
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
	case '"':
		s.quoted = true
		return
	}
	if s.depth == 0 && (c == '}' || c == ']') {
		s.end()
	}
}

func (s *sieve) namesNext() bool {
	n := len(s.stack)
	return n > 0 && !s.stack[n-1].array && !s.stack[n-1].named
}

// separate takes what stands between values. The commas of an array are written with its elements.
func (s *sieve) separate(c byte) {
	if n := len(s.stack); n > 0 {
		s.stack[n-1].named = c == ':'
		if s.stack[n-1].array && c == ',' {
			return
		}
	}
	s.emit([]byte{c})
}

// begin takes the first byte of a value.
func (s *sieve) begin(c byte) {
	under := ""
	if n := len(s.stack); n > 0 {
		top := &s.stack[n-1]
		under = top.member
		switch {
		case top.array && s.leaves(top):
			top.left++
			s.value = &value{sieve: s, start: len(s.out), dropped: true}
		case top.array:
			if under = ""; top.kept > 0 {
				s.emit([]byte{','})
			}
			top.kept++
		case !slices.Contains(structure, under):
			s.value = &value{sieve: s, start: len(s.out), limit: s.room(), member: under}
		}
	}
	s.quoted = c == '"'
	s.bare = !s.quoted && c != '{' && c != '['
	switch {
	case s.value != nil && !s.quoted && !s.bare:
		s.depth = 1
	case s.value == nil && !s.quoted && !s.bare:
		s.stack = append(s.stack, frame{array: c == '[', under: under})
	}
	s.emit([]byte{c})
}

// leaves reports whether the next element of an array is left out.
func (s *sieve) leaves(array *frame) bool {
	return array.droppable() && (array.kept == mostElements || len(s.out) > s.limit/2)
}

// room is how long the next value may be. The content of a history is never used.
func (s *sieve) room() int {
	if s.below("history") || len(s.out) > s.limit/4 {
		return min(shortValue, s.limit/8)
	}
	return s.limit / 8
}

// below reports whether an open object or array is the value of one of these members.
func (s *sieve) below(members ...string) bool {
	return slices.ContainsFunc(s.stack, func(f frame) bool { return slices.Contains(members, f.under) })
}

// end follows the last byte of a value.
func (s *sieve) end() {
	if s.value == nil || s.depth > 0 {
		return
	}
	v := s.value
	s.value = nil
	s.emit(v.replacement())
}

// close takes the end of an object or an array; of one that was not open, so that the text is no JSON, as it came.
func (s *sieve) close(c byte) {
	s.emit([]byte{c})
	n := len(s.stack)
	if n == 0 {
		return
	}
	top := s.stack[n-1]
	s.stack = s.stack[:n-1]
	if top.left > 0 && n > 1 && !s.stack[n-2].array {
		s.emit(omission{Elements: top.left}.member())
	}
}

// cutOff reports whether the text may end here: within a value that is none of a history or of a listing, from which it
// would be concluded that there is no more.
func (s *sieve) cutOff() bool { return s.value != nil && !s.below("history", "tasks") }

// seal ends the text, where cutOff reports that it may end.
func (s *sieve) seal() {
	v := s.value
	s.value = nil
	if !v.dropped {
		s.out = append(s.out[:v.start], "null"...)
		if slices.Contains(contents, v.member) {
			s.emit(omission{}.member())
		}
	}
	for n := len(s.stack); n > 0; n-- {
		top := &s.stack[n-1]
		if top.droppable() {
			top.left++
		}
		if top.array {
			s.close(']')
		} else {
			s.close('}')
		}
	}
}

// emit passes bytes on.
func (s *sieve) emit(b []byte) {
	if s.value != nil {
		s.value.take(b)
		return
	}
	s.out = append(s.out, b...)
}
