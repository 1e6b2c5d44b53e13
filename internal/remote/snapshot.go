// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	maxID        = 1024
	maxState     = 64
	maxName      = 256
	maxMediaType = 128
	maxURL       = 4096
)

// Snapshot returns what the operator keeps of a task. The state's message is cut to 1 KiB; what is shown to people is
// free of control characters, and content is left as it came. Artifacts that share an id, as chunks do, are one: an id
// names one artifact (A2A 1.0, section 4.1.7). One without an id gets the number of its place as id.
func Snapshot(t *a2a.Task) outbox.Task {
	s := outbox.Task{
		ID:        string(t.ID),
		ContextID: fit(t.ContextID),
		State:     v1alpha1.TaskState(cut(oneLine(string(t.Status.State)), maxState)),
		Message:   paragraph(messageText(t.Status.Message), maxMessage),
	}
	if t.Status.Timestamp != nil {
		s.Timestamp = keepable(*t.Status.Timestamp)
	}
	for _, m := range t.History {
		if m != nil && m.ID != "" {
			s.History = append(s.History, m.ID)
		}
	}
	s.Artifacts = artifacts(t.Artifacts)
	om, _ := omissionOf(t.Metadata)
	s.MoreArtifacts = om.Elements
	return s
}

// keepable is a time in UTC if the API server takes it, which has years of four digits (RFC 3339), else zero. With another
// one a status would be refused as a whole, each time.
func keepable(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// fit is an id of the agent's if it can be kept as it is, else empty.
func fit(id string) string {
	if len(id) > maxID || id != oneLine(id) {
		return ""
	}
	return id
}

func artifacts(list []*a2a.Artifact) []outbox.Artifact {
	var kept []outbox.Artifact
	place := map[string]int{}
	for i, a := range list {
		if a == nil {
			continue
		}
		id := cut(oneLine(string(a.ID)), maxName)
		if id == "" {
			id = fmt.Sprintf("artifact-%d", i+1)
		}
		at, seen := place[id]
		if !seen {
			at = len(kept)
			place[id] = at
			kept = append(kept, outbox.Artifact{ID: id, Name: cut(oneLine(a.Name), maxName)})
		}
		if _, cut := omissionOf(a.Metadata); cut {
			kept[at].Incomplete = true
		}
		for _, p := range a.Parts {
			if p != nil {
				kept[at].Parts = append(kept[at].Parts, artifactPart(p))
			}
		}
	}
	return kept
}

func artifactPart(p *a2a.Part) outbox.ArtifactPart {
	out := outbox.ArtifactPart{MediaType: cut(oneLine(p.MediaType), maxMediaType), Filename: cut(oneLine(p.Filename), maxName)}
	kind := ""
	switch c := p.Content.(type) {
	case a2a.Text:
		kind, out.Text, out.Content = "text/plain", true, []byte(c)
	case a2a.Data:
		kind, out.Text, out.Content = "application/json", true, encodeData(c.Value)
	case a2a.Raw:
		kind, out.Text, out.Content = "application/octet-stream", isText(p.MediaType) && utf8.Valid(c), c
	case a2a.URL:
		out.URL = cut(oneLine(string(c)), maxURL)
	}
	if om, cut := omissionOf(p.Metadata); cut {
		out.Content, out.Omitted = nil, &outbox.Omission{Size: om.Size, Digest: om.Digest}
	}
	if out.MediaType == "" {
		out.MediaType = kind
	}
	return out
}

// isText reports whether binary content is text by its media type. Agents send CSV files as raw bytes.
func isText(mediaType string) bool {
	kind, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (strings.HasPrefix(kind, "text/") || kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// messageText joins the text parts of a message; without any, its data.
func messageText(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts, data []string
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		switch c := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(c))
		case a2a.Data:
			data = append(data, string(encodeData(c.Value)))
		}
	}
	if texts == nil {
		texts = data
	}
	return strings.Join(texts, "\n")
}
