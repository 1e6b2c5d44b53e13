// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

const (
	eventStream = "text/event-stream"
	// sseChunk is how much is read of a stream at once.
	sseChunk = 8 << 10
)

// isEventStream reports whether a response is a stream of server-sent events that can be read as it comes.
func isEventStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	coding := h.Get("Content-Encoding")
	return err == nil && kind == eventStream && (coding == "" || coding == "identity")
}

// event is the data of a server-sent event, as far as it fits into maxEvent.
type event struct {
	data []byte
	// cut says that there was more.
	cut bool
}

// events splits a stream into its events (WHATWG HTML, section 9.2.6). It holds at most maxEvent of a line and as much of
// an event, however long they are. Its zero value is at the beginning of a stream.
type events struct {
	line    []byte
	lineCut bool
	event   event
	// filled says that the event has data, begun that the first line is over, and returned that the last byte was a carriage
	// return, so that a line feed belongs to it.
	filled, begun, returned bool
}

// feed takes the next bytes of the stream, and calls each for the events that they complete, until it returns false.
func (s *events) feed(chunk []byte, each func(event) bool) bool {
	for len(chunk) > 0 {
		if s.returned && chunk[0] == '\n' {
			s.returned, chunk = false, chunk[1:]
			continue
		}
		s.returned = false
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			s.extend(chunk)
			return true
		}
		s.extend(chunk[:end])
		s.returned = chunk[end] == '\r'
		chunk = chunk[end+1:]
		if !s.endLine(each) {
			return false
		}
	}
	return true
}

// extend adds to the line as much as it may hold.
func (s *events) extend(part []byte) {
	room := min(len(part), maxEvent-len(s.line))
	s.line = append(s.line, part[:room]...)
	s.lineCut = s.lineCut || room < len(part)
}

// endLine takes the line: an empty one ends the event, and of the fields only data matters. Comments, which begin with a
// colon, are none.
func (s *events) endLine(each func(event) bool) bool {
	line, wasCut := s.line, s.lineCut
	if !s.begun {
		line, s.begun = unmarked(line), true
	}
	s.line, s.lineCut = s.line[:0], false
	if len(line) == 0 {
		return s.endEvent(each)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return true
	}
	if s.filled {
		s.add([]byte("\n"), false)
	}
	s.add(bytes.TrimPrefix(value, []byte(" ")), wasCut)
	s.filled = true
	return true
}

func (s *events) add(part []byte, wasCut bool) {
	room := min(len(part), maxEvent-len(s.event.data))
	s.event.data = append(s.event.data, part[:room]...)
	s.event.cut = s.event.cut || wasCut || room < len(part)
}

func (s *events) endEvent(each func(event) bool) bool {
	if !s.filled {
		return true
	}
	goOn := each(s.event)
	s.event, s.filled = event{data: s.event.data[:0]}, false
	return goOn
}

// readEvents reads a stream until it ends or says an error. read gives the answer that an event's data is.
func readEvents(body io.Reader, heard func(), read func(data []byte) answer) answer {
	var fault answer
	each := func(e event) bool {
		var a answer
		if !e.cut {
			a = read(e.data)
		}
		if a.fault != nil {
			fault = a
			return false
		}
		if e.cut || isNews(a.result) {
			heard()
		}
		return true
	}
	s, chunk := &events{}, make([]byte, sseChunk)
	for {
		n, err := body.Read(chunk)
		if !s.feed(chunk[:n], each) {
			return fault
		}
		switch {
		case errors.Is(err, io.EOF):
			return answer{}
		case err != nil:
			return answer{reason: ReasonResponseTruncated}
		}
	}
}

// isNews reports whether an event may be about the state of its task. All but a piece of an artifact may (A2A 1.0, section
// 3.2.3; A2A 0.3, section 7.2.3): artifacts are read when the task has ended, and agents that write word by word send many.
func isNews(result json.RawMessage) bool {
	o := object(result)
	return !o.has("artifactUpdate") && o.text("kind") != "artifact-update"
}

// ofEvent is an event's data as if it were a response of its own.
func ofEvent(data []byte) evidence {
	return evidence{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: data}
}

// streams implements binding.
func (rpc) streams(h http.Header) bool { return isEventStream(h) }

// listen implements binding.
func (b rpc) listen(p parcel, resp *http.Response, heard func()) answer {
	return readEvents(resp.Body, heard, func(data []byte) answer { return b.decode(callSubscribe, p, ofEvent(data)) })
}

// listen implements binding. Errors have the codes of A2A 0.3.
func (b legacyRPC) listen(p parcel, resp *http.Response, heard func()) answer {
	return readEvents(resp.Body, heard, func(data []byte) answer { return b.decode(callSubscribe, p, ofEvent(data)) })
}

// streams implements binding.
func (rest) streams(h http.Header) bool { return isEventStream(h) }

// listen implements binding. An error on a stream has the shape of one in a response, and its status is in its code.
func (b rest) listen(p parcel, resp *http.Response, heard func()) answer {
	return readEvents(resp.Body, heard, func(data []byte) answer {
		o := object(data)
		if !o.has("error") {
			return b.decode(callSubscribe, p, ofEvent(data))
		}
		var status int
		if json.Unmarshal(object(o["error"])["code"], &status) != nil {
			status = 0 // it is judged by its details alone
		}
		return readStatus(o, status)
	})
}
