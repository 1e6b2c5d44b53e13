// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const clientTimeout = 20 * time.Second

// message is what a client sends.
type message map[string]any

func words(id, text string) message {
	return message{"messageId": id, "role": "ROLE_USER", "contextId": "c-" + id, "parts": []any{map[string]any{"text": text}}}
}

// reconcile is a message that the finance agent works on and comes to an end with.
func reconcile(id string) message {
	m := words(id, "")
	m["parts"] = []any{map[string]any{"data": map[string]any{
		"ledger": "entry_id,date,account,counterparty,reference,description,kind,amount\n",
		"bank":   "line_id,date,counterparty,reference,description,amount\n",
	}}}
	return m
}

// way is how a message is sent.
type way struct {
	name   string
	rpc    bool
	stream bool
}

var ways = []way{{"JSONRPC", true, false}, {"HTTP+JSON", false, false}, {"JSONRPC, stream", true, true}, {"HTTP+JSON, stream", false, true}}

// answer is what a client makes of a response: a task, a reason to try again, or something final.
type answer struct {
	task  string
	again bool
	said  string
}

// send makes one attempt. An error of the network is a reason to try again.
func (w way) send(ctx context.Context, base string, m message, headers ...string) answer {
	method, path := "SendMessage", "/rest/message:send"
	if w.stream {
		method, path = "SendStreamingMessage", "/rest/message:stream"
	}
	var body any = map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}
	if w.rpc {
		path, body = "/a2a", map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": body}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return answer{said: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(data))
	if err != nil {
		return answer{said: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{again: true, said: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	return read(resp)
}

func read(resp *http.Response) answer {
	text, err := readEvent(resp)
	if err != nil {
		return answer{again: true, said: err.Error()}
	}
	var got struct {
		Task   struct{ ID string }
		Result struct{ Task struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return answer{again: resp.StatusCode >= 500, said: fmt.Sprintf("%d %q", resp.StatusCode, text)}
	}
	return answer{
		task:  got.Task.ID + got.Result.Task.ID,
		again: resp.StatusCode >= 500 || strings.Contains(text, dedup.ReasonInProgress),
		said:  fmt.Sprintf("%d %s", resp.StatusCode, text),
	}
}

// readEvent reads a whole response, or the first event of a stream.
func readEvent(resp *http.Response) (string, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		data, err := io.ReadAll(resp.Body)
		return string(data), err
	}
	var all []byte
	chunk := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(chunk)
		all = append(all, chunk[:n]...)
		if _, data, found := strings.Cut(string(all), "data:"); found {
			if event, _, whole := strings.Cut(data, "\n\n"); whole {
				return event, nil
			}
		}
		if err != nil {
			return "", fmt.Errorf("stream without an event: %w", err)
		}
	}
}

// require fails the test unless the agent made one task of a message, and it is the one that a client was told of.
func require(t *testing.T, agent *harness.Agent, id, task string) {
	t.Helper()
	r := agent.Record(id)
	if r.Accepted != 1 || len(r.TaskIDs) != 1 || r.TaskIDs[0] != task || r.Bodies != 1 {
		t.Errorf("%s, and the client was told %q", r, task)
	}
}

func contains(text string, all ...string) bool {
	for _, one := range all {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// september is a message about which the agent asks back.
func september(t *testing.T, id string) message {
	t.Helper()
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	parts := []any{map[string]any{"text": "Reconcile September 2026"}}
	for _, name := range []string{"ledger.csv", "bank.csv"} {
		data, err := os.ReadFile(filepath.Join(root, "config", "samples", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, map[string]any{"text": string(data), "filename": name, "mediaType": "text/csv"})
	}
	m := words(id, "")
	m["parts"] = parts
	return m
}
