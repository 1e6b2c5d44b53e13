// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package streamlist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	goruntime "runtime"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrList is a list that is none.
var ErrList = errors.New("the API server's list can't be read")

// Lenient reads what client-go reads: names that come twice, and text that is not UTF-8. One such object must not keep all
// others away.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// chunk is how many objects are handed to a decoder at once.
const chunk = 32

// sinkKey is the key of the sink in a request's context.
type sinkKey struct{}

// sink takes the objects of a list.
type sink struct {
	decode Decode
	// used is whether the objects went here, and not to the client.
	used    bool
	mu      sync.Mutex
	objects []runtime.RawExtension
}

// transport diverts the objects of a list to the sink of its request.
type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	s, ok := r.Context().Value(sinkKey{}).(*sink)
	if !ok {
		return t.next.RoundTrip(r)
	}
	s.used, s.objects = false, nil // client-go may ask again
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || !isJSON(response.Header) {
		return response, err
	}
	s.used = true
	response.Body = &body{from: response.Body, sink: s}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	return response, nil
}

func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// body is a list without its objects, which the first read brings to the sink.
type body struct {
	from io.ReadCloser
	sink *sink
	rest io.Reader
	// err is what became of the first read; nothing is read after it.
	err error
}

func (b *body) Read(p []byte) (int, error) {
	if b.rest == nil {
		var rest []byte
		rest, b.err = b.sink.take(b.from)
		b.rest = bytes.NewReader(rest)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.rest.Read(p)
}

func (b *body) Close() error { return b.from.Close() }

// take decodes the objects of a list as they come, and returns the list without them.
func (s *sink) take(from io.Reader) ([]byte, error) {
	in := jsontext.NewDecoder(from, Lenient)
	rest := map[string]jsontext.Value{}
	if err := expect(in, '{'); err != nil {
		return nil, err
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, unreadable(err)
		}
		if member := name.String(); member == "items" {
			err = s.takeItems(in)
		} else {
			rest[member], err = next(in)
		}
		if err != nil {
			return nil, unreadable(err)
		}
	}
	if err := expect(in, '}'); err != nil {
		return nil, err
	}
	// To the end, where a compressed body is checked and the connection becomes free.
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something comes after it", ErrList)
	}
	return json.Marshal(rest, Lenient)
}

// takeItems decodes the array that follows, several objects at once: who reads them from the connection is not who decodes.
func (s *sink) takeItems(in *jsontext.Decoder) error {
	if in.PeekKind() == 'n' {
		return in.SkipValue()
	}
	if err := expect(in, '['); err != nil {
		return err
	}
	decoders, failed := errgroup.WithContext(context.Background())
	decoders.SetLimit(goruntime.GOMAXPROCS(0))
	reading := chunks(in, func(texts []jsontext.Value) bool {
		decoders.Go(func() error { return s.add(texts) })
		return failed.Err() == nil
	})
	// What can't be decoded is why the reading stopped, where it did.
	if err := decoders.Wait(); err != nil {
		return err
	}
	if reading != nil {
		return reading
	}
	return expect(in, ']')
}

// chunks hands out the values of an array until out wants no more.
func chunks(in *jsontext.Decoder, out func([]jsontext.Value) bool) error {
	var texts []jsontext.Value
	for in.PeekKind() == '{' {
		text, err := next(in)
		if err != nil {
			return err
		}
		if texts = append(texts, text); len(texts) == chunk {
			if !out(texts) {
				return nil
			}
			texts = nil
		}
	}
	if len(texts) > 0 {
		out(texts)
	}
	return nil
}

func (s *sink) add(texts []jsontext.Value) error {
	out := make([]runtime.RawExtension, len(texts))
	for i, text := range texts {
		o, err := s.decode(text)
		if err != nil {
			return err
		}
		out[i].Object = o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = append(s.objects, out...)
	return nil
}

// next reads a value, which outlives the decoder's memory.
func next(in *jsontext.Decoder) (jsontext.Value, error) {
	value, err := in.ReadValue()
	return value.Clone(), err
}

func expect(in *jsontext.Decoder, want jsontext.Kind) error {
	switch got, err := in.ReadToken(); {
	case err != nil:
		return unreadable(err)
	case got.Kind() != want:
		return fmt.Errorf("%w: %s where %s should be", ErrList, got.Kind(), want)
	}
	return nil
}

func unreadable(err error) error {
	if errors.Is(err, ErrList) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrList, err)
}
