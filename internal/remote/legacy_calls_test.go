// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// taken is a request as an agent got it.
type taken struct {
	method string
	params map[string]any
	header http.Header
}

// legacyTaking answers everything with one result and keeps what came.
func legacyTaking(t *testing.T, result string) (*agent, *[]taken) {
	t.Helper()
	got := &[]taken{}
	a := served(t, false, func(_ *agent, w http.ResponseWriter, r *http.Request, c call) {
		params := map[string]any{}
		decoder := json.NewDecoder(strings.NewReader(string(c.Params)))
		decoder.UseNumber()
		if err := decoder.Decode(&params); err != nil {
			t.Error(err)
		}
		*got = append(*got, taken{c.Method, params, r.Header})
		reply(w, c, result)
	})
	a.configure = speakingLegacy
	return a, got
}

func TestLegacySends(t *testing.T) {
	a, got := legacyTaking(t, legacyWorking)
	req := message()
	m := req.Message
	m.TaskID, m.ReferenceTasks, m.Metadata, m.Extensions = "t-1", []a2a.TaskID{"t-0"}, map[string]any{"n": json.Number("12345678901234567890")}, []string{"https://example.com/x"}
	csv := a2a.NewTextPart("a;b")
	csv.Filename, csv.MediaType = "september.csv", "text/csv"
	raw := a2a.NewRawPart([]byte{0, 1})
	raw.MediaType = "application/octet-stream"
	link := a2a.NewFileURLPart("https://example.com/x.pdf", "application/pdf")
	m.Parts = append(m.Parts, csv, raw, link, a2a.NewDataPart(map[string]any{"account": json.Number("12345678901234567890")}))
	req.Config = &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/csv"}}
	expectTask(t, connect(t, a, func(c *remote.Config) { c.Deduplicates = true }).Send(t.Context(), token(t), req), outbox.Accepted, "")

	want := map[string]any{
		"configuration": map[string]any{"acceptedOutputModes": []any{"text/csv"}, "blocking": false},
		"message": map[string]any{
			"kind": "message", "messageId": "m-71", "contextId": "c-1", "taskId": "t-1", "role": "user",
			"referenceTaskIds": []any{"t-0"}, "extensions": []any{"https://example.com/x"}, "metadata": map[string]any{"n": json.Number("12345678901234567890")},
			"parts": []any{
				map[string]any{"kind": "text", "text": content},
				map[string]any{"kind": "file", "file": map[string]any{"bytes": "YTti", "name": "september.csv", "mimeType": "text/csv"}},
				map[string]any{"kind": "file", "file": map[string]any{"bytes": "AAE=", "mimeType": "application/octet-stream"}},
				map[string]any{"kind": "file", "file": map[string]any{"uri": "https://example.com/x.pdf", "mimeType": "application/pdf"}},
				map[string]any{"kind": "data", "data": map[string]any{"account": json.Number("12345678901234567890")}},
			},
		},
	}
	first := (*got)[0]
	if diff := cmp.Diff(want, first.params); first.method != "message/send" || diff != "" {
		t.Errorf("%s (-want +got):\n%s", first.method, diff)
	}
	if h := first.header; h.Get("Idempotency-Key") != "m-71" || h.Get("X-A2A-Extensions") != "https://example.com/x" || h.Values("A2A-Version") != nil ||
		h.Values("A2A-Extensions") != nil || h.Get("Authorization") != "Bearer "+secret || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
	if csv.Content != a2a.Text("a;b") || req.Config.ReturnImmediately {
		t.Error("the request was changed")
	}
}

func TestLegacyAsks(t *testing.T) {
	a, got := legacyTaking(t, strings.Replace(legacyWorking, "t-1", "a/b?c", 1))
	c := connect(t, a)
	expectTask(t, c.Get(t.Context(), "a/b?c"), outbox.Accepted, "")
	expectTask(t, c.Cancel(t.Context(), "a/b?c"), outbox.Accepted, "")
	for i, want := range []taken{
		{method: "tasks/get", params: map[string]any{"id": "a/b?c", "historyLength": json.Number("1000")}},
		{method: "tasks/cancel", params: map[string]any{"id": "a/b?c"}},
	} {
		if is := (*got)[i]; is.method != want.method || !cmp.Equal(is.params, want.params) {
			t.Errorf("%s %v, want %s %v", is.method, is.params, want.method, want.params)
		}
	}
}

// There is nothing to ask, and nothing is asked.
func TestLegacyFindsNothing(t *testing.T) {
	a, got := legacyTaking(t, `{"tasks":[]}`)
	for _, q := range []outbox.Query{wanted, {MessageID: "m-71", After: time.Now()}} {
		expect(t, connect(t, a).Find(t.Context(), q), outbox.Refused, remote.ReasonLookupUnsupported)
	}
	if len(*got) != 0 {
		t.Errorf("the agent was asked: %+v", *got)
	}
}

func TestLegacyGetAndCancel(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		body    string
		outcome outbox.Outcome
		reason  string
	}{
		{"Accepted: the task", 200, resultBody(legacyWorking), outbox.Accepted, ""},
		{"Accepted: a task that does not say so", 200, resultBody(`{"id":"t-1","status":{"state":"working"}}`), outbox.Accepted, ""},
		{"Ambiguous: another task", 200, resultBody(strings.Replace(legacyWorking, "t-1", "t-2", 1)), outbox.Ambiguous, remote.ReasonForeignTask},
		{"Ambiguous: no task", 200, resultBody(`{}`), outbox.Ambiguous, remote.ReasonEmptyTask},
		{"Ambiguous: a message", 200, resultBody(`{"kind":"message","messageId":"t-1"}`), outbox.Ambiguous, remote.ReasonEmptyTask},
		{"Ambiguous: null", 200, resultBody(`null`), outbox.Ambiguous, remote.ReasonInvalidResponse},
		{"Absent: the agent does not have it", 200, errorBody(`{"code":-32001,"message":"no"}`), outbox.Absent, remote.ReasonTaskNotFound},
		{"NotSent: HTTP 404", 404, ``, outbox.NotSent, remote.ReasonEndpointNotFound},
		{"Refused: no such method", 200, errorBody(`{"code":-32601,"message":"no"}`), outbox.Refused, "MethodNotFound"},
		{"Unauthorized: HTTP 401", 401, ``, outbox.Unauthorized, "Unauthorized"},
		{"Ambiguous: HTTP 503", 503, ``, outbox.Ambiguous, "ServiceUnavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := connect(t, answering(c.status, jsonHeader(), c.body)(t), speakingLegacy)
			expectTask(t, client.Get(t.Context(), "t-1"), c.outcome, c.reason)
			expectTask(t, client.Cancel(t.Context(), "t-1"), c.outcome, c.reason)
		})
	}
	body := errorBody(`{"code":-32002,"message":"no"}`)
	expect(t, connect(t, answering(200, jsonHeader(), body)(t), speakingLegacy).Cancel(t.Context(), "t-1"), outbox.Refused, remote.ReasonTaskNotCancelable)
}

// What a task holds arrives, part by part. Where the SDK would give up the task, a part is kept whole.
func TestLegacyTask(t *testing.T) {
	const task = `{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"input-required","timestamp":"2026-09-01T12:00:00Z",
		"message":{"kind":"message","messageId":"q-1","role":"agent","parts":[{"kind":"text","text":"Which month?"}]}},
		"history":[{"kind":"message","messageId":"m-71","role":"user","parts":[]},null,{"kind":"message","messageId":"q-1","role":"agent"}],
		"artifacts":[{"artifactId":"a-1","name":"report","parts":[
			{"kind":"text","text":"<b> & 1"},
			{"kind":"data","data":{"n":12345678901234567890,"h":"<i>"}},
			{"kind":"data","data":{"value":[1,2]},"metadata":{"data_part_compat":true}},
			{"kind":"data","data":{"value":[1,2]}},
			{"kind":"file","file":{"bytes":"YTti","name":"s.csv","mimeType":"text/csv"}},
			{"kind":"file","file":{"uri":"https://example.com/x.pdf","mimeType":"application/pdf","name":"x.pdf"}},
			{"file":{"uri":"https://example.com/y"}},
			{"kind":"file","file":{"bytes":"not base64!"}},
			{"kind":"text","text":7},
			{"kind":"text","file":{"uri":"https://example.com/z"}},
			{"kind":"video","url":"https://example.com/v"}]}]}`
	a, _ := legacyTaking(t, task)
	ex := connect(t, a).Get(t.Context(), "t-1")
	text := func(kind, content string) outbox.ArtifactPart {
		return outbox.ArtifactPart{MediaType: kind, Text: true, Content: []byte(content)}
	}
	const data = "application/json"
	csv := text("text/csv", "a;b")
	csv.Filename = "s.csv"
	want := &outbox.Task{
		ID: "t-1", ContextID: "c-1", State: "TASK_STATE_INPUT_REQUIRED", Timestamp: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC),
		Message: "Which month?", History: []string{"m-71", "q-1"},
		Artifacts: []outbox.Artifact{{ID: "a-1", Name: "report", Parts: []outbox.ArtifactPart{
			text("text/plain", "<b> & 1"),
			text(data, `{"n":12345678901234567890,"h":"<i>"}`),
			text(data, `[1,2]`),
			text(data, `{"value":[1,2]}`),
			csv,
			{MediaType: "application/pdf", Filename: "x.pdf", URL: "https://example.com/x.pdf"},
			{URL: "https://example.com/y"},
			text(data, `{"file":{"bytes":"not base64!"},"kind":"file"}`),
			text(data, `{"kind":"text","text":7}`),
			text(data, `{"file":{"uri":"https://example.com/z"},"kind":"text"}`),
			text(data, `{"kind":"video","url":"https://example.com/v"}`),
		}}},
	}
	if diff := cmp.Diff(want, ex.Task); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLegacyKnowsNoTenant(t *testing.T) {
	conf := remote.Config{}
	conf.Interface.URL, conf.Interface.ProtocolVersion, conf.Interface.Tenant = "https://example.com", "0.3", "acme"
	if _, err := remote.New(conf); !isErr(t, err, remote.ErrEndpoint) || !strings.Contains(err.Error(), "tenant") {
		t.Errorf("%v", err)
	}
}
