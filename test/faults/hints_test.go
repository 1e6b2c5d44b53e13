// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// rarely is the longest time between two looks at a task that hints are there for. A run whose hints a crash has cut off
// goes on at the next look.
const rarely = 8 * poll

// TestHints kills the manager around the message and the write that binds its task, with streams and pushes on, as they are
// by default: an agent may be heard of before its answer is recorded, and by a manager that never saw the answer.
func TestHints(t *testing.T) {
	agents := newAgents(t)
	t.Run("plans", func(t *testing.T) {
		for _, name := range []string{"send", "continue"} {
			f := &flows[slices.IndexFunc(flows, func(f flow) bool { return f.name == name })]
			for _, c := range contracts {
				if !*full && !f.quickHinted(c) {
					continue
				}
				t.Run(f.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					f.crashHinted(t, agents.of(f, c), c)
				})
			}
		}
	})
}

// quickHinted reports whether a plan belongs to the part that runs with all tests.
func (f *flow) quickHinted(c contract) bool {
	return f.name == "send" && c.deduplicates || f.name == "continue" && c.name == "None"
}

func (f *flow) crashHinted(t *testing.T, agent *harness.Agent, c contract) {
	plan := "hints: " + f.name + "/" + c.name
	plain := f.suffer(t, agent, c, nil, fault{hints: true})
	ref := &reference{phases: plain.end(), sites: plain.script.record()}
	results.add(plan, plain.judge(ref, nil))
	plain.requireHints()
	plain.quiet()
	sent := slices.Index(ref.sites, agentSite(harness.SendMessage)) + 1
	for _, n := range []int{sent, sent + 1} {
		for _, m := range []mode{before, lost, after} {
			t.Run(fmt.Sprintf("%d %s/%s", n, ref.sites[n-1], m), func(t *testing.T) {
				t.Parallel()
				crashes := []crash{{n, m}}
				r := f.suffer(t, agent, c, crashes, fault{hints: true})
				// Hints show states in between that the run without faults was too late, or too early, to see.
				r.allowed = len(f.objects)
				results.add(plan, r.judge(ref, crashes))
				if r.script.pending() > 0 {
					t.Errorf("%s: the run has fewer calls than without faults", r.describe(crashes))
				}
			})
		}
	}
}

// hear has the managers take pushes, and the agent's tasks listened to where its card has streams.
func (r *run) hear(ra *harness.RemoteAgentBuilder) {
	r.t.Helper()
	key := filepath.Join(r.t.TempDir(), "key")
	if err := os.WriteFile(key, bytes.Repeat([]byte("k"), push.KeyBytes), 0o600); err != nil {
		r.t.Fatal(err)
	}
	address := harness.FreeAddress(r.t)
	door := httptest.NewServer(r.countPushes(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})))
	r.t.Cleanup(door.Close)
	r.flags = []string{"--push-bind-address=" + address, "--push-url=" + door.URL, "--push-key-file=" + key}
	ra.Mode(v1alpha1.UpdatesAuto).Poll(poll, rarely)
}

// countPushes stands in front of the managers, so that agents need one address for all of them.
func (r *run) countPushes(next *httputil.ReverseProxy) http.Handler {
	next.ModifyResponse = func(answer *http.Response) error {
		if answer.StatusCode == http.StatusAccepted {
			r.pushes.Add(1)
		}
		return nil
	}
	// The manager is dead between a crash and its successor.
	next.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	return next
}

// requireHints requires of a run without faults that its tasks were heard of in both ways, and that the agent was told to
// push no more of any of them.
func (r *run) requireHints() {
	r.t.Helper()
	if n := r.relay.Calls()["SubscribeToTask"]; n == 0 || r.pushes.Load() == 0 {
		r.t.Errorf("%s: %d streams and %d pushes; a run without hints proves nothing of them", r.describe(nil), n, r.pushes.Load())
	}
	harness.Eventually(r.t, harness.Patience, "the agent to be told to push no more", func(context.Context) (bool, string) {
		calls := r.relay.Calls()
		return calls["DeleteTaskPushNotificationConfig"] == len(r.flow.objects), fmt.Sprint(calls)
	})
}
