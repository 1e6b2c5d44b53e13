// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// response is the answer as what a transport returns. Hop-by-hop headers are gone, and the length is the body's.
func (a answer) response(req *http.Request) *http.Response {
	header := a.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Del("Transfer-Encoding")
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
	}
}

// write sends the answer. A client that is gone asks again, or does not want to know.
func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
