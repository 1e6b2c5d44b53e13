// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The chart and config install the same objects: neither can be changed alone.
func TestTheChartIsWhatKustomizeMakes(t *testing.T) {
	for _, c := range []struct {
		path string
		args []string
		// adjust changes what kustomize makes, where the two differ on purpose.
		adjust func(*testing.T, map[string]map[string]any)
	}{
		{path: "config/default"},
		{path: "test/harness/install", args: []string{"--set=credentials.secrets=All,credentials.serviceAccountTokens=All"}},
		{path: "config/namespaced", args: []string{"--set=namespaces={books},credentials.secrets=All"}, adjust: rolesOfTheNamespace},
		{path: "test/install/testdata/ha", args: []string{"-f", filepath.Join(chart(t), "values-ha.yaml")}},
		{
			path: "test/security/testdata/everything", adjust: withoutTheProxy,
			args: []string{
				"-f", filepath.Join(chart(t), "values-ha.yaml"),
				"--set=credentials.secrets=All,credentials.serviceAccountTokens=All,metrics.enabled=true,networkPolicy.enabled=true,approverPolicy.enabled=true",
				"--set=push.enabled=true,push.url=https://push.example.com/a2a",
			},
		},
	} {
		t.Run(c.path, func(t *testing.T) {
			want, got := byName(decode(t, kustomized(t, c.path))), byName(decode(t, render(t, c.args...)))
			if c.adjust != nil {
				c.adjust(t, want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("kustomize (-), helm (+):\n%s", diff)
			}
		})
	}
}

// releaseLabels say who installed an object, and as what.
var releaseLabels = []string{"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}

// byName are objects by kind, namespace and name, without what says who installed them. helm makes the namespace itself.
func byName(list []*unstructured.Unstructured) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, u := range list {
		if u.GetKind() == "Namespace" {
			continue
		}
		for _, label := range releaseLabels {
			unstructured.RemoveNestedField(u.Object, "metadata", "labels", label)
			unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "labels", label)
		}
		// The name is a selector in pods; elsewhere it says nothing that matters, and config has it in some of its parts only.
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", "app.kubernetes.io/name")
		if len(u.GetLabels()) == 0 {
			u.SetLabels(nil)
		}
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "helm.sh/resource-policy")
		out[key(u)] = u.Object
	}
	return out
}

func key(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// rolesOfTheNamespace replaces the ClusterRole that config/namespaced binds in a namespace by a Role there, which may the same.
// The chart has no ClusterRole of the manager's then, so that who may install nothing else than Roles can install it.
func rolesOfTheNamespace(t *testing.T, objects map[string]map[string]any) {
	t.Helper()
	const role, binding = "Role books/delegation-operator-manager", "RoleBinding books/delegation-operator-manager"
	rules := objects["ClusterRole /delegation-operator-manager-role"]["rules"]
	objects[role] = map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]any{"name": "delegation-operator-manager", "namespace": "books"}, "rules": rules,
	}
	objects[binding]["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "delegation-operator-manager"}
	// Bound nowhere.
	delete(objects, "ClusterRole /delegation-operator-manager-role")
	delete(objects, "ClusterRole /delegation-operator-review-role")
}

// withoutTheProxy leaves out the sample of a NetworkPolicy for a program that the chart does not install.
func withoutTheProxy(t *testing.T, objects map[string]map[string]any) {
	t.Helper()
	for name, o := range objects {
		if u := (&unstructured.Unstructured{Object: o}); u.GetKind() == "NetworkPolicy" && u.GetName() != "delegation-operator-manager" {
			delete(objects, name)
		}
	}
}

// Where it works in some namespaces, the chart can be installed without a right of the cluster's, if the CRDs and what people
// need is there already.
func TestNothingOfTheClusters(t *testing.T) {
	for _, u := range decode(t, render(t, "--set=namespaces={books},credentials.secrets=All,crds.install=false,sharedRoles.create=false")) {
		if u.GetNamespace() == "" {
			t.Errorf("%s is the cluster's", key(u))
		}
	}
}
