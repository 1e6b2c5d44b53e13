// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// isStream reports whether a response is a stream of server-sent events.
func isStream(h http.Header) bool { return mediaType(h.Get("Content-Type")) == sseType }

// firstFinding reads a stream up to the end of the first event that proves something, or tells an error. head is what
// was read, to be passed on in front of the rest. It returns io.EOF for a stream that ended before, and errLarge.
func firstFinding(c *call, stream io.Reader, limit int64) (head []byte, f finding, err error) {
	scan := eventScanner{}
	chunk := make([]byte, 4096)
	for int64(len(head)) <= limit {
		n, err := stream.Read(chunk)
		head = append(head, chunk[:n]...)
		for {
			data, ok := scan.next(head)
			if !ok {
				break
			}
			if f := judgeEvent(c, data); f.proof != open || f.fault != "" {
				return head, f, nil
			}
		}
		if err != nil {
			return head, finding{}, err
		}
	}
	return head, finding{}, errLarge
}

func judgeEvent(c *call, data []byte) finding {
	if c.rpc {
		return judgeEnvelope(c.id, data)
	}
	return judgeREST(data)
}

// eventScanner cuts a growing buffer into the events of a stream (HTML, section 9.2.6, event streams). Lines end with
// LF, CR LF or CR.
type eventScanner struct {
	at   int // the start of the first line that is not read
	data []byte
	any  bool
}

// next returns the data of the next event that is whole; false where more of the stream is needed.
func (s *eventScanner) next(buf []byte) (data []byte, ok bool) {
	for {
		line, next, ok := cutLine(buf, s.at)
		if !ok {
			return nil, false
		}
		s.at = next
		if len(line) == 0 && s.any {
			data, s.data, s.any = s.data, nil, false
			return data, true
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" {
			continue
		}
		if s.any {
			s.data = append(s.data, '\n')
		}
		s.data, s.any = append(s.data, bytes.TrimPrefix(value, []byte(" "))...), true
	}
}

// cutLine returns the line that begins at start. A CR at the end of the buffer may be half of a CR LF, so that its line
// waits for the next byte.
func cutLine(buf []byte, start int) (line []byte, next int, ok bool) {
	rest := buf[start:]
	end := bytes.IndexAny(rest, "\r\n")
	switch {
	case end < 0:
		return nil, 0, false
	case rest[end] == '\n':
		return rest[:end], start + end + 1, true
	case end+1 == len(rest):
		return nil, 0, false
	case rest[end+1] == '\n':
		return rest[:end], start + end + 2, true
	}
	return rest[:end], start + end + 1, true
}

// resumed is a stream whose head was read already.
type resumed struct {
	io.Reader
	stream io.Closer
	closed func()
}

func resume(head []byte, stream io.ReadCloser, closed func()) io.ReadCloser {
	return &resumed{Reader: io.MultiReader(bytes.NewReader(head), stream), stream: stream, closed: closed}
}

// Close implements io.Closer.
func (r *resumed) Close() error {
	err := r.stream.Close()
	r.closed()
	return err
}

// ended reports whether a stream came to its end in order.
func ended(err error) bool { return errors.Is(err, io.EOF) }
