// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// streams implements binding. A response whose headers have the status has nothing else.
func (unary) streams(h http.Header) bool { return isGRPC(h) && h.Get("Grpc-Status") == "" }

// listen implements binding.
func (unary) listen(_ parcel, resp *http.Response, heard func()) answer {
	for {
		news, err := readFrame(resp.Body)
		switch {
		case errors.Is(err, io.EOF):
			return ending(resp)
		case err != nil:
			return answer{reason: ReasonResponseTruncated}
		case news:
			heard()
		}
	}
}

// readFrame takes one message off a stream and reports whether it may be news. One that is longer than maxEvent is skipped,
// and may be. The error is io.EOF where the stream ends between two messages.
func readFrame(body io.Reader) (bool, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return false, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > maxEvent {
		n, err := io.CopyN(io.Discard, body, int64(length))
		if err != nil && n < int64(length) {
			err = io.ErrUnexpectedEOF
		}
		return true, err
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(body, data); err != nil {
		return false, io.ErrUnexpectedEOF
	}
	var e a2apb.StreamResponse
	if proto.Unmarshal(data, &e) != nil {
		return true, nil //nolint:nilerr // what can't be read may be news, and the stream goes on
	}
	return e.GetArtifactUpdate() == nil, nil
}

// ending reads the status that a stream ended with.
func ending(resp *http.Response) answer {
	end, given := evidence{header: resp.Header, trailer: resp.Trailer}.grpcStatus()
	switch {
	case !given:
		return answer{reason: ReasonResponseTruncated}
	case end.code != 0:
		return end.answer(callSubscribe)
	}
	return answer{}
}
