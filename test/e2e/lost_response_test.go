// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// contract is what an agent does about messages that are sent twice and tasks that are looked up, and what has to come of
// a message whose first answer is lost.
type contract struct {
	name  string
	flags []string
	phase v1alpha1.Phase
	by    v1alpha1.Recovery
	// received is how often the message may come to the agent: once, unless it deduplicates.
	received int
	// settle is short where the end of it is what the test waits for.
	settle time.Duration
}

const (
	shortAttempt = 3 * time.Second
	shortSettle  = 2 * time.Second
)

var contracts = []contract{
	{name: "deduplication", settle: time.Minute,
		phase: v1alpha1.PhaseCompleted, by: v1alpha1.RecoveredByReplay, received: 2},
	{name: "history only", flags: []string{"--dedup=false"}, settle: time.Minute,
		phase: v1alpha1.PhaseCompleted, by: v1alpha1.RecoveredByLookup, received: 1},
	{name: "neither", flags: []string{"--dedup=false", "--history=false"}, settle: shortSettle,
		phase: v1alpha1.PhaseUnknown, received: 1},
}

// remoteAgent describes the agent. What it says of deduplication is in its card.
func (c contract) remoteAgent(s *harness.Space, url string) *v1alpha1.RemoteAgent {
	return s.RemoteAgent(url).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, c.settle).Build()
}

// requireRecovered waits for what the contract allows to come of a message, and holds it against the agent's ledger.
func (c contract) requireRecovered(t *testing.T, s *harness.Space, agent *harness.Agent, name, messageID string) {
	t.Helper()
	d := s.AwaitPhase(name, c.phase)
	if d.Status.RecoveredBy != c.by {
		t.Errorf("recoveredBy = %q; want %q", d.Status.RecoveredBy, c.by)
	}
	agent.Require(messageID, c.received, 1)
	if c.phase == v1alpha1.PhaseCompleted {
		if made := agent.Record(messageID).TaskIDs[0]; d.Status.TaskID != made {
			t.Errorf("taskId = %q; the agent made %q", d.Status.TaskID, made)
		}
	}
}

func TestLostResponse(t *testing.T) {
	t.Parallel()
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, append([]string{"--lose-responses=1"}, c.flags...)...)
			manager := s.StartManager()
			s.Create(c.remoteAgent(s, agent.URL), s.Reconciliation("d").MessageID("m-1").Build())
			c.requireRecovered(t, s, agent, "d", "m-1")
			if c.phase == v1alpha1.PhaseUnknown {
				requireNeverSentAgain(t, s, agent, manager)
			}
		})
	}
}

// A RemoteAgent that says nothing but where the agent is has the defaults, and with them the lookup.
func TestLostResponseWithDefaults(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=1", "--dedup=false")
	s.StartManager()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"cardURL": agent.URL}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RemoteAgent"))
	u.SetNamespace(s.Namespace)
	u.SetName(harness.AgentName)
	s.Create(u, s.Reconciliation("d").MessageID("m-1").Build())
	if d := s.AwaitPhase("d", v1alpha1.PhaseCompleted); d.Status.RecoveredBy != v1alpha1.RecoveredByLookup {
		t.Errorf("recoveredBy = %q; want %q", d.Status.RecoveredBy, v1alpha1.RecoveredByLookup)
	}
	agent.Require("m-1", 1, 1)
}

// requireNeverSentAgain gives the operator every reason to send m-1 again: time, a change of the Delegation, a change of
// the RemoteAgent, and a new process.
func requireNeverSentAgain(t *testing.T, s *harness.Space, agent *harness.Agent, manager *harness.Process) {
	t.Helper()
	const window = 2 * time.Second
	unknown := func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseUnknown }
	s.Remains("d", window, "to stay Unknown", unknown)
	s.Kubectl("annotate", "delegation", "d", "touched=true")
	s.Kubectl("patch", "remoteagent", harness.AgentName, "--type=merge", "--patch", `{"spec":{"delivery":{"maxInFlight":7}}}`)
	s.AwaitAgentReady(harness.AgentName)
	s.Remains("d", window, "to stay Unknown after changes", unknown)
	manager.Kill()
	s.StartManager()
	s.Remains("d", 2*window, "to stay Unknown after a restart", unknown)
	agent.Require("m-1", 1, 1)
}
