// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// A journal that names a task which spec.continues does not lead to sends nothing to the task, and asks nothing about it,
// also where no other namespace uses the agent: it is how somebody would answer who may write Delegations and not answers.
func TestAJournalAloneAnswersNothing(t *testing.T) {
	question := func(task string) *v1alpha1.Delegation {
		root := &v1alpha1.Delegation{}
		root.Namespace, root.Name, root.UID = "books", "other", "uid-other"
		root.Status = v1alpha1.DelegationStatus{TaskID: task, State: v1alpha1.TaskStateInputRequired, Phase: v1alpha1.PhaseInputRequired, Interruptions: 1}
		return root
	}
	for _, c := range []struct {
		name      string
		continues bool
		root      *v1alpha1.Delegation
		reaches   bool
	}{
		{name: "a Delegation that continues none"},
		{name: "one that continues another task", continues: true, root: question("t-other")},
		{name: "one whose target was restored without its task", continues: true, root: question("")},
		{name: "one that continues the task", continues: true, root: question("t-question"), reaches: true},
		{name: "one whose target is gone", continues: true, reaches: true},
	} {
		for _, deduplicates := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				w := newWorld().at(2*timeout + settle)
				if deduplicates {
					w.deduplicating()
				}
				before, d := start.Truncate(time.Microsecond), w.Delegation
				a := Attempt{Number: 1, Holder: "x", First: start, Started: start, Deadline: start.Add(timeout), Endpoint: w.Agent.Endpoint, Body: digest, Task: "t-question", Before: &before}
				if err := a.Annotate(d); err != nil {
					t.Fatal(err)
				}
				if c.continues {
					d.Spec.Continues, w.Related.Root = &v1alpha1.DelegationReference{Name: "other"}, c.root
				}
				if reaches := reachesTask(w); reaches != c.reaches {
					t.Errorf("deduplicates %t: sends to the task or asks about it: %t, want %t; %+v", deduplicates, reaches, c.reaches, d.Status)
				}
			})
		}
	}
}

// reachesTask reports whether a decision, of those that a minute each brings, calls the agent.
func reachesTask(w *world) bool {
	for range 8 {
		switch a := Next(w.Input).(type) {
		case Ask, Send:
			return true
		case Record:
			w.Delegation.Status = a.Status
		case Wait:
			w.Now = w.Now.Add(time.Minute)
		}
	}
	return false
}
