// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// A task as it comes over the wire, with all kinds of content.
func TestSnapshotFromTheWire(t *testing.T) {
	a := answering(200, jsonHeader(), resultBody(`{"task":{"id":"t-1","contextId":"c-1",
		"status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-09-01T14:00:00.5+02:00","message":{"messageId":"q","parts":[
			{"text":"Which\u001b[31m month?\r\nSay."},{"data":{"a":1}}]}},
		"history":[{"messageId":"m-71"},{}],
		"artifacts":[
			{"artifactId":"a","name":"re\u0000port","parts":[
				{"text":"<b>\u0007"},{"data":{"n":12345678901234567890,"h":"<&>"},"mediaType":"application/ld+json"},{"data":null}]},
			{"artifactId":"b","parts":[{"raw":"AAEC_w","filename":"x.bin"},{"raw":"YSxiCg==","mediaType":"text/csv"},
				{"url":"https://files.example.com/1?sig=2","mediaType":"image/png"}]},
			{"parts":[{"kind":"file","file":{"uri":"x"}}]},
			{"artifactId":"a","parts":[{"text":"more"}]}]}}`))(t)
	ex := connect(t, a).Send(t.Context(), token(t), message())
	expectTask(t, ex, outbox.Accepted, "")
	want := &outbox.Task{
		ID: "t-1", ContextID: "c-1", State: "TASK_STATE_INPUT_REQUIRED", Timestamp: time.Date(2026, 9, 1, 12, 0, 0, 5e8, time.UTC),
		Message: "Which[31m month?\n\nSay.", History: []string{"m-71"},
		Artifacts: []outbox.Artifact{
			{ID: "a", Name: "report", Parts: []outbox.ArtifactPart{
				{MediaType: "text/plain", Text: true, Content: []byte("<b>\a")},
				{MediaType: "application/ld+json", Text: true, Content: []byte(`{"n":12345678901234567890,"h":"<&>"}`)},
				{MediaType: "application/json", Text: true, Content: []byte("null")},
				{MediaType: "text/plain", Text: true, Content: []byte("more")},
			}},
			{ID: "b", Parts: []outbox.ArtifactPart{
				{MediaType: "application/octet-stream", Filename: "x.bin", Content: []byte{0, 1, 2, 255}},
				{MediaType: "text/csv", Text: true, Content: []byte("a,b\n")},
				{MediaType: "image/png", URL: "https://files.example.com/1?sig=2"},
			}},
			{ID: "artifact-3", Parts: []outbox.ArtifactPart{
				{MediaType: "application/json", Text: true, Content: []byte(`{"kind":"file","file":{"uri":"x"}}`)},
			}},
		},
	}
	if diff := cmp.Diff(want, ex.Task); diff != "" {
		t.Error(diff)
	}
}

// A task as the SDK decodes it, with what a careless program may leave in it.
func TestSnapshotOfTheSDK(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.FixedZone("x", 7200))
	got := remote.Snapshot(&a2a.Task{
		ID: "t-1", ContextID: strings.Repeat("c", 2000),
		Status: a2a.TaskStatus{State: "odd\x1b", Timestamp: &now, Message: &a2a.Message{
			Parts: a2a.ContentParts{nil, a2a.NewTextPart(strings.Repeat("ü", 600))},
		}},
		History: []*a2a.Message{nil, {ID: "m-1"}},
		Artifacts: []*a2a.Artifact{nil, {ID: "a", Parts: a2a.ContentParts{nil, {},
			a2a.NewDataPart(map[string]any{"h": "<"}), a2a.NewDataPart(make(chan int)), a2a.NewRawPart([]byte{255})}}},
	})
	if got.ContextID != "" || got.State != "odd" || got.Timestamp.Location() != time.UTC || len(got.History) != 1 {
		t.Errorf("%+v", got)
	}
	if len(got.Message) > 1024 || len(got.Message) < 1022 || !utf8.ValidString(got.Message) {
		t.Errorf("%d bytes of message", len(got.Message))
	}
	parts := got.Artifacts[0].Parts
	if len(parts) != 4 || string(parts[1].Content) != `{"h":"<"}` || string(parts[2].Content) != "null" || parts[3].Text {
		t.Errorf("%+v", parts)
	}
}

// A long reply is cut without splitting a character.
func TestReplyIsCut(t *testing.T) {
	a := answering(200, jsonHeader(), resultBody(`{"message":{"messageId":"r","parts":[{"text":"`+strings.Repeat("€", 3000)+`"}]}}`))(t)
	ex := connect(t, a).Send(t.Context(), token(t), message())
	if ex.Reply == nil || len(*ex.Reply) > 4096 || len(*ex.Reply) < 4093 || !utf8.ValidString(*ex.Reply) {
		t.Errorf("%+v", ex.Reply)
	}
}

// The API server keeps years of four digits. With another one in it no status would ever be written.
func TestTimesThatNoStatusHolds(t *testing.T) {
	for text, kept := range map[string]bool{
		"9999-12-31T23:59:59Z": true, "9999-12-31T23:59:59-12:00": false, "0001-01-02T00:00:00Z": true,
		"0000-01-01T00:00:00+12:00": false, "0000-06-01T00:00:00Z": false,
	} {
		a := answering(200, jsonHeader(), resultBody(`{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING","timestamp":"`+text+`"}}`))(t)
		ex := connect(t, a).Get(t.Context(), "t-1")
		expectTask(t, ex, outbox.Accepted, "")
		if got := !ex.Task.Timestamp.IsZero(); got != kept {
			t.Errorf("%s: %s", text, ex.Task.Timestamp)
		}
	}
}
