// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"errors"
	"io"
)

const (
	// wholeShare is the share of the limit up to which a body is taken as it came.
	wholeShare = 8
	// readShare is how many times the limit is read of a body of which not all is kept.
	readShare = 16
	bodyChunk = 32 << 10
)

var errTooLarge = errors.New("the response is over the limit")

// readBody reads a body after decompression and keeps at most limit bytes. A long one that is JSON goes through a sieve, so
// that a task is read whatever the length of its artifacts. Of that at most readShare times the limit is read; what comes
// after it counts as left out.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit/wholeShare+1))
	if err != nil || int64(len(body)) <= limit/wholeShare {
		return body, err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(unmarked(body), " \t\r\n"), []byte("{")) {
		return readWhole(body, r, limit)
	}
	s := &sieve{limit: int(limit)}
	_, _ = s.Write(unmarked(body)) // it never fails
	err = s.readFrom(r, limit*readShare)
	return s.out, err
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
	for {
		n, err := r.Read(chunk)
		most -= int64(n)
		_, _ = s.Write(chunk[:n]) // it never fails
		switch {
		case s.full():
			return errTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case most < 0 && s.value != nil:
			if !s.cutOff() {
				return errTooLarge
			}
			s.seal()
			return nil
		}
	}
}
