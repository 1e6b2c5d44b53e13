// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// Several managers work at once, with no leader among them: the journal's compare-and-swap is what keeps them apart.
func TestSeveralActiveManagers(t *testing.T) {
	t.Parallel()
	const delegations = 20
	for _, c := range []struct {
		name  string
		flags []string
		// sentOnce says that no message may come twice. A manager that is slow to record an answer may be overtaken by
		// another one's replay, which an agent that deduplicates answers with the same task.
		sentOnce bool
	}{
		{name: "without deduplication", flags: []string{"--dedup=false"}, sentOnce: true},
		{name: "with deduplication"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, append([]string{"--delay=1s"}, c.flags...)...)
			s.StartManager()
			s.StartManager()
			for i := range delegations {
				s.Create(s.Reconciliation(fmt.Sprintf("d-%d", i)).Build())
			}
			s.AwaitReason(fmt.Sprintf("d-%d", delegations-1), "AgentNotFound")
			// Now both have something to do, at the same moment.
			s.Create(s.RemoteAgent(agent.URL).Build())
			for i := range delegations {
				d := s.AwaitPhase(fmt.Sprintf("d-%d", i), v1alpha1.PhaseCompleted)
				r := agent.Record(d.Spec.MessageID)
				if r.Accepted != 1 || r.Bodies != 1 || r.TaskIDs[0] != d.Status.TaskID || c.sentOnce && r.Received != 1 {
					t.Errorf("%s; the Delegation: %s", r, harness.Describe(d))
				}
			}
			if n := len(agent.Ledger()); n != delegations {
				t.Errorf("the agent saw %d messages; want %d", n, delegations)
			}
		})
	}
}
