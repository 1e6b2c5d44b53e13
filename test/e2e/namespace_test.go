// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// ownCluster starts a control plane for one test, with a kube-controller-manager, which the API server of the other tests
// has not.
func ownCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	dir := t.TempDir()
	o := controlplane.Options{StateDir: dir, Assets: testenv.Assets(t), Kubeconfig: filepath.Join(dir, "kubeconfig"), ExitWithCaller: true, UnsafeNoFsync: true, Out: t.Output()}
	t.Cleanup(func() { _ = controlplane.Down(context.WithoutCancel(t.Context()), o) })
	if err := controlplane.Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return harness.NewCluster(config)
}

// A manager that works in all namespaces sees it when a namespace's labels come to match, and when they do no more.
func TestLabelsOfANamespace(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	owner, tenant := c.Space(t), c.Space(t)
	agent := harness.StartAgent(t)
	owner.StartManager("--namespaces", "")
	owner.Create(owner.RemoteAgent(agent.URL).OpenTo(map[string]string{"team": "books"}).Build())
	tenant.Create(tenant.Reconciliation("d").AgentIn(owner.Namespace, harness.AgentName).Build())
	tenant.AwaitReason("d", "AgentNotFound")
	tenant.Kubectl("label", "namespace", tenant.Namespace, "team=books")
	tenant.AwaitPhase("d", v1alpha1.PhaseCompleted)
	tenant.Create(tenant.Reconciliation("held").AgentIn(owner.Namespace, harness.AgentName).With(func(spec *v1alpha1.DelegationSpec) { spec.Suspend = true }).Build())
	tenant.AwaitReason("held", "Suspended")
	tenant.Kubectl("label", "namespace", tenant.Namespace, "team-")
	tenant.AwaitReason("held", "AgentNotFound")
}

// A namespace that is deleted takes its tasks along: they are canceled before their RemoteAgent and its Secret are of no
// more use.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	s := ownCluster(t).Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right", "--delay=10m")
	s.StartManager()
	s.Create(s.Secret("credentials", map[string]string{"token": "right"}),
		s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	s.Delete(ns)
	// The namespace controller comes back to what is not empty yet after a time of its own choice.
	s.AwaitGoneWithin(time.Minute, ns)
	agent.Token = "right"
	if state := agent.TaskState(d.Status.TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s; want it canceled", state)
	}
}
