// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package streamlist

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/json"
)

var errDecode = errors.New("not an object of this kind")

// named decodes what has a name.
func named(text []byte) (runtime.Object, error) {
	o := &metav1.PartialObjectMetadata{}
	if err := json.UnmarshalCaseSensitivePreserveInts(text, o); err != nil {
		return nil, err
	}
	if o.Name == "" {
		return nil, errDecode
	}
	return o, nil
}

func TestTake(t *testing.T) {
	t.Parallel()
	many := make([]string, 10*chunk+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"metadata":{"name":"%d"}}`, i)
	}
	for _, c := range []struct {
		name, text string
		objects    int
		rest       string
		err        error
	}{
		{"none", `{"kind":"L","items":[],"metadata":{"resourceVersion":"7"}}`, 0, `{"kind":"L","metadata":{"resourceVersion":"7"}}`, nil},
		{"no items", `{"kind":"L"}`, 0, `{"kind":"L"}`, nil},
		{"null", `{"items":null,"kind":"L"}`, 0, `{"kind":"L"}`, nil},
		{"one", `{"kind":"L","items":[{"metadata":{"name":"a"}}]}`, 1, `{"kind":"L"}`, nil},
		{"many", `{"items":[` + strings.Join(many, ",") + `],"kind":"L"}` + "\n", len(many), `{"kind":"L"}`, nil},
		{"one that can't be decoded among many", `{"items":[` + strings.Join(many, ",") + `,{}]}`, 0, "", errDecode},
		{"cut off in an object", `{"kind":"L","items":[{"metadata":{"na`, 0, "", io.ErrUnexpectedEOF},
		{"cut off between objects", `{"kind":"L","items":[{"metadata":{"name":"a"}},`, 0, "", io.ErrUnexpectedEOF},
		{"cut off after the objects", `{"kind":"L","items":[{"metadata":{"name":"a"}}]`, 0, "", io.ErrUnexpectedEOF},
		{"names that come twice, and text that is not UTF-8", `{"items":[{"x":1,"x":2,"metadata":{"name":"a` + "\xff" + `","uid":"1"}}],"kind":"L","kind":"M"}`, 1, `{"kind":"M"}`, nil},
		{"something after the list", `{"kind":"L"}{`, 0, "", ErrList},
		{"empty", "", 0, "", ErrList},
		{"not JSON", "<html>", 0, "", ErrList},
		{"no object", "[]", 0, "", ErrList},
		{"items that are no array", `{"items":{}}`, 0, "", ErrList},
		{"items that are no objects", `{"items":[{"metadata":{"name":"a"}},1]}`, 0, "", ErrList},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &sink{decode: named}
			rest, err := s.take(iotest.OneByteReader(strings.NewReader(c.text)))
			if !errors.Is(err, c.err) || (c.err != nil && !errors.Is(err, ErrList)) {
				t.Fatalf("error %v; want %v", err, c.err)
			}
			if c.err != nil {
				return
			}
			if string(rest) != c.rest && !sameJSON(t, rest, c.rest) {
				t.Errorf("left %s; want %s", rest, c.rest)
			}
			names := map[string]bool{}
			for _, o := range s.objects {
				names[o.Object.(metav1.Object).GetName()] = true
			}
			if len(names) != c.objects || len(s.objects) != c.objects {
				t.Errorf("%d objects of %d names; want %d", len(s.objects), len(names), c.objects)
			}
		})
	}
}

func sameJSON(t *testing.T, a []byte, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.UnmarshalCaseSensitivePreserveInts(a, &x), json.UnmarshalCaseSensitivePreserveInts([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}

// endless is a list that goes on for ever.
type endless struct{ reads int }

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	return copy(p, `{"metadata":{"name":"a"}},`), nil
}

// After an object that can't be decoded the rest is not read, and the error stays.
func TestTheFirstErrorEndsIt(t *testing.T) {
	t.Parallel()
	rest := &endless{}
	b := &body{from: io.NopCloser(io.MultiReader(strings.NewReader(`{"items":[{},`), rest)), sink: &sink{decode: named}}
	for range 2 {
		reads := rest.reads
		if n, err := b.Read(make([]byte, 8)); n != 0 || !errors.Is(err, errDecode) {
			t.Errorf("read %d bytes, %v; want %v", n, err, errDecode)
		}
		if reads > 0 && rest.reads != reads {
			t.Errorf("read on after the error")
		}
	}
}
