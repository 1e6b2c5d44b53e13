// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// An agent where the manager must not connect to: nothing is sent, neither the message nor a reading of the card, both
// objects say why, and the message goes out once the manager is allowed to.
func TestEgressDenied(t *testing.T) {
	t.Parallel()
	for name, remoteAgent := range map[string]func(s *harness.Space, url string) *harness.RemoteAgentBuilder{
		"by its card": func(s *harness.Space, url string) *harness.RemoteAgentBuilder { return s.RemoteAgent(url) },
		"by an endpoint by hand": func(s *harness.Space, url string) *harness.RemoteAgentBuilder {
			return s.RemoteAgent("").Endpoint(url + "/a2a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t)
			relay := harness.StartRelay(t, agent.URL, nil)
			manager := s.StartManager("--egress-deny=127.0.0.1")
			s.Create(remoteAgent(s, relay.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
			s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReady, "EgressDenied")
			d := s.AwaitReason("d", "EgressDenied")
			if d.Status.Phase != v1alpha1.PhasePending || d.Status.Attempts != 0 {
				t.Errorf("%s; want Pending without an attempt", harness.Describe(d))
			}
			if calls := relay.Calls(); len(calls) != 0 {
				t.Errorf("the agent was called: %v", calls)
			}
			manager.Kill()
			s.StartManager()
			s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			agent.Require("m-1", 1, 1)
		})
	}
}
