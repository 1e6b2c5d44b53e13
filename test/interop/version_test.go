// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// An agent of A2A 0.3 is not sent anything, and its RemoteAgent says why.
func TestVersionThatIsNotSpoken(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := Start(t, JSv0)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.CardURL).Build(), s.Delegation("d").MessageID("m-1").Build())
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReady, "NoUsableInterface")
	s.AwaitPhase("d", v1alpha1.PhasePending)
	if r := agent.Record("m-1"); r.Received != 0 {
		t.Errorf("the agent received it: %s", r)
	}
}
