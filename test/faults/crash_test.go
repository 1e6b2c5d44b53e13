// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// statusWrite is how a run shows a state.
const statusWrite = "API PUT delegations/status"

// maxSites bounds the search for the last call of a run that goes wrong.
const maxSites = 40

// TestCrash kills the manager at each of its mutating calls, in each of three ways, and then the manager that goes on as
// well. The calls are those of a run without faults; testdata/sites.golden has them, so that a new one does not go
// unnoticed.
func TestCrash(t *testing.T) {
	agents := newAgents(t)
	t.Run("plans", func(t *testing.T) {
		for i := range flows {
			for _, c := range contracts {
				f := &flows[i]
				if !*full && !f.quick(c) {
					continue
				}
				t.Run(f.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					f.crashEverywhere(t, agents.of(f, c), c)
				})
			}
		}
	})
}

// quick reports whether a plan belongs to the part that runs with all tests.
func (f *flow) quick(c contract) bool {
	return f.name == "send" && c.name != "Authoritative" || f.name == "continue" && c.name == "None"
}

// pairs reports whether a plan also kills the manager that goes on.
func (f *flow) pairs(c contract) bool {
	return *full && (f.name == "send" || f.name == "recover" && !c.guesses)
}

func (f *flow) crashEverywhere(t *testing.T, agent *harness.Agent, c contract) {
	ref := f.reference(t, agent, c)
	requireSites(t, f.name+"/"+c.name, ref.sites)
	for n := range ref.sites {
		for _, m := range []mode{before, lost, after} {
			t.Run(fmt.Sprintf("%d %s/%s", n+1, ref.sites[n], m), func(t *testing.T) {
				t.Parallel()
				first := crash{n + 1, m}
				f.crashed(t, agent, c, ref, first)
				// What dies after the answer to one call is what dies before the next, but for what it has in memory.
				for second := 1; f.pairs(c) && m != after && second <= maxSites; second++ {
					if !f.crashed(t, agent, c, ref, first, crash{second, before}) {
						break
					}
					f.crashed(t, agent, c, ref, first, crash{second, lost})
				}
			})
		}
	}
}

// references are kept: those of one flow and contract are all the same.
var references sync.Map

// reference plays the flow without faults.
func (f *flow) reference(t *testing.T, agent *harness.Agent, c contract) *reference {
	t.Helper()
	plan := f.name + "/" + c.name
	kept, _ := references.LoadOrStore(plan, &reference{})
	ref := kept.(*reference)
	ref.once.Do(func() {
		plain := f.playKnown(t, agent, c)
		ref.phases, ref.sites = plain.end(), plain.script.record()
		if n, ok := inBetween(ref.sites, knownSites(t, plan)); ok && n <= len(f.objects) && !*update {
			ref.sites, plain.allowed = knownSites(t, plan), n
		}
		results.add(plan, plain.judge(ref, nil))
		plain.quiet()
	})
	if ref.phases == nil {
		t.Fatalf("%s did not come to an end without faults", plan)
	}
	return ref
}

// playKnown plays a flow without faults, and again where a state in between was seen, or not, that usually is not, or is:
// that is a matter of time. What is there each time is meant to be known.
func (f *flow) playKnown(t *testing.T, agent *harness.Agent, c contract) *run {
	t.Helper()
	for try := 1; ; try++ {
		r := f.play(t, agent, c, nil)
		if *update || try == 3 || slices.Equal(r.script.record(), knownSites(t, f.name+"/"+c.name)) {
			return r
		}
	}
}

// inBetween returns how many states more than known a run has shown, which a slow machine has time to see; false if it did
// something else.
func inBetween(sites, known []string) (int, bool) {
	n := 0
	for _, site := range sites {
		switch {
		case len(known) > 0 && site == known[0]:
			known = known[1:]
		case site == statusWrite:
			n++
		default:
			return n, false
		}
	}
	return n, len(known) == 0
}

// crashed plays a flow with crashes and reports whether all of them took place.
func (f *flow) crashed(t *testing.T, agent *harness.Agent, c contract, ref *reference, crashes ...crash) bool {
	t.Helper()
	r := f.play(t, agent, c, crashes)
	plan := f.name + "/" + c.name
	if len(crashes) > 1 {
		plan += ", twice"
	}
	results.add(plan, r.judge(ref, crashes))
	if n := r.script.pending(); n > 0 && len(crashes) == 1 {
		t.Errorf("%s: the run has fewer calls than without faults", r.describe(crashes))
	} else if n > 0 {
		return false
	}
	return true
}

// quiet requires that nothing is written and nobody called once all is over.
func (r *run) quiet() {
	r.t.Helper()
	if slices.Contains(r.flow.objects, r.flow.cut) && r.contract.guesses && r.end()[r.flow.cut] == "Unknown" {
		return // is looked up from time to time
	}
	writes, calls := r.script.mutations(), fmt.Sprint(r.relay.Calls())
	harness.Throughout(r.t, 2*poll, "nothing is written and nobody called", func(context.Context) (bool, string) {
		n, now := r.script.mutations(), fmt.Sprint(r.relay.Calls())
		return n == writes && now == calls, fmt.Sprintf("%d mutating calls more, calls of the agent %s, before %s", n-writes, now, calls)
	})
}

func goldenOf(plan string) string {
	return filepath.Join("testdata", strings.ReplaceAll(plan, "/", "-")+".golden")
}

// knownSites are the mutating calls of a run without faults that are known.
func knownSites(t *testing.T, plan string) []string {
	t.Helper()
	text, err := os.ReadFile(goldenOf(plan))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// requireSites compares the mutating calls of a run without faults with those that are known.
func requireSites(t *testing.T, plan string, sites []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(goldenOf(plan), []byte(strings.Join(sites, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := knownSites(t, plan); !slices.Equal(sites, want) {
		t.Errorf("the calls that change something are others than in %s; run with -update if that is meant to be:\n%s\nwant\n%s",
			goldenOf(plan), strings.Join(sites, "\n"), strings.Join(want, "\n"))
	}
}

// agents are shared by many runs; each run has messages of its own.
type agents map[string]*harness.Agent

func newAgents(t *testing.T) agents {
	t.Helper()
	out := agents{}
	// A task takes a while, so that it is never done in the answer to its message.
	for name, flags := range map[string][]string{
		"deduplicates": {"--delay=500ms"}, "forgets": {"--delay=500ms", "--dedup=false"},
		"deduplicates, slow": {"--delay=1h"}, "forgets, slow": {"--delay=1h", "--dedup=false"},
	} {
		out[name] = harness.StartAgent(t, append(flags, "--push")...)
	}
	return out
}

func (a agents) of(f *flow, c contract) *harness.Agent {
	name := "forgets"
	if c.deduplicates {
		name = "deduplicates"
	}
	if f.slow {
		name += ", slow"
	}
	return a[name]
}
