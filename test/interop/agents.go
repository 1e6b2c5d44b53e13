// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interop runs agents that are built on SDKs of others, as processes, and talks to them as the operator does. What
// they do with a message is chosen by its text: js/behaviour.mjs has the list.
package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// Kind is an SDK whose server answers.
type Kind string

// The kinds of agents. None of their servers deduplicates.
const (
	// JS is the JavaScript SDK for A2A 1.0, over JSON-RPC and HTTP+JSON.
	JS Kind = "js"
	// JSv0 is the JavaScript SDK for A2A 0.3, over JSON-RPC and HTTP+JSON.
	JSv0 Kind = "js-v0"
	// Go is the Go SDK for A2A 1.0, over JSON-RPC, HTTP+JSON and gRPC.
	Go Kind = "go"
)

const (
	cardPath       = "/.well-known/agent-card.json"
	requestTimeout = 5 * time.Second
)

// scripts are the agents that node runs, in the folder js.
var scripts = map[Kind]string{JS: "agent.mjs", JSv0: "agent-v0.mjs"}

// Agent is an agent that runs for one test.
type Agent struct {
	*harness.Process
	Kind Kind
	// URL is the base URL; CardURL, where its card is.
	URL, CardURL string
	t            testing.TB
}

// Start runs an agent until the test ends and waits until it listens. Where the agent can't run because node or its packages
// are missing the test fails.
func Start(t testing.TB, kind Kind, flags ...string) *Agent {
	t.Helper()
	address := filepath.Join(t.TempDir(), "address")
	program, args := command(t, kind)
	a := &Agent{Kind: kind, t: t, Process: harness.StartProcess(t, program, append(append(args, "--address-file", address), flags...)...)}
	a.URL = listening(t, a.Process, string(kind), address)
	a.CardURL = a.URL + cardPath
	return a
}

// listening waits until a program has written the URL that it listens on to its address file, and returns it.
func listening(t testing.TB, p *harness.Process, name, addressFile string) (url string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, name+" to listen", func(context.Context) (bool, string) {
		if !p.Running() {
			t.Fatalf("%s ended: %s", name, p.Output())
		}
		text, err := os.ReadFile(addressFile)
		if err != nil {
			return false, err.Error()
		}
		url = strings.TrimSpace(string(text))
		return true, url
	})
	return url
}

// StartProxy runs a deduplicating proxy for anonymous callers in front of an agent, with a table in SQLite, until the test
// ends. It takes the agent for one that shows a task within a second. It returns the base URL, where the agent's card is found with the proxy's address in it.
func StartProxy(t testing.TB, agentURL string) string {
	t.Helper()
	dir := t.TempDir()
	address := filepath.Join(dir, "address")
	p := harness.StartProcess(t, testenv.Binary(t, "dedup-proxy"), "--listen=127.0.0.1:0", "--address-file="+address,
		"--upstream="+agentURL, "--store=sqlite:"+filepath.Join(dir, "dedup.db"), "--principal=anonymous", "--settle=1s")
	return listening(t, p, "the proxy", address)
}

// command is what runs an agent.
func command(t testing.TB, kind Kind) (program string, args []string) {
	t.Helper()
	root := harness.Root(t)
	script, isScript := scripts[kind]
	if !isScript {
		program = filepath.Join(root, "bin", "interop-goagent")
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("%v: run `make interop-deps`", err)
		}
		return program, nil
	}
	folder := filepath.Join(root, "test", "interop", "js")
	program, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	}
	if err != nil {
		t.Fatalf("%v: install Node.js 20 or newer with npm, and run `make interop-deps`", err)
	}
	return program, []string{filepath.Join(folder, script)}
}

// Record is what the agent saw and did of one message.
type Record struct {
	harness.Record
	// Executed counts the calls of its executor. More than one is a duplicate.
	Executed int `json:"executed"`
	// Continued and Replied count the executions that went on with a task, and that answered without one.
	Continued int `json:"continued"`
	Replied   int `json:"replied"`
	// Subscribed counts the streams that were asked for of the tasks that the message made.
	Subscribed int `json:"subscribed"`
}

// Record returns what the agent saw of a message, the zero counts where it saw none.
func (a *Agent) Record(messageID string) Record {
	a.t.Helper()
	var records []Record
	a.call(http.MethodGet, "/admin/ledger", http.StatusOK, &records)
	for _, r := range records {
		if r.MessageID == messageID {
			return r
		}
	}
	return Record{Record: harness.Record{MessageID: messageID}}
}

// Interface returns the interface with a protocol binding from the agent's card.
func (a *Agent) Interface(binding string) v1alpha1.AgentInterface {
	a.t.Helper()
	card, err := remote.FetchCard(a.t.Context(), remote.Network{}, a.URL)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, i := range card.SupportedInterfaces {
		if string(i.ProtocolBinding) == binding {
			return v1alpha1.AgentInterface{URL: i.URL, ProtocolBinding: binding, ProtocolVersion: string(i.ProtocolVersion), Tenant: i.Tenant}
		}
	}
	a.t.Fatalf("the card of the agent %s has no interface %s: %+v", a.Kind, binding, card.SupportedInterfaces)
	return v1alpha1.AgentInterface{}
}

// Release lets a task that waits go on.
func (a *Agent) Release(task string) {
	a.t.Helper()
	a.call(http.MethodPost, "/admin/release/"+task, http.StatusNoContent, nil)
}

// call sends a request to the agent's own paths, and reads what it answers where that is wanted.
func (a *Agent) call(method, path string, want int, into any) {
	a.t.Helper()
	// Also in a cleanup, when the test's own context is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.t.Context()), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.URL+path, http.NoBody)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != want {
		a.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
}
