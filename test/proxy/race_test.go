// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proxy

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const copies = 64

// Many copies of one message at once, through all replicas and in all ways, make one task. Each is answered with it, or
// told to come again, and then answered with it.
func TestCopiesAtOnce(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false", "--delay=200ms", "--delay-response=100ms")
	replicas := map[string]func(t *testing.T) []string{
		"two replicas on PostgreSQL": func(t *testing.T) []string {
			url := database(t)
			return []string{
				harness.StartDedupProxy(t, agent.URL, "--store", url).URL,
				harness.StartDedupProxy(t, agent.URL, "--store", url).URL,
			}
		},
		"one replica on SQLite": func(t *testing.T) []string {
			return []string{harness.StartDedupProxy(t, agent.URL, "--store", "sqlite:"+filepath.Join(t.TempDir(), "messages.db")).URL}
		},
	}
	for name, start := range replicas {
		t.Run(name, func(t *testing.T) {
			urls := start(t)
			for round := range 3 {
				atOnce(t, agent, urls, fmt.Sprintf("m-%d-%d", len(urls), round))
			}
		})
	}
}

func atOnce(t *testing.T, agent *harness.Agent, urls []string, id string) {
	t.Helper()
	var group sync.WaitGroup
	answers := make([]answer, copies)
	gate := make(chan struct{})
	for i := range copies {
		group.Go(func() {
			<-gate
			answers[i] = ways[i/2%len(ways)].send(t.Context(), urls[i%len(urls)], reconcile(id))
		})
	}
	close(gate)
	group.Wait()
	known := 0
	for i, a := range answers {
		switch {
		case a.task != "":
			known++
			require(t, agent, id, a.task)
		case !a.again:
			t.Errorf("copy %d: %s", i, a.said)
		}
	}
	if known == 0 {
		t.Error("no copy was answered with the task")
	}
	for i := range copies {
		a := ways[i%len(ways)].send(t.Context(), urls[i%len(urls)], reconcile(id))
		require(t, agent, id, a.task)
	}
	agent.Require(id, 1, 1)
}

// Another body under a known id, and the same id of another caller, through another replica.
func TestReplicasAgree(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false")
	url := database(t)
	key := filepath.Join(t.TempDir(), "key")
	writeFile(t, key, "0123456789abcdef0123456789abcdef")
	flags := []string{"--store", url, "--principal=credential", "--principal-key-file", key}
	one, two := harness.StartDedupProxy(t, agent.URL, flags...), harness.StartDedupProxy(t, agent.URL, flags...)
	send := func(p *harness.DedupProxy, m message, who string) answer {
		return ways[0].send(t.Context(), p.URL, m, "Authorization", "Bearer "+who)
	}
	task := send(one, reconcile("m-1"), "alice").task
	if got := send(two, reconcile("m-1"), "alice").task; got != task || task == "" {
		t.Errorf("through the other replica: task %q, want %q", got, task)
	}
	if a := send(two, words("m-1", "else"), "alice"); !contains(a.said, dedup.ReasonMismatch, "-32602") {
		t.Errorf("another body: %s", a.said)
	}
	if got := send(two, words("m-1", "else"), "bob").task; got == task || got == "" {
		t.Errorf("another caller's task is %q", got)
	}
	if a := ways[1].send(t.Context(), one.URL, reconcile("m-2")); a.again || !contains(a.said, "401") {
		t.Errorf("nobody: %s", a.said)
	}
	if r := agent.Record("m-1"); r.Accepted != 2 {
		t.Errorf("%s, want two tasks of two callers", r)
	}
	agent.Require("m-2", 0, 0)
}

// An answer that comes too early is refused, and is taken when its time has come: under the same id.
func TestRefusedUntilLegal(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false", "--delay=1s")
	proxy := harness.StartDedupProxy(t, agent.URL, "--store", "sqlite:"+filepath.Join(t.TempDir(), "messages.db"))
	task := ways[0].send(t.Context(), proxy.URL, september(t, "m-1")).task
	early := words("m-2", "approve")
	early["taskId"], early["contextId"] = task, "c-m-1"
	if a := ways[0].send(t.Context(), proxy.URL, early); a.task != "" || !contains(a.said, "-32004") {
		t.Fatalf("too early: %s", a.said)
	}
	harness.Eventually(t, harness.Patience, "the agent's question", func(context.Context) (bool, string) {
		state := agent.TaskState(task)
		return state == "TASK_STATE_INPUT_REQUIRED", state
	})
	for range 2 {
		if a := ways[0].send(t.Context(), proxy.URL, early); a.task != task {
			t.Errorf("in time: %s", a.said)
		}
	}
	agent.Require("m-2", 2, 0)
}

// A proxy that is told to end lets a send come to its end, and its outcome is known afterwards.
func TestShutdown(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false", "--delay-response=1s")
	store := "sqlite:" + filepath.Join(t.TempDir(), "messages.db")
	proxy := harness.StartDedupProxy(t, agent.URL, "--store", store)
	done := make(chan answer, 1)
	go func() { done <- ways[0].send(context.WithoutCancel(t.Context()), proxy.URL, reconcile("m-1")) }()
	agent.AwaitReceived("m-1", 1)
	start := time.Now()
	proxy.Stop()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
	a := <-done
	require(t, agent, "m-1", a.task)
	next := harness.StartDedupProxy(t, agent.URL, "--store", store, "--lookup=none")
	require(t, agent, "m-1", ways[0].send(t.Context(), next.URL, reconcile("m-1")).task)
	agent.Require("m-1", 1, 1)
}
