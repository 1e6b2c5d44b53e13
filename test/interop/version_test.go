// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// What can't be done with an agent of A2A 0.3 stands on its RemoteAgent, and a promise about ListTasks is not relied on.
func TestLimitationsOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := Start(t, JSv0)
	s.StartManager()
	ra := s.RemoteAgent(agent.CardURL).Lookup(v1alpha1.LookupAuthoritative, 0).Build()
	s.Create(ra, s.Delegation("d").MessageID("m-1").Build())
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReady, "Ready")
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), ra); err != nil {
		t.Fatal(err)
	}
	if e := ra.Status.Endpoint; e == nil || e.ProtocolVersion != "0.3.0" || e.ProtocolBinding != "JSONRPC" {
		t.Errorf("the endpoint is %+v", e)
	}
	if !slices.ContainsFunc(ra.Status.Limitations, func(l v1alpha1.Limitation) bool { return l.Reason == v1alpha1.LimitationNoTaskListing }) {
		t.Errorf("the limitations are %+v", ra.Status.Limitations)
	}
	// The message is not looked up first, although its id is the manifest's: its text makes the agent fail the task.
	s.AwaitPhase("d", v1alpha1.PhaseFailed)
	if r := agent.Record("m-1"); r.Received != 1 || r.Executed != 1 {
		t.Errorf("the agent received it: %s", r)
	}
}
