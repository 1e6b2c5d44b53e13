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

	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	settle = 1500 * time.Millisecond
	lease  = 600 * time.Millisecond
	// maxCalls bounds the search for the last round trip with the table.
	maxCalls = 20
)

// promised are the flags of a proxy whose agent keeps what --lookup=authoritative promises.
func promised(store string) []string {
	return []string{"--store", store, "--lookup=authoritative", "--settle", settle.String(), "--lease", lease.String()}
}

// run is one proxy that is started again whenever it was killed, and one client that repeats a message until it has a
// task.
type run struct {
	t       *testing.T
	address string
	flags   []string
	target  string

	mu    sync.Mutex
	proxy *harness.DedupProxy
}

func (r *run) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proxy = harness.StartDedupProxy(r.t, r.target, append([]string{"--listen", r.address}, r.flags...)...)
}

// kill ends the proxy as a crash does.
func (r *run) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proxy.Kill()
}

func (r *run) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proxy.Running()
}

// deliver repeats a message until it is answered with a task.
func (r *run) deliver(w way, m message) (task string) {
	harness.Eventually(r.t, harness.Patience, fmt.Sprintf("a task of %v", m["messageId"]), func(ctx context.Context) (bool, string) {
		if !r.running() {
			r.start()
		}
		a := w.send(ctx, "http://"+r.address, m)
		if a.task == "" && !a.again {
			r.t.Fatalf("answered %s", a.said)
		}
		task = a.task
		return a.task != "", a.said
	})
	return task
}

func newRun(t *testing.T, target, store string, flags ...string) *run {
	t.Helper()
	r := &run{t: t, target: target, address: harness.FreeAddress(t), flags: append(promised(store), flags...)}
	r.start()
	return r
}

// The proxy is killed at each point of its way to the agent and back, in each way to send, with each kind of table: one
// task is made, and the client is told which.
func TestCrashAtAgent(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false")
	stores := map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "messages.db") },
		"PostgreSQL": database,
	}
	for name, store := range stores {
		for _, w := range ways {
			for _, m := range []mode{before, late, lost, after} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, w.name, m), func(t *testing.T) {
					t.Parallel()
					id := "m-" + t.Name()
					relay := startAgentRelay(t, agent.URL)
					r := newRun(t, relay.URL, store(t))
					relay.set(1, m, r.kill)
					task := r.deliver(w, reconcile(id))
					if !relay.hasSprung() {
						t.Error("nothing was killed")
					}
					require(t, agent, id, task)
					require(t, agent, id, r.deliver(w, reconcile(id)))
				})
			}
		}
	}
}

// The proxy that goes on after a crash is killed as well, at each point.
func TestCrashTwice(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false")
	for _, one := range []mode{before, late, lost} {
		for _, two := range []mode{before, lost} {
			t.Run(fmt.Sprintf("%s, then %s", one, two), func(t *testing.T) {
				t.Parallel()
				id := "m-" + t.Name()
				relay := startAgentRelay(t, agent.URL)
				r := newRun(t, relay.URL, "sqlite:"+filepath.Join(t.TempDir(), "messages.db"))
				relay.set(1, one, func() {
					r.kill()
					relay.set(1, two, r.kill)
				})
				task := r.deliver(ways[0], reconcile(id))
				require(t, agent, id, task)
			})
		}
	}
}

// The proxy is killed at each of its round trips with PostgreSQL: before the table has the call, and before the answer is
// back. Between insert, forward and bind there is nothing else that could be cut apart.
func TestCrashAtTable(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false")
	for _, w := range ways[:2] {
		for _, m := range []mode{before, lost} {
			t.Run(fmt.Sprintf("%s/%s", w.name, m), func(t *testing.T) {
				t.Parallel()
				sites := 0
				for n := 1; n <= maxCalls; n++ {
					if !crashAtTable(t, agent, w, n, m) {
						break
					}
					sites++
				}
				if sites < 2 { // the insert and the bind at least
					t.Errorf("killed at %d round trips only", sites)
				}
				t.Logf("killed at each of %d round trips", sites)
			})
		}
	}
}

// crashAtTable reports whether the run had so many round trips with the table.
func crashAtTable(t *testing.T, agent *harness.Agent, w way, n int, m mode) bool {
	t.Helper()
	id := fmt.Sprintf("m-%s-%d", t.Name(), n)
	table, url := startTableRelay(t, database(t))
	r := newRun(t, agent.URL, url)
	quiet(t, table)
	table.set(n, m, r.kill)
	task := r.deliver(w, reconcile(id))
	require(t, agent, id, task)
	require(t, agent, id, r.deliver(w, reconcile(id)))
	r.kill()
	return table.hasSprung()
}

// quiet waits until a proxy that has started has nothing more to say to its table.
func quiet(t *testing.T, table *tableRelay) {
	t.Helper()
	seen, since := -1, time.Now()
	harness.Eventually(t, harness.Patience, "the proxy to be done with its table", func(context.Context) (bool, string) {
		if now := table.count(); now != seen {
			seen, since = now, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond, fmt.Sprintf("%d round trips", seen)
	})
}

// Where the agent's listing is not said to be complete, a message whose proxy was killed before it was forwarded is never
// forwarded again: its client is told that the outcome is not known.
func TestCrashWithoutPromise(t *testing.T) {
	agent := harness.StartAgent(t, "--dedup=false")
	for _, lookup := range []string{"best-effort", "none"} {
		for _, m := range []mode{before, lost} {
			t.Run(lookup+"/"+string(m), func(t *testing.T) {
				t.Parallel()
				id := "m-" + t.Name()
				relay := startAgentRelay(t, agent.URL)
				r := newRun(t, relay.URL, "sqlite:"+filepath.Join(t.TempDir(), "messages.db"), "--lookup", lookup)
				relay.set(1, m, r.kill)
				last := answer{again: true}
				harness.Eventually(t, harness.Patience, "a final answer", func(ctx context.Context) (bool, string) {
					if !r.running() {
						r.start()
					}
					last = ways[0].send(ctx, "http://"+r.address, reconcile(id))
					return !last.again, last.said
				})
				if m == lost && lookup == "best-effort" {
					require(t, agent, id, last.task)
					return
				}
				if !contains(last.said, "MESSAGE_OUTCOME_UNKNOWN") {
					t.Errorf("answered %s", last.said)
				}
				if got := agent.Record(id); got.Accepted > 1 || m == before && got.Received != 0 {
					t.Errorf("%s", got)
				}
			})
		}
	}
}
