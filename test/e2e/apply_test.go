// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const applications = 20

// manifest writes an object into a file, as a user keeps it in Git: without a status.
func manifest(t *testing.T, d *v1alpha1.Delegation) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": d.APIVersion, "kind": d.Kind, "metadata": map[string]string{"name": d.Name}, "spec": d.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "delegation.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// apply is a way to apply a manifest.
type apply func(t *testing.T, s *harness.Space, d *v1alpha1.Delegation)

func clientSide(t *testing.T, s *harness.Space, d *v1alpha1.Delegation) {
	t.Helper()
	s.Kubectl("apply", "--filename", manifest(t, d))
}

// serverSide applies as a GitOps controller does.
func serverSide(t *testing.T, s *harness.Space, d *v1alpha1.Delegation) {
	t.Helper()
	text, err := os.ReadFile(manifest(t, d))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetNamespace(s.Namespace)
	if err := s.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops")); err != nil {
		t.Fatal(err)
	}
}

func TestApplyingAManifestAgainSendsNothingAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		apply     apply
		messageID string
	}{
		{name: "client-side", apply: clientSide, messageID: "m-1"},
		{name: "server-side", apply: serverSide, messageID: "m-1"},
		{name: "server-side without messageId", apply: serverSide},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			// Without deduplication each send would be a task.
			agent := harness.StartAgent(t, "--dedup=false", "--delay=1s")
			s.StartManager()
			s.Create(s.RemoteAgent(agent.URL).Build())
			for range applications {
				c.apply(t, s, s.Reconciliation("d").MessageID(c.messageID).Build())
			}
			d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			c.apply(t, s, s.Reconciliation("d").MessageID(c.messageID).Build())
			if now := s.Get("d"); now.Status.Phase != v1alpha1.PhaseCompleted || now.Status.TaskID != d.Status.TaskID {
				t.Errorf("after one more: %s", harness.Describe(now))
			}
			agent.Require(d.Spec.MessageID, 1, 1)
			if n := len(agent.Ledger()); n != 1 {
				t.Errorf("the agent saw %d messages: %v", n, agent.Ledger())
			}
		})
	}
}

// What may have been sent can't be changed, and the refusal says what to do instead.
func TestASentMessageCanNotBeChanged(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").Build())
	sent := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	for _, c := range []struct {
		field  string
		change func(*v1alpha1.DelegationSpec)
	}{
		{"spec.message", func(spec *v1alpha1.DelegationSpec) { spec.Message.Parts = spec.Message.Parts[:1] }},
		{"spec.agentRef", func(spec *v1alpha1.DelegationSpec) { spec.AgentRef.Name = "other" }},
		{"spec.messageId", func(spec *v1alpha1.DelegationSpec) { spec.MessageID = "m-2" }},
		{"spec.contextId", func(spec *v1alpha1.DelegationSpec) { spec.ContextID = "c-2" }},
		{"spec.acceptedOutputModes", func(spec *v1alpha1.DelegationSpec) { spec.AcceptedOutputModes = []string{"text/plain"} }},
	} {
		t.Run(c.field, func(t *testing.T) {
			s := s.In(t)
			changed := sent.DeepCopy()
			c.change(&changed.Spec)
			err := s.Client.Update(t.Context(), changed)
			cause, ok := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
			if !ok || cause.Field != c.field {
				t.Fatalf("the change = %v; want it refused for %s", err, c.field)
			}
			if !strings.Contains(cause.Message, "create a new Delegation") {
				t.Errorf("the refusal does not say what to do: %s", cause.Message)
			}
		})
	}
	agent.Require(sent.Spec.MessageID, 1, 1)
}

// The same through kubectl, as the user sees it.
func TestKubectlApplyShowsTheRemedy(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	s.Kubectl("apply", "--filename", manifest(t, s.Delegation("d").MessageID("m-1").Build()))
	out, err := s.TryKubectl("apply", "--filename", manifest(t, s.Delegation("d").MessageID("m-1").Text("and October").Build()))
	if err == nil || !strings.Contains(out, "create a new Delegation, with refines to follow up") {
		t.Errorf("kubectl apply of another message = %v: %s; want it refused with the remedy", err, out)
	}
}
