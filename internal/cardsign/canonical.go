// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/gowebpki/jcs"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// signaturesMember holds the signatures; it is never part of what is signed (A2A 1.0, section 8.4.1).
const signaturesMember = "signatures"

var errNoObject = errors.New("it is no JSON object")

// card is an agent card whose text everybody reads in the same way.
type card struct {
	// members are those of the card, with numbers as they stand in the canonical form.
	members map[string]any
}

// read takes a card apart. What readers don't agree on is refused, since the one who signed and the one who uses the card
// could be shown different cards: names that occur twice, lone surrogates, bytes that are no UTF-8, numbers beyond a double
// (RFC 8785, section 3.1; RFC 7493, section 2).
func read(document []byte) (card, error) {
	canonical, err := jcs.Transform(document)
	if err != nil {
		return card{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(canonical))
	decoder.UseNumber()
	var c card
	if err := decoder.Decode(&c.members); err != nil || c.members == nil {
		return card{}, fmt.Errorf("%w: %w", ErrMalformed, errNoObject)
	}
	return c, nil
}

// payloads returns the bytes that a signature of the card may be of, each once.
//
// Section 8.4.1 of A2A 1.0 has members with default values removed before canonicalization, all but those that are REQUIRED
// or optional in the protocol's Protocol Buffers definition. The SDKs that sign cards remove others, and those who sign a
// document as it is remove none. It is safe to try all: a signature that verifies is of the bytes that it verifies, and only
// these are used afterwards, whatever way they were derived from what the server sent.
func (c card) payloads() ([][]byte, error) {
	served := without(c.members)
	descriptor := (&a2apb.AgentCard{}).ProtoReflect().Descriptor()
	specified := form{keeps: presentOrRequired, unknown: true}.message(served, descriptor)
	generated, _ := compact(form{keeps: protoreflect.FieldDescriptor.HasPresence}.message(served, descriptor)).(map[string]any)
	var all [][]byte
	for _, members := range []map[string]any{served, specified, generated} {
		text, err := json.Marshal(members)
		if err == nil {
			text, err = jcs.Transform(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if !holds(all, text) {
			all = append(all, text)
		}
	}
	return all, nil
}

func holds(all [][]byte, text []byte) bool {
	for _, one := range all {
		if bytes.Equal(one, text) {
			return true
		}
	}
	return false
}

func without(members map[string]any) map[string]any {
	out := make(map[string]any, len(members))
	for name, value := range members {
		if name != signaturesMember {
			out[name] = value
		}
	}
	return out
}

// form says which members of a Protocol Buffers message's JSON are signed.
type form struct {
	// keeps says of which fields the default value is kept. A null stands for a field that is not set and is never kept.
	keeps func(protoreflect.FieldDescriptor) bool
	// unknown says that members which the message does not have are kept, as they are.
	unknown bool
}

// presentOrRequired is the rule of A2A 1.0, section 8.4.1.
func presentOrRequired(f protoreflect.FieldDescriptor) bool {
	behaviors, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	for _, b := range behaviors {
		if b == annotations.FieldBehavior_REQUIRED {
			return true
		}
	}
	return f.HasPresence()
}

func (w form) message(members map[string]any, d protoreflect.MessageDescriptor) map[string]any {
	out := make(map[string]any, len(members))
	for name, value := range members {
		f := d.Fields().ByJSONName(name)
		switch {
		case f == nil && w.unknown:
			out[name] = value
		case f == nil, value == nil, isDefault(value) && !w.keeps(f):
		default:
			out[name] = w.field(value, f)
		}
	}
	return out
}

// field goes into what a field holds. A value of another type than the field's is left as it is.
func (w form) field(value any, f protoreflect.FieldDescriptor) any {
	of := f.Message()
	if f.IsMap() {
		of = f.MapValue().Message()
	}
	// A Struct holds what its writer put there, and no fields.
	if of == nil || of.ParentFile().Package() == "google.protobuf" {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		if !f.IsMap() {
			return w.message(v, of)
		}
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = w.element(one, of)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = w.element(one, of)
		}
		return out
	}
	return value
}

func (w form) element(value any, of protoreflect.MessageDescriptor) any {
	if members, ok := value.(map[string]any); ok {
		return w.message(members, of)
	}
	return value
}

// isDefault reports whether a value is what a field without presence has when it is not set (ProtoJSON).
func isDefault(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case json.Number:
		return v == "0"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// compact removes what is empty at any depth, from lists too: null, "", [] and {}. It returns nil where nothing is left.
func compact(value any) any {
	switch v := value.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []any:
		var out []any
		for _, one := range v {
			if kept := compact(one); kept != nil {
				out = append(out, kept)
			}
		}
		if out == nil {
			return nil
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, one := range v {
			if kept := compact(one); kept != nil {
				out[name] = kept
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return value
}
