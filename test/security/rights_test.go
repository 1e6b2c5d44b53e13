// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

var update = flag.Bool("update", false, "write the table of docs/security.md from what the API server says")

const rightsBegin, rightsEnd = "<!-- begin: written by TestRights -->\n", "<!-- end -->\n"

// installation is a way to install the operator.
type installation struct {
	path, prefix string
	// granted is a namespace whose admin ran the commands of the conditions, or that the installation serves.
	granted string
}

// What the manager may do is what docs/security.md says: it prints kubectl auth can-i --list of its ServiceAccount, as the API
// server answers it, and any other right fails.
func TestRights(t *testing.T) {
	s := cluster.Space(t)
	for _, role := range []string{"secret-reader-role", "serviceaccount-token-role"} {
		s.Kubectl("create", "rolebinding", role, "--clusterrole=granting-operator-"+role,
			"--serviceaccount=granting-operator-system:granting-operator-controller-manager")
	}
	var doc strings.Builder
	for _, i := range []installation{
		{"config/default", "granting", s.Namespace},
		{"test/harness/install", "open", "default"},
		{"config/namespaced", "single", "books"},
	} {
		install(t, s, i.path, i.prefix)
		doc.WriteString(describe(t, s, i))
	}
	compare(t, doc.String())
}

// describe is the section of an installation.
func describe(t *testing.T, s *harness.Space, i installation) string {
	t.Helper()
	account := "system:serviceaccount:" + i.prefix + "-operator-system:" + i.prefix + "-operator-controller-manager"
	manager := as(t, s, account)
	anybody := as(t, s, "system:serviceaccount:default:nobody")
	anywhere := rules(t, manager, "kube-public", rules(t, anybody, "kube-public", nil))
	var out strings.Builder
	fmt.Fprintf(&out, "`%s`:\n\n| where | resource | verbs |\n|---|---|---|\n", names[i.path])
	for _, place := range []struct{ title, namespace string }{
		{"in its own namespace, besides", i.prefix + "-operator-system"}, {granted[i.path], i.granted},
	} {
		for _, r := range rules(t, manager, place.namespace, append(slices.Clone(anywhere), rules(t, anybody, place.namespace, nil)...)) {
			fmt.Fprintf(&out, "| %s | %s |\n", place.title, strings.ReplaceAll(r, i.prefix+"-operator-", "delegation-operator-"))
		}
	}
	for _, r := range anywhere {
		fmt.Fprintf(&out, "| in every namespace | %s |\n", r)
	}
	return out.String() + "\n"
}

// names are what the documentation calls the installations, and granted what it calls the namespaces that have more.
var (
	names = map[string]string{
		"config/default": "config/default", "test/harness/install": "config/default with config/cluster-credentials", "config/namespaced": "config/namespaced",
	}
	granted = map[string]string{
		"config/default": "in a namespace whose admin granted it", "test/harness/install": "in a namespace", "config/namespaced": "in `books`, besides",
	}
)

// rules are the rows of what a client may do in a namespace, sorted, without those that others have too.
func rules(t *testing.T, c client.Client, namespace string, without []string) []string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := c.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete {
		t.Fatalf("the API server does not know all rights: %s", review.Status.EvaluationError)
	}
	var rows []string
	for _, r := range review.Status.ResourceRules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				gr := metav1.GroupResource{Group: group, Resource: resource}
				name := "`" + gr.String() + "`"
				if len(r.ResourceNames) > 0 {
					name += " named " + strings.Join(r.ResourceNames, ", ")
				}
				verbs := slices.Sorted(slices.Values(r.Verbs))
				rows = append(rows, name+" | "+strings.Join(verbs, ", "))
			}
		}
	}
	for _, r := range review.Status.NonResourceRules {
		rows = append(rows, "`"+strings.Join(r.NonResourceURLs, "`, `")+"` | "+strings.Join(r.Verbs, ", "))
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	return slices.DeleteFunc(rows, func(row string) bool { return slices.Contains(without, row) })
}

// compare requires the documentation to have the tables.
func compare(t *testing.T, tables string) {
	t.Helper()
	path := filepath.Join(harness.Root(t), "docs", "security.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), rightsBegin)
	written, after, ended := strings.Cut(rest, rightsEnd)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the tables", path)
	case *update:
		if err := os.WriteFile(path, []byte(before+rightsBegin+tables+rightsEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case written != tables:
		t.Errorf("the manager's rights are not what docs/security.md says. If they are to be so, write them with -update. Seen:\n%s", tables)
	}
}

// Where nobody granted it, the manager can't do what would make it a way around RBAC. It may create Delegations, which runs of
// schedules are: who may write a schedule may write Delegations, and a run never continues another, so that it needs no approver.
func TestTheManagerMayNot(t *testing.T) {
	s := cluster.Space(t)
	install(t, s, "config/default", "plain")
	manager := as(t, s, "system:serviceaccount:plain-operator-system:plain-operator-controller-manager")
	for _, c := range []struct{ verb, group, resource, subresource string }{
		{"get", "", "secrets", ""}, {"list", "", "secrets", ""}, {"watch", "", "secrets", ""}, {"create", "", "secrets", ""},
		{"create", "", "serviceaccounts", "token"}, {"impersonate", "", "serviceaccounts", ""},
		{"create", "", "pods", ""}, {"create", "", "pods", "exec"}, {"get", "", "nodes", "proxy"},
		{"create", "rbac.authorization.k8s.io", "rolebindings", ""}, {"bind", "rbac.authorization.k8s.io", "clusterroles", ""}, {"escalate", "rbac.authorization.k8s.io", "roles", ""},
		{"update", "", "namespaces", ""}, {"create", "a2a.delegation.dev", "remoteagents", ""}, {"create", "a2a.delegation.dev", "delegationschedules", ""}, {"update", "a2a.delegation.dev", "delegationschedules", ""}, {"delete", "a2a.delegation.dev", "remoteagents", ""},
		{"update", "apiextensions.k8s.io", "customresourcedefinitions", ""}, {"update", "admissionregistration.k8s.io", "validatingadmissionpolicies", ""},
	} {
		for _, namespace := range []string{s.Namespace, "kube-system", ""} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: c.verb, Group: c.group, Resource: c.resource, Subresource: c.subresource,
			}}}
			if err := manager.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed {
				t.Errorf("the manager may %s %s/%s in namespace %q: %s", c.verb, c.resource, c.subresource, namespace, review.Status.Reason)
			}
		}
	}
}
