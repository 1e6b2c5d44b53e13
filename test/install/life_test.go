// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const deployment = "delegation-operator-controller-manager"

// A release of the chart before this one is upgraded while it has Delegations, and uninstalled: what is there stays, the CRDs
// get what they lacked, and nothing is sent again.
func TestLifeOfARelease(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.Space(t)
	agent := harness.StartAgent(t)
	previous := previousChart(t)
	p.helm("install", release, previous, "--create-namespace", "-f", "testdata/values-previous.yaml")
	manager := s.StartDeployment(harness.OperatorNamespace, deployment)
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("before").MessageID("m-before").Build())
	before := s.AwaitPhase("before", v1alpha1.PhaseCompleted)
	held := func(spec *v1alpha1.DelegationSpec) { spec.Suspend = true }
	if err := s.Client.Create(t.Context(), s.Reconciliation("held").With(held).Build(), client.FieldValidation(metav1.FieldValidationStrict)); err == nil {
		t.Fatal("the CRD of the previous chart knows spec.suspend, so that its upgrade shows nothing")
	}
	manager.Stop()
	s.Create(s.Reconciliation("between").MessageID("m-between").Build())

	p.helm("upgrade", release, chart(t), "-f", "testdata/values-previous.yaml")
	if err := s.Client.Create(t.Context(), s.Reconciliation("held").With(held).Build(), client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Errorf("the upgraded CRD: %v", err)
	}
	manager = s.StartDeployment(harness.OperatorNamespace, deployment)
	s.AwaitPhase("between", v1alpha1.PhaseCompleted)
	s.AwaitReason("held", "Suspended")
	if after := s.Get("before"); after.UID != before.UID || after.Status.TaskID != before.Status.TaskID || after.Status.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("after the upgrade it is %s; before, %s", harness.Describe(after), harness.Describe(before))
	}
	agent.Require("m-before", 1, 1)
	agent.Require("m-between", 1, 1)
	manager.Stop()

	p.helm("rollback", release, "1")
	p.uninstall(s, true)
	if s.Get("before").UID != before.UID {
		t.Error("the Delegation is another one after helm uninstall")
	}

	// Installed again, the release takes the CRDs back, and then takes them along.
	p.helm("install", release, chart(t), "-f", "testdata/values-previous.yaml", "--set=crds.keep=false")
	s.StartDeployment(harness.OperatorNamespace, deployment)
	s.Kubectl("delete", "delegationschedules", "--all")
	s.Kubectl("delete", "delegations,remoteagents", "--all")
	p.uninstall(s, false)
}

// previousChart is the chart with a version before this one, and a CRD that lacks a field.
func previousChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "delegation-operator")
	if err := os.CopyFS(dir, os.DirFS(chart(t))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "files", "crds", "a2a.delegation.dev_delegations.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		unstructured.RemoveNestedField(v.(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "suspend")
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.Marshal(crd.Object); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	about := strings.Replace(string(read(t, "Chart.yaml")), "\nversion: ", "\nversion: 0.0.1-before-", 1)
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(about), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// uninstall requires helm to leave nothing of the release but its CRDs, where they are to stay.
func (p *plane) uninstall(s *harness.Space, keep bool) {
	p.t.Helper()
	objects := decode(p.t, p.helm("get", "manifest", release))
	p.helm("uninstall", release, "--wait")
	for _, u := range objects {
		if u.GetKind() == "CustomResourceDefinition" && keep {
			if err := s.Client.Get(p.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				p.t.Errorf("%s is to stay: %v", key(u), err)
			}
			continue
		}
		s.AwaitGone(u)
	}
	// By any hand: the kinds that a chart can have made, wherever they are. What belongs to a Deployment goes after it.
	harness.Eventually(p.t, harness.Patience, "nothing to be left", func(context.Context) (bool, string) {
		left := s.Kubectl("get", "all,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,secrets,configmaps,networkpolicies,poddisruptionbudgets",
			"--all-namespaces", "-l", "app.kubernetes.io/instance="+release, "-o", "name")
		return !strings.Contains(left, "/"), left
	})
}
