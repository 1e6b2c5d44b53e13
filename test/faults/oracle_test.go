// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// writesPerCrash is how many mutating calls more than the run without faults one crash may cost: the call again that it
// interrupted, a note that the outcome is being found out, another that it was not accepted, a further attempt with its
// journal, and a state in between that the run without faults did not see.
const writesPerCrash = 5

// reference is the end of a flow without faults.
type reference struct {
	once   sync.Once
	phases map[string]v1alpha1.Phase
	sites  []string
}

// end returns the phases that the objects of a run have, "" for one that is gone.
func (r *run) end() map[string]v1alpha1.Phase {
	phases := map[string]v1alpha1.Phase{}
	for _, name := range r.flow.objects {
		phases[name] = ""
		if d := r.find(name); d != nil {
			phases[name] = d.Status.Phase
		}
	}
	return phases
}

// judge holds the end of a run against the reference and the agent's ledger. What it finds fails the test.
func (r *run) judge(ref *reference, crashes []crash) row {
	out := row{}
	complain := func(format string, args ...any) {
		r.t.Errorf("%s: %s", r.describe(crashes), fmt.Sprintf(format, args...))
	}
	for _, step := range r.history.stepsBack() {
		complain("%s", step)
	}
	end := r.end()
	for _, name := range slices.Sorted(slices.Values(r.flow.objects)) {
		switch phase := end[name]; {
		case phase == ref.phases[name]: // as it should be
		case phase == v1alpha1.PhaseUnknown && name == r.flow.cut && r.contract.guesses:
			out.unknown++
		case phase == v1alpha1.PhaseInputRequired && name != r.flow.cut && end[r.flow.cut] == v1alpha1.PhaseUnknown:
		default:
			out.lost++
			complain("%s ends %q; without faults it ends %q", name, phase, ref.phases[name])
		}
	}
	r.judgeLedger(&out, complain)
	if r.task != "" {
		if state := r.agent.TaskState(r.task); state != string(v1alpha1.TaskStateCanceled) {
			out.lost++
			complain("the task ends in state %s", state)
		}
	}
	out.extraWrites = max(0, r.script.mutations()-r.started-len(ref.sites))
	if allowed := r.allowed + writesPerCrash*len(crashes); out.extraWrites > allowed {
		complain("%d mutating calls more than without faults; %d are allowed: %s", out.extraWrites, allowed, strings.Join(r.script.record(), ", "))
	}
	return out
}

// judgeLedger is P2, P3 and P4 as the agent sees them.
func (r *run) judgeLedger(out *row, complain func(string, ...any)) {
	ledger := r.agent.Ledger()
	for _, name := range []string{"d", "a", "r"} {
		record := ledger[r.message(name)]
		out.tasks += record.Accepted
		if record.Accepted > 1 {
			out.duplicates += record.Accepted - 1
			complain("%s", record)
		}
		if record.Bodies > 1 {
			complain("%s", record)
		}
		if copies := record.Received; !r.contract.deduplicates && copies > 1 && r.contract.guesses && r.flow.name != "continue" {
			complain("an agent that does not deduplicate got a message again: %s", record)
		}
		d := r.find(name)
		if d != nil && name == r.flow.cut && d.Status.Phase == v1alpha1.PhaseCompleted && record.Received == 0 {
			out.lost++
			complain("%s is Completed and the agent never got it", name)
		}
	}
}

func (r *run) describe(crashes []crash) string {
	text := r.flow.name + "/" + r.contract.name
	for _, c := range crashes {
		text += "/" + c.String()
	}
	for _, name := range r.flow.objects {
		if d := r.find(name); d != nil {
			text += "\n\t" + harness.Describe(d)
		}
	}
	return text + "\n\tcalls: " + strings.Join(r.script.record(), ", ") + "\n\t"
}
