// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

const settle = 400 * time.Millisecond

func lookup(l dedupproxy.Lookup) func(*dedupproxy.Config) {
	return func(c *dedupproxy.Config) { c.Lookup, c.Settle = l, settle }
}

// The ways in which an exchange proves nothing although the agent has the message. Its task is found at once.
func TestAnswerLost(t *testing.T) {
	ways := map[string]func(f *front, w http.ResponseWriter, r *http.Request){
		"reset":      func(f *front, _ http.ResponseWriter, r *http.Request) { f.take(r); panic(http.ErrAbortHandler) },
		"503":        func(f *front, w http.ResponseWriter, r *http.Request) { f.take(r); give(w, 503, "text/plain", "no") },
		"no content": func(f *front, w http.ResponseWriter, r *http.Request) { f.take(r); w.WriteHeader(204) },
		"HTML":       func(f *front, w http.ResponseWriter, r *http.Request) { f.take(r); give(w, 200, "text/html", "<p>") },
		"redirect": func(f *front, w http.ResponseWriter, r *http.Request) {
			f.take(r)
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(307)
		},
		"truncated": func(f *front, w http.ResponseWriter, r *http.Request) {
			whole := f.take(r).Body.String()
			w.Header().Set("Content-Length", "100000")
			give(w, 200, "application/json", whole[:len(whole)/2])
			panic(http.ErrAbortHandler)
		},
		"not JSON": func(f *front, w http.ResponseWriter, r *http.Request) {
			give(w, 200, "application/json", f.take(r).Body.String()[1:])
		},
		"empty task": func(f *front, w http.ResponseWriter, r *http.Request) {
			f.take(r)
			give(w, 200, "application/json", `{"jsonrpc":"2.0","id":"q-1","result":{"task":{}},"task":{}}`)
		},
		"internal error": func(f *front, w http.ResponseWriter, r *http.Request) {
			f.take(r)
			give(w, 500, "application/json", `{"jsonrpc":"2.0","id":"q-1","error":{"code":-32603,"message":"x"}}`)
		},
		"foreign answer": func(f *front, w http.ResponseWriter, r *http.Request) {
			f.take(r)
			give(w, 200, "application/json", `{"jsonrpc":"2.0","id":"q-2","result":{"task":{"id":"t-foreign"}}}`)
		},
	}
	for name, way := range ways {
		for _, b := range bindings {
			t.Run(name+"/"+b.name, func(t *testing.T) {
				a := agent(t, nil)
				f := inFront(t, a.URL, func(f *front, _ int64, w http.ResponseWriter, r *http.Request) { way(f, w, r) })
				p := proxy(t, f.URL, nil)
				m := ledgers("m-1").with("contextId", "c-1")
				task := p.send(t, b, m).task(t)
				if made := record(t, a.URL, "m-1").TaskIDs; len(made) != 1 || string(made[0]) != task {
					t.Errorf("told of task %s, the agent made %v", task, made)
				}
				if again := p.send(t, b, m).task(t); again != task {
					t.Errorf("repeat: task %s, want %s", again, task)
				}
				requireRecord(t, a.URL, "m-1", 1, 1)
			})
		}
	}
}

// A message that the agent never got goes out again only where the listing is authoritative, and only when it is settled.
func TestNeverArrived(t *testing.T) {
	for _, test := range []struct {
		lookup dedupproxy.Lookup
		reason string
		tasks  int
	}{
		{dedupproxy.LookupAuthoritative, "", 1},
		{dedupproxy.LookupBestEffort, dedup.ReasonOutcomeUnknown, 0},
		{dedupproxy.LookupNone, dedup.ReasonOutcomeUnknown, 0},
	} {
		for _, b := range bindings {
			t.Run(string(test.lookup)+"/"+b.name, func(t *testing.T) {
				a := agent(t, func(c *server.Config) {
					c.Faults.Status = server.Statuses{{Method: "SendMessage", Code: 503, N: 1}}
				})
				p := proxy(t, a.URL, lookup(test.lookup))
				start := time.Now()
				if r := p.send(t, b, ledgers("m-1")); r.status != http.StatusServiceUnavailable {
					t.Fatalf("first copy: %d %s, want the agent's own answer", r.status, r.body)
				}
				r := p.repeat(t, b, ledgers("m-1"))
				if got := r.reason(t); got != test.reason {
					t.Errorf("answer %d %s: reason %q, want %q", r.status, r.body, got, test.reason)
				}
				if test.tasks == 1 {
					r.task(t)
				}
				if took := time.Since(start); test.lookup != dedupproxy.LookupNone && took < settle {
					t.Errorf("answered after %v, before the listing was settled", took)
				}
				requireRecord(t, a.URL, "m-1", 1+test.tasks, test.tasks)
			})
		}
	}
}

// repeat sends a message until the answer is not to come again later.
func (p *proxied) repeat(t *testing.T, b binding, m message, headers ...string) reply {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r := p.send(t, b, m, headers...)
		if r.reason(t) != dedup.ReasonInProgress {
			return r
		}
		if b == rest && (r.status != http.StatusConflict || r.header.Get("Retry-After") == "") {
			t.Fatalf("in progress: %d %v", r.status, r.header)
		}
		if time.Now().After(deadline) {
			t.Fatal("in progress for ever")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A task that the listing shows late is found, by whichever lookup, before anything goes out again.
func TestListingLags(t *testing.T) {
	for _, mode := range []dedupproxy.Lookup{dedupproxy.LookupAuthoritative, dedupproxy.LookupBestEffort} {
		a := agent(t, func(c *server.Config) {
			c.Faults.LoseResponses, c.Faults.ListLag = 1, settle/2
		})
		p := proxy(t, a.URL, lookup(mode))
		p.repeat(t, rpc, ledgers("m-1")).task(t)
		requireRecord(t, a.URL, "m-1", 1, 1)
	}
}

// An agent that does not show what is needed is never sent the message again, whatever was promised for it.
func TestBlindAgent(t *testing.T) {
	for name, change := range map[string]func(*server.Config){
		"no history": func(c *server.Config) { c.History = false },
		"no listing": func(c *server.Config) {
			c.Faults.Status = server.Statuses{{Method: "ListTasks", Code: 501, N: -1}}
		},
	} {
		for _, b := range bindings {
			t.Run(name+"/"+b.name, func(t *testing.T) {
				a := agent(t, func(c *server.Config) {
					change(c)
					c.Faults.LoseResponses = 1
				})
				p := proxy(t, a.URL, lookup(dedupproxy.LookupAuthoritative))
				for range 3 {
					p.send(t, b, ledgers("m-1"))
				}
				if r := p.repeat(t, b, ledgers("m-1")); r.reason(t) != dedup.ReasonOutcomeUnknown || r.header.Get("Retry-After") != "" {
					t.Errorf("%d %v %s", r.status, r.header, r.body)
				}
				requireRecord(t, a.URL, "m-1", 1, 1)
			})
		}
	}
}

// An agent that can't be asked just now keeps the client waiting, and the message back.
func TestLookupFails(t *testing.T) {
	for _, b := range bindings {
		a := agent(t, func(c *server.Config) {
			c.Faults.Status = server.Statuses{{Method: "ListTasks", Code: 503, N: 4}}
			c.Faults.LoseResponses = 1
		})
		p := proxy(t, a.URL, lookup(dedupproxy.LookupAuthoritative))
		for n := range 4 {
			if r := p.send(t, b, ledgers("m-1")); r.reason(t) != dedup.ReasonInProgress {
				t.Errorf("%s, copy %d: %d %s", b.name, n+1, r.status, r.body)
			}
		}
		p.send(t, b, ledgers("m-1")).task(t)
		requireRecord(t, a.URL, "m-1", 1, 1)
	}
}

// A continuation is looked for in its task.
func TestContinuation(t *testing.T) {
	for _, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			a := agent(t, nil)
			lose := func(f *front, n int64, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					f.agent.ServeHTTP(w, r)
					return
				}
				f.take(r)
				panic(http.ErrAbortHandler)
			}
			p := proxy(t, inFront(t, a.URL, lose).URL, lookup(dedupproxy.LookupAuthoritative))
			task := p.send(t, b, asking(t, "m-1")).task(t)
			awaitState(t, a.URL, task, "TASK_STATE_INPUT_REQUIRED")
			answer := msg("m-2", "approve all").with("taskId", task)
			for range 2 {
				if got := p.repeat(t, b, answer).task(t); got != task {
					t.Errorf("task %s, want %s", got, task)
				}
			}
			if r := record(t, a.URL, "m-2"); r.Received != 1 || r.Continued != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// No byte reaches an agent that is away: the message is not remembered.
func TestAgentAway(t *testing.T) {
	a := agent(t, nil)
	a.Close()
	p := proxy(t, a.URL, func(c *dedupproxy.Config) { c.Lookup, c.RESTPaths = dedupproxy.LookupNone, []string{server.RESTPath} })
	for _, b := range bindings {
		for _, text := range []string{"x", "y"} {
			r := p.send(t, b, msg("m-1", text))
			if r.status != http.StatusBadGateway || r.reason(t) != dedupproxy.ReasonUnavailable {
				t.Errorf("%s: %d %s", b.name, r.status, r.body)
			}
		}
	}
}

// A task that can't be read now is not made anew, nor is one that is gone.
func TestReplayFails(t *testing.T) {
	for _, code := range []int{http.StatusServiceUnavailable, http.StatusNotFound} {
		for _, b := range bindings {
			a := agent(t, func(c *server.Config) {
				c.Faults.Status = server.Statuses{{Method: "GetTask", Code: code, N: 1}}
			})
			p := proxy(t, a.URL, nil)
			task := p.send(t, b, ledgers("m-1")).task(t)
			if r := p.send(t, b, ledgers("m-1")); r.status < 400 {
				t.Errorf("%s: %d %s", b.name, r.status, r.body)
			}
			if got := p.send(t, b, ledgers("m-1")).task(t); got != task {
				t.Errorf("%s: task %s, want %s", b.name, got, task)
			}
			requireRecord(t, a.URL, "m-1", 1, 1)
		}
	}
}
