// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// decodeTask reads a Task (A2A 1.0, section 4.1.1) member by member. The SDK's decoder gives up a whole task for one part
// of an unknown kind or one timestamp without a zone, and with it the id of work that has begun.
func decodeTask(raw json.RawMessage) *a2a.Task {
	o := object(raw)
	status := object(o["status"])
	task := &a2a.Task{
		ID:        a2a.TaskID(o.text("id")),
		ContextID: o.text("contextId"),
		Status:    a2a.TaskStatus{State: decodeState(status["state"]), Timestamp: decodeTime(status.text("timestamp"))},
	}
	if status.has("message") {
		task.Status.Message = decodeMessage(status["message"])
	}
	for _, m := range elements(o["history"]) {
		task.History = append(task.History, decodeMessage(m))
	}
	for _, a := range elements(o["artifacts"]) {
		if artifact := object(a); artifact != nil {
			task.Artifacts = append(task.Artifacts, decodeArtifact(artifact))
		}
	}
	task.Metadata = o.omissions()
	return task
}

func decodeArtifact(o lax) *a2a.Artifact {
	return &a2a.Artifact{
		ID:       a2a.ArtifactID(o.text("artifactId")),
		Name:     o.text("name"),
		Parts:    decodeParts(o["parts"]),
		Metadata: o.omissions(),
	}
}

// decodeState reads a state by its name, or by the number that the JSON of protocol buffers allows. One that has no name
// is shown as it came.
func decodeState(raw json.RawMessage) a2a.TaskState {
	var n int32
	if bytes.ContainsAny(raw, "0123456789") && json.Unmarshal(raw, &n) == nil {
		return decodeState(encodeData(a2apb.TaskState(n).String()))
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || s == a2a.TaskStateUnspecified.String() {
		return a2a.TaskStateUnspecified
	}
	return a2a.TaskState(s)
}

// timeLayouts are RFC 3339 as the specification wants it, and what Python and SQL write. Without a zone it is UTC.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"}

func decodeTime(s string) *time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return &t
		}
	}
	return nil
}

// decodeMessage reads a Message (A2A 1.0, section 4.1.4).
func decodeMessage(raw json.RawMessage) *a2a.Message {
	o := object(raw)
	return &a2a.Message{
		ID:        o.text("messageId"),
		ContextID: o.text("contextId"),
		TaskID:    a2a.TaskID(o.text("taskId")),
		Role:      a2a.MessageRole(o.text("role")),
		Parts:     decodeParts(o["parts"]),
	}
}

func decodeParts(raw json.RawMessage) a2a.ContentParts {
	var parts a2a.ContentParts
	for _, p := range elements(raw) {
		if o := object(p); o != nil {
			parts = append(parts, decodePart(p, o))
		}
	}
	return parts
}

// decodePart reads a Part (A2A 1.0, section 4.1.6). Data keeps its bytes, since a float64 would change long numbers. One
// of an unknown kind is kept whole, as data.
func decodePart(raw json.RawMessage, o lax) *a2a.Part {
	part := &a2a.Part{Filename: o.text("filename"), MediaType: o.text("mediaType"), Metadata: o.omissions()}
	_, hasData := o["data"]
	var text string
	switch {
	case o.has("text") && json.Unmarshal(o["text"], &text) == nil:
		part.Content = a2a.Text(text)
	case hasData:
		part.Content = a2a.Data{Value: o["data"]}
	case o.text("url") != "":
		part.Content = a2a.URL(o.text("url"))
	case part.Metadata != nil:
		part.Content = a2a.Raw(nil)
	default:
		if content, ok := decodeBase64(o.text("raw")); ok && o.has("raw") {
			part.Content = a2a.Raw(content)
			break
		}
		part.MediaType, part.Content = "", a2a.Data{Value: raw}
	}
	return part
}

// decodeBase64 accepts both alphabets with or without padding, as JSON made of protocol buffers allows.
func decodeBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	content, err := base64.RawStdEncoding.DecodeString(s)
	return content, err == nil
}

// encodeData is the JSON of a data part, without the changes that a decoder and an encoder make to it.
func encodeData(v any) []byte {
	var b bytes.Buffer
	if raw, ok := v.(json.RawMessage); ok && json.Compact(&b, raw) == nil {
		return b.Bytes()
	}
	b.Reset()
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
