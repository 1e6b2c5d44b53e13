// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

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

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

const adminTimeout = 5 * time.Second

// Agent is a finance agent that runs for one test.
type Agent struct {
	*Process
	// URL is the base URL, where its card is found.
	URL string
	// Token is what the agent wants of callers, where it wants one.
	Token string
	t     testing.TB
}

// StartAgent runs a finance agent and waits until it listens.
func StartAgent(t testing.TB, flags ...string) *Agent {
	t.Helper()
	address := filepath.Join(t.TempDir(), "address")
	a := &Agent{t: t}
	a.Process = StartProcess(t, testenv.Binary(t, "finance-agent"), append([]string{"--address-file", address, "--log-level", "info"}, flags...)...)
	Eventually(t, Patience, "the agent to listen", func(context.Context) (bool, string) {
		if !a.Running() {
			t.Fatalf("the agent ended: %s", a.Output())
		}
		url, err := os.ReadFile(address)
		if err != nil {
			return false, err.Error()
		}
		a.URL = strings.TrimSpace(string(url))
		return true, a.URL
	})
	return a
}

// Record is what the agent saw of one message.
type Record struct {
	MessageID string `json:"messageId"`
	// Received counts the requests that carried the message; Accepted, the tasks that it made; Bodies, the different
	// bodies under its id.
	Received int      `json:"received"`
	Accepted int      `json:"accepted"`
	TaskIDs  []string `json:"taskIds"`
	Bodies   int      `json:"bodies"`
}

func (r Record) String() string {
	return fmt.Sprintf("message %q received %d times with %d bodies, made tasks %q", r.MessageID, r.Received, r.Bodies, r.TaskIDs)
}

// Ledger returns what the agent saw, message by message. A message that came from two callers is one here.
func (a *Agent) Ledger() map[string]Record {
	a.t.Helper()
	var list []Record
	if err := a.get("/admin/ledger", &list); err != nil {
		a.t.Fatal(err)
	}
	records := map[string]Record{}
	for _, r := range list {
		sum := records[r.MessageID]
		sum.MessageID = r.MessageID
		sum.Received, sum.Accepted = sum.Received+r.Received, sum.Accepted+r.Accepted
		sum.Bodies = max(sum.Bodies, r.Bodies)
		sum.TaskIDs = append(sum.TaskIDs, r.TaskIDs...)
		records[r.MessageID] = sum
	}
	return records
}

// Record returns what the agent saw of one message, the zero counts where it saw none.
func (a *Agent) Record(messageID string) Record {
	a.t.Helper()
	r := a.Ledger()[messageID]
	r.MessageID = messageID
	return r
}

// AwaitReceived waits until the agent has received a message n times.
func (a *Agent) AwaitReceived(messageID string, n int) {
	a.t.Helper()
	Eventually(a.t, Patience, fmt.Sprintf("the agent to receive %s %d times", messageID, n), func(context.Context) (bool, string) {
		r := a.Record(messageID)
		return r.Received >= n, r.String()
	})
}

// Require fails the test unless the agent saw a message so often and made so many tasks of it, all of one body.
func (a *Agent) Require(messageID string, received, tasks int) {
	a.t.Helper()
	r := a.Record(messageID)
	if r.Received != received || r.Accepted != tasks || len(r.TaskIDs) != tasks || r.Bodies > 1 {
		a.t.Errorf("%s; want %d received, %d tasks", r, received, tasks)
	}
}

// agentTask is what the agent tells of a task.
type agentTask struct {
	Status  struct{ State string }
	History []struct{ MessageID, Role string }
}

// TaskState asks the agent for the state of a task.
func (a *Agent) TaskState(id string) string {
	a.t.Helper()
	return a.task(id).Status.State
}

// TaskMessages asks the agent for the ids of the messages that its callers sent to a task.
func (a *Agent) TaskMessages(id string) []string {
	a.t.Helper()
	var ids []string
	for _, m := range a.task(id).History {
		if m.Role == "ROLE_USER" {
			ids = append(ids, m.MessageID)
		}
	}
	return ids
}

func (a *Agent) task(id string) agentTask {
	a.t.Helper()
	call := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": map[string]any{"id": id}}
	var answer struct {
		Result agentTask
		Error  *struct{ Message string }
	}
	if err := a.post("/a2a", call, &answer); err != nil {
		a.t.Fatal(err)
	}
	if answer.Error != nil {
		a.t.Fatalf("GetTask %s: %s", id, answer.Error.Message)
	}
	return answer.Result
}

// CancelTask cancels a task behind the operator's back.
func (a *Agent) CancelTask(id string) {
	a.t.Helper()
	call := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "CancelTask", "params": map[string]string{"id": id}}
	var answer struct{ Error *struct{ Message string } }
	if err := a.post("/a2a", call, &answer); err != nil {
		a.t.Fatal(err)
	}
	if answer.Error != nil {
		a.t.Fatalf("CancelTask %s: %s", id, answer.Error.Message)
	}
}

func (a *Agent) get(path string, into any) error { return a.do(http.MethodGet, path, nil, into) }

func (a *Agent) post(path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.do(http.MethodPost, path, bytes.NewReader(data), into)
}

func (a *Agent) do(method, path string, body io.Reader, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.URL+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	if a.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.Token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
