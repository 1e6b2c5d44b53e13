// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// wholeShare is the share of the limit up to which a body is taken as it came.
	wholeShare = 8
	// readShare is how many times the limit is read of a body of which not all is kept.
	readShare = 16
	bodyChunk = 32 << 10
)

var errTooLarge = errors.New("the response is over the limit")

// errEnough says that no more is read of a response. What was read of it counts.
var errEnough = errors.New("enough of the response was read")

// readBody reads a body after decompression and keeps at most limit bytes. A long one that is JSON, or a gRPC message of
// the given type, goes through a sieve, so that a task is read whatever the length of its artifacts. Of that at most
// readShare times the limit is read; what comes after it counts as left out. transcoded says that the body is now the JSON
// form of the message that came.
func readBody(r io.Reader, limit int64, message protoreflect.MessageDescriptor) (body []byte, transcoded bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, limit/wholeShare+1))
	if err != nil || int64(len(body)) <= limit/wholeShare {
		return body, false, err
	}
	switch {
	case message != nil && framed(body):
		body, err = transcode(bufio.NewReader(io.MultiReader(bytes.NewReader(body), r)), limit, message)
		return body, true, err
	case !bytes.HasPrefix(bytes.TrimLeft(unmarked(body), " \t\r\n"), []byte("{")):
		body, err = readWhole(body, r, limit)
		return body, false, err
	}
	s := &sieve{limit: int(limit)}
	_, _ = s.Write(unmarked(body)) // it never fails
	err = s.readFrom(r, limit*readShare)
	return s.out, false, err
}

func readWhole(head []byte, r io.Reader, limit int64) ([]byte, error) {
	rest, err := io.ReadAll(io.LimitReader(r, limit+1-int64(len(head))))
	body := append(head, rest...)
	if int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, err
}

// readFrom reads the rest of a text, and ends it where more than most bytes come.
func (s *sieve) readFrom(r io.Reader, most int64) error {
	chunk := make([]byte, bodyChunk)
	for read := int64(0); ; {
		n, err := r.Read(chunk)
		read += int64(n)
		_, _ = s.Write(chunk[:n]) // it never fails
		switch over := s.enough(read, most); {
		case errors.Is(over, errEnough), over == nil && errors.Is(err, io.EOF):
			return nil
		case over != nil:
			return over
		case err != nil:
			return err
		}
	}
}

// enough ends the text after more than most bytes that were read: errEnough says that it did, and errTooLarge that it
// can't, or that too much has to be kept.
func (s *sieve) enough(read, most int64) error {
	switch {
	case s.full():
		return errTooLarge
	case read <= most || s.value == nil:
		return nil
	case !s.cutOff():
		return errTooLarge
	}
	s.seal()
	return errEnough
}
