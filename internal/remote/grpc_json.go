// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
)

// members are those that an object has so far.
type members struct {
	fields []protoreflect.FieldDescriptor
	list   bool
}

// next is what stands before the value of a field. It is none where the elements of a list do not follow one another, or
// what is no list, or one of several that exclude each other, comes again, which no encoder writes: a list of which a piece
// is lost, as a history, would say that a message has not arrived.
func (m *members) next(f protoreflect.FieldDescriptor) ([]byte, bool) {
	n := len(m.fields)
	if m.list && m.fields[n-1] == f {
		return []byte{','}, true
	}
	again := func(g protoreflect.FieldDescriptor) bool {
		return g == f || f.ContainingOneof() != nil && g.ContainingOneof() == f.ContainingOneof()
	}
	if slices.ContainsFunc(m.fields, again) {
		return nil, false
	}
	var b []byte
	if m.list {
		b = append(b, ']')
	}
	if n > 0 {
		b = append(b, ',')
	}
	b = append(append(b, encodeData(f.JSONName())...), ':')
	if m.list = f.IsList(); m.list {
		b = append(b, '[')
	}
	m.fields = append(m.fields, f)
	return b, true
}

func (m *members) end() []byte {
	if m.list {
		return []byte("]}")
	}
	return []byte{'}'}
}

// appendEscaped adds a piece of a text as it stands in a JSON string (RFC 8259, section 7).
func appendEscaped(out, text []byte) []byte {
	for _, c := range text {
		switch {
		case c == '"', c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', "01"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

// plainJSON is the JSON form of a value of a well-known type. A time beyond the year 9999 has none.
func plainJSON(name protoreflect.FullName, raw []byte) ([]byte, bool) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, false
	}
	m := kind.New().Interface()
	if proto.Unmarshal(raw, m) != nil {
		return nil, false
	}
	if data, ok := m.(*structpb.Value); ok {
		plainValue(data)
	}
	plain, err := protojson.Marshal(m)
	return plain, err == nil
}
