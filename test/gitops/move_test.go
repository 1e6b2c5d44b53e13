// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A namespace moves to another cluster by the steps of docs/scaling.md, with an agent that keeps nothing by which a second copy
// would be known: what was not sent is sent from there, a task that is at work is followed there, and no message goes twice.
func TestMoveToAnotherCluster(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--history=false", "--delay=20s")
	manager := s.StartManager()
	ra := s.RemoteAgent(agent.URL).Build()
	s.Create(ra, s.Reconciliation("working").Build())
	working := s.Await("working", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Create(s.Reconciliation("unsent").With(func(spec *v1alpha1.DelegationSpec) { spec.Suspend = true }).Build())
	s.AwaitReason("unsent", "Suspended")

	const suspend, orphan = `--patch={"spec":{"suspend":true}}`, `--patch={"spec":{"deletionPolicy":"Orphan"}}`
	names := []string{"working", "unsent"}
	saved := map[string]*unstructured.Unstructured{}
	for _, name := range names {
		s.Kubectl("patch", "delegation", name, "--type=merge", suspend)
		saved[name] = backup(t, s, "Delegation", name)
	}
	for _, name := range names {
		s.Kubectl("patch", "delegation", name, "--type=merge", orphan)
		s.Kubectl("delete", "delegation", name)
	}
	manager.Stop()
	if state := agent.TaskState(working.Status.TaskID); state == string(v1alpha1.TaskStateCanceled) {
		t.Fatal("the task was canceled with the Delegation that is moved")
	}

	// The other cluster.
	for _, name := range names {
		restore(t, s, saved[name], true)
	}
	s.StartManager()
	for _, name := range names {
		s.Kubectl("patch", "delegation", name, "--type=merge", `--patch={"spec":{"suspend":false}}`)
	}
	moved, sent := s.AwaitPhase("working", v1alpha1.PhaseCompleted), s.AwaitPhase("unsent", v1alpha1.PhaseCompleted)
	if moved.UID == working.UID || moved.Status.TaskID != working.Status.TaskID {
		t.Errorf("it is %s; want another object with the task %s", harness.Describe(moved), working.Status.TaskID)
	}
	agent.Require(working.Spec.MessageID, 1, 1)
	agent.Require(sent.Spec.MessageID, 1, 1)
	if n := len(agent.Ledger()); n != 2 {
		t.Errorf("the agent saw %d messages; want 2", n)
	}
}
