// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

// The steps of the worked example that post; its last one is before the report.
const (
	firstPosting = 5
	lastPosting  = 8
)

// life is an agent that dies and comes back to the same data directory.
type life struct {
	ctx   context.Context
	t     *testing.T
	flags []string

	// canceling is closed once an agent says that it took a cancellation.
	canceling *announced

	mu     sync.Mutex
	cmd    *exec.Cmd
	client *a2aclient.Client
}

// announced passes on what a process says, and is closed by a text in it.
type announced struct {
	io.Writer
	text string
	said chan struct{}

	mu    sync.Mutex
	heard string
}

func (a *announced) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := strings.Contains(a.heard, a.text)
	if a.heard += string(p); !before && strings.Contains(a.heard, a.text) {
		close(a.said)
	}
	return a.Writer.Write(p)
}

func live(ctx context.Context, t *testing.T, dataDir, ledgerURL string, flags ...string) *life {
	t.Helper()
	l := &life{
		ctx: ctx, t: t, flags: append(flags, "--data-dir", dataDir, "--ledger-url", ledgerURL, "--log-level=info"),
		canceling: &announced{Writer: t.Output(), text: agent.WaitsForStep, said: make(chan struct{})},
	}
	l.start()
	t.Cleanup(l.kill)
	return l
}

func (l *life) start() {
	l.t.Helper()
	cmd, base := process(l.ctx, l.t, l.canceling, l.flags...)
	client, err := a2aclient.NewFromEndpoints(l.ctx, []*a2a.AgentInterface{a2a.NewAgentInterface(base+server.JSONRPCPath, a2a.TransportProtocolJSONRPC)},
		a2aclient.WithJSONRPCTransport(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cmd, l.client = cmd, client
}

// kill is kill -9, and waits for the end of the process.
func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cmd != nil {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
		l.cmd = nil
	}
}

// awaitCancellation waits until an agent has taken a cancellation.
func (l *life) awaitCancellation() {
	l.t.Helper()
	select {
	case <-l.canceling.said:
	case <-l.ctx.Done():
		l.t.Fatal("no agent takes the cancellation")
	}
}

// agent returns the client of an agent that lives, which it may have to start.
func (l *life) agent() *a2aclient.Client {
	l.mu.Lock()
	dead := l.cmd == nil
	l.mu.Unlock()
	if dead {
		l.start()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client
}

// send repeats a message until it is answered, over the deaths of the agent.
func (l *life) send(msg *a2a.Message) *a2a.Task {
	l.t.Helper()
	for ; l.ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		result, err := l.agent().SendMessage(l.ctx, &a2a.SendMessageRequest{Message: msg, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
		if task, ok := result.(*a2a.Task); err == nil && ok {
			return task
		}
	}
	l.t.Fatalf("no answer to %s", msg.ID)
	return nil
}

func (l *life) until(id a2a.TaskID, state a2a.TaskState) *a2a.Task {
	l.t.Helper()
	for ; l.ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		task, err := l.agent().GetTask(l.ctx, &a2a.GetTaskRequest{ID: id})
		switch {
		case err != nil:
		case task.Status.State == state:
			return task
		case task.Status.State.Terminal():
			l.t.Fatalf("the task ended in %s: %+v", task.Status.State, task.Status.Message)
		}
	}
	l.t.Fatalf("the task does not come to %s", state)
	return nil
}

// reconcile plays the worked example up to the answer.
func (l *life) reconcile() a2a.TaskID {
	l.t.Helper()
	request := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Reconcile September 2026"), table(l.t, "ledger.csv"), table(l.t, "bank.csv"))
	request.ID, request.ContextID = "m-71", "c-recon-09"
	task := l.send(request)
	l.until(task.ID, a2a.TaskStateInputRequired)
	answer := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("approve by Jane Doe"))
	answer.ID, answer.TaskID, answer.ContextID = "m-72", task.ID, task.ContextID
	l.send(answer)
	return task.ID
}

func table(t *testing.T, name string) *a2a.Part {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	part := a2a.NewTextPart(string(data))
	part.Filename, part.MediaType = name, "text/csv"
	return part
}

// outcome is what a client sees of a task in the end.
func outcome(task *a2a.Task) string {
	var b strings.Builder
	fmt.Fprintln(&b, task.Status.State, task.Status.Message.Parts[0].Text())
	for _, msg := range task.History {
		fmt.Fprintln(&b, msg.Role, msg.Parts[0].Text())
	}
	for _, artifact := range task.Artifacts {
		fmt.Fprintln(&b, artifact.ID, artifact.Parts[0].Text())
	}
	return b.String()
}

// TestKilledInStepFive kills the agent at every point of every posting, and at two in a row.
func TestKilledInStepFive(t *testing.T) {
	plans := [][]crash{
		{{5, notSent}, {5, answerLost}}, {{5, answerLost}, {5, answerLost}},
		{{6, notRecorded}, {7, recorded}}, {{8, answerLost}, {8, notRecorded}},
	}
	for step := firstPosting; step <= lastPosting; step++ {
		for _, at := range []point{notSent, answerLost, notRecorded, recorded} {
			plans = append(plans, []crash{{step, at}})
		}
	}
	want := killed(t, nil)
	for _, plan := range plans {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			t.Parallel()
			if got := killed(t, plan); got != want {
				t.Errorf("the task ended as\n%s\nand without a crash as\n%s", got, want)
			}
		})
	}
}

// killed plays the worked example with crashes, checks the ledger, and returns what became of the task.
func killed(t *testing.T, plan []crash) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	dir := filepath.Join(t.TempDir(), "data")
	r := startRelay(t, dir, plan...)
	l := live(ctx, t, dir, r.URL)
	r.kill = l.kill
	id := l.reconcile()
	task := l.until(id, a2a.TaskStateCompleted)
	if left := r.pending(); len(left) != 0 {
		t.Errorf("these crashes did not take place: %v", left)
	}
	received, late := map[int]int{}, map[int]int{}
	for step := firstPosting; step <= lastPosting; step++ {
		received[step] = 1
	}
	for _, c := range plan {
		switch c.at {
		case answerLost, notRecorded:
			received[c.step]++
		case recorded:
			late[c.step+1]++ // it may have left before the agent was killed
		}
	}
	postings := r.postings()
	if len(postings) != len(received) {
		t.Errorf("%d postings, want %d", len(postings), len(received))
	}
	for step, times := range received {
		p := postings[step]
		if p.Key != agent.StepKey(id, step) || p.Received < times || p.Received > times+late[step] {
			t.Errorf("step %d was posted under %q and came %d times, want %d", step, p.Key, p.Received, times)
		}
	}
	return outcome(task)
}
