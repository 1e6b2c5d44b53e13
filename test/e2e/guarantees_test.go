// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var update = flag.Bool("update", false, "write the table of docs/guarantees.md from what the test sees")

// promise is what an agent does and what its owner says of it.
type promise struct {
	name  string
	flags []string
	mode  v1alpha1.LookupMode
}

var promises = []promise{
	{name: "`deduplication: MessageID`", mode: v1alpha1.LookupBestEffort},
	{name: "`taskLookup: Authoritative`", flags: []string{"--dedup=false"}, mode: v1alpha1.LookupAuthoritative},
	{name: "`taskLookup: BestEffort`, history kept", flags: []string{"--dedup=false"}, mode: v1alpha1.LookupBestEffort},
	{name: "`taskLookup: BestEffort`, no history", flags: []string{"--dedup=false", "--history=false"}, mode: v1alpha1.LookupBestEffort},
	{name: "`taskLookup: None`", flags: []string{"--dedup=false"}, mode: v1alpha1.LookupNone},
}

// fault is what goes wrong with the first attempt.
type fault struct {
	name  string
	flags []string
	// crash kills the operator while the message is on the wire; the message arrives.
	crash bool
}

var faults = []fault{
	{name: "nothing"},
	{name: "the answer is lost, the agent has the message", flags: []string{"--lose-responses=1"}},
	{name: "503, the agent has the message", flags: []string{"--fail-after-accept=1"}},
	{name: "503, the agent has not", flags: []string{"--reject-first-with=503:1"}},
	{name: "429", flags: []string{"--reject-first-with=429:1:1"}},
	{name: "401 once", flags: []string{"--reject-first-with=401:1"}},
	{name: "400", flags: []string{"--reject-first-with=400:1"}},
	{name: "the operator is killed with the message on the wire", crash: true},
}

// TestGuarantees runs each contract against each fault, with the manager and the agent as processes, and holds what came
// of it against the table of docs/guarantees.md.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	cells := make([]string, len(promises)*len(faults))
	t.Run("run", func(t *testing.T) {
		for i, p := range promises {
			for j, f := range faults {
				t.Run(p.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					cells[i*len(faults)+j] = guarantee(t, p, f)
				})
			}
		}
	})
	compareGuarantees(t, cells)
}

// guarantee runs one cell and says what a user sees.
func guarantee(t *testing.T, p promise, f fault) string {
	s := cluster.Space(t)
	agent := harness.StartAgent(t, append(append([]string{}, p.flags...), f.flags...)...)
	relay := harness.StartRelay(t, agent.URL, nil)
	manager := s.StartManager()
	var held *harness.HeldMessage
	if f.crash {
		held = relay.Hold()
	}
	s.Create(s.RemoteAgent(relay.URL).AttemptTimeout(shortAttempt).Lookup(p.mode, shortSettle).Build(), s.Reconciliation("d").Build())
	if f.crash {
		harness.AwaitClosed(t, held.Arrived, "the message to be on the wire")
		manager.Kill()
		held.Forward(t)
		s.StartManager()
	}
	d := s.Await("d", "to end, or to be Unknown", func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase.Finished() || d.Status.Phase == v1alpha1.PhaseUnknown
	})
	r := agent.Record(d.Spec.MessageID)
	if len(r.TaskIDs) > 1 || r.Bodies > 1 {
		t.Errorf("%s", r)
	}
	cell := fmt.Sprintf("%s, %d sent, %d task", d.Status.Phase, r.Received, len(r.TaskIDs))
	if d.Status.RecoveredBy != "" {
		cell += ", " + string(d.Status.RecoveredBy)
	}
	return cell
}

const tableBegin, tableEnd = "<!-- begin: written by TestGuarantees -->\n", "<!-- end -->\n"

func compareGuarantees(t *testing.T, cells []string) {
	t.Helper()
	var table strings.Builder
	table.WriteString("| what goes wrong |")
	for _, p := range promises {
		table.WriteString(" " + p.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(promises)) + "\n")
	for j, f := range faults {
		table.WriteString("| " + f.name + " |")
		for i := range promises {
			table.WriteString(" " + cells[i*len(faults)+j] + " |")
		}
		table.WriteString("\n")
	}
	path := filepath.Join(harness.Root(t), "docs", "guarantees.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), tableBegin)
	written, after, ended := strings.Cut(rest, tableEnd)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the table", path)
	case *update:
		if err := os.WriteFile(path, []byte(before+tableBegin+table.String()+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case written != table.String():
		t.Errorf("the table of docs/guarantees.md is not what was seen; write it with -update. Seen:\n%s", table.String())
	}
}
