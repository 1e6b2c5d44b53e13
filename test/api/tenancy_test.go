// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAgentNamespace(t *testing.T) {
	in := func(namespace any) *unstructured.Unstructured {
		return delegation(set(namespace, "spec", "agentRef", "namespace"))
	}
	run(t, []row{
		{name: "another namespace", manifest: in("shared")},
		{name: "longest", manifest: in(strings.Repeat("n", 63))},
		{name: "too long", manifest: in(strings.Repeat("n", 64)), field: "spec.agentRef.namespace"},
		{name: "empty", manifest: in(""), field: "spec.agentRef.namespace"},
		{name: "no namespace's name", manifest: in("Shared"), field: "spec.agentRef.namespace"},
		{name: "with a slash", manifest: in("shared/a"), field: "spec.agentRef.namespace"},
	})
}

// The message may be with the agent: the reference to it never changes, wherever the RemoteAgent is.
func TestAgentNamespaceIsImmutable(t *testing.T) {
	elsewhere := set("shared", "spec", "agentRef", "namespace")
	s := cluster.Space(t)
	for _, c := range []struct {
		name   string
		from   []change
		update change
	}{
		{"set", nil, elsewhere},
		{"changed", []change{elsewhere}, set("other", "spec", "agentRef", "namespace")},
		{"removed", []change{elsewhere}, unset("spec", "agentRef", "namespace")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := delegation(c.from...)
			d.SetNamespace(s.Namespace)
			if err := s.Client.Create(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			c.update(d)
			requireRefused(t, s.Client.Update(t.Context(), d), "spec.agentRef")
		})
	}
}

func TestAllowedNamespaces(t *testing.T) {
	const field = "spec.allowedNamespaces"
	allow := func(value any) *unstructured.Unstructured {
		return remoteAgent(set(value, "spec", "allowedNamespaces"))
	}
	selector := part("matchLabels", part("team", "books"))
	run(t, []row{
		{name: "the same", manifest: allow(part("from", "Same"))},
		{name: "all", manifest: allow(part("from", "All"))},
		{name: "by labels", manifest: allow(part("from", "Selector", "selector", selector))},
		{name: "by any labels", manifest: allow(part("from", "Selector", "selector", part()))},
		{name: "nothing said", manifest: allow(part())},
		{name: "some other way", manifest: allow(part("from", "Some")), field: field + ".from"},
		{name: "by labels that are not given", manifest: allow(part("from", "Selector")), field: field},
		{name: "labels that are not used", manifest: allow(part("from", "All", "selector", selector)), field: field},
		{name: "labels alone", manifest: allow(part("selector", selector)), field: field},
	})
}

// docs/tenancy.md: a quota bounds how many Delegations a namespace has. No controller runs that would fill in its status.
func TestQuota(t *testing.T) {
	s := cluster.Space(t)
	const counted = corev1.ResourceName("count/delegations.a2a.delegation.dev")
	hard := corev1.ResourceList{counted: resource.MustParse("2")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "delegations"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
	}
	if err := s.Client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{counted: resource.MustParse("0")}}
	if err := s.Client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		d := delegation(set(string(rune('a'+n)), "metadata", "name"))
		d.SetNamespace(s.Namespace)
		err := s.Client.Create(t.Context(), d)
		switch {
		case n <= 2 && err != nil:
			t.Fatalf("Delegation %d of 2: %v", n, err)
		case n == 3 && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota")):
			t.Errorf("a third Delegation: %v; want that it exceeds the quota", err)
		}
	}
}
