package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
)

// buffer is a response that nobody has seen yet.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newBuffer() *buffer { return &buffer{header: make(http.Header), status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffer) WriteHeader(status int) { b.status = status }

// Write implements http.ResponseWriter.
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }

// accepts reports whether the answer carries what the agent made of the message. JSON-RPC puts its errors
// into a 200.
func (b *buffer) accepts() bool {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	return b.status == http.StatusOK && json.Unmarshal(b.body.Bytes(), &answer) == nil && answer.Error == nil
}

func (b *buffer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), b.header)
	w.WriteHeader(b.status)
	_, _ = w.Write(b.body.Bytes()) // the client went away
}
