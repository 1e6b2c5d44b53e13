// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/rawjson"
)

// FuzzPieces requires that valid text comes apart as encoding/json takes it apart.
func FuzzPieces(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `{ }`, ` [ 1 , "a,b" , [2,3],{"x":"]"} ] `, "{\"a\" :\t1 ,\r\n\"b\":{\"c\":[\",\"]}}", `{"a":1,"a":2,"A":3}`,
		`{"m\u0065thod":"x\"y\\","ſ":null,"":true}`, `"{}"`, `null`, `7`, `[""]`, "{\"\xff\":1}", `{"a:b":"c:d"}`, `{"`, `{"a"}`, `[`, `{1}`, `{"\`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		members, elements := slices.Collect(rawjson.Members(text)), slices.Collect(rawjson.Elements(text))
		if !json.Valid(text) {
			return // it ends, and does not panic
		}
		names, values := decoded(t, text)
		if len(names) != len(members) || len(names) == 0 && len(values) != len(elements) {
			t.Fatalf("%d members and %d elements, want %d and of these %d", len(members), len(elements), len(values), len(names))
		}
		for i, m := range members {
			if m.Name != names[i] || !bytes.Equal(m.Value, values[i]) || !json.Valid(slices.Concat([]byte{'{'}, m.Text, []byte{'}'})) {
				t.Errorf("member %d is %q: %q of %q, want %q: %q", i, m.Name, m.Value, m.Text, names[i], values[i])
			}
		}
		for i, element := range elements {
			if !bytes.Equal(element, values[i]) {
				t.Errorf("element %d is %q, want %q", i, element, values[i])
			}
		}
	})
}

// decoded is what a decoder makes of an object or an array; elements have no names.
func decoded(t *testing.T, text []byte) (names []string, values []json.RawMessage) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // one may be beyond a float64
	open, err := decoder.Token()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil, nil
	}
	for decoder.More() {
		if open == json.Delim('{') {
			name, err := decoder.Token()
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name.(string))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return names, values
}
