// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// newNamespace creates a namespace with labels.
func newNamespace(t *testing.T, admin client.Client, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	create(t, admin, ns)
	return ns.Name
}

// newAgent creates a RemoteAgent that is ready, and waits until the cache has it.
func newAgent(t *testing.T, r *DelegationReconciler, admin client.Client, namespace string, allowed v1alpha1.AllowedNamespaces) *v1alpha1.RemoteAgent {
	t.Helper()
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent"}, Spec: v1alpha1.RemoteAgentSpec{
		Interfaces: []v1alpha1.AgentInterface{{URL: "http://127.0.0.1:1/a2a"}}, AllowedNamespaces: allowed,
	}}
	create(t, admin, ra)
	ra.Status.ObservedGeneration, ra.Status.Endpoint = ra.Generation, &ra.Spec.Interfaces[0]
	ra.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}}
	if err := admin.Status().Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		seen := &v1alpha1.RemoteAgent{}
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), seen) == nil && seen.Status.Endpoint != nil
	})
	return ra
}

// delegationTo builds one to a RemoteAgent of a namespace.
func delegationTo(namespace, agentNamespace string) *v1alpha1.Delegation {
	text := "Reconcile"
	return &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "d"}, Spec: v1alpha1.DelegationSpec{
		AgentRef: v1alpha1.AgentReference{Name: "agent", Namespace: agentNamespace}, Suspend: true,
		Message: v1alpha1.MessageTemplate{Parts: []v1alpha1.Part{{Text: &text}}},
	}}
}

func selecting(team string) v1alpha1.AllowedNamespaces {
	return v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}}
}

func TestAllowedNamespaces(t *testing.T) {
	r, _, admin := newReconciler(t)
	books, travel, bare := newNamespace(t, admin, map[string]string{"team": "books"}), newNamespace(t, admin, map[string]string{"team": "travel"}), newNamespace(t, admin, nil)
	each, wrong := selecting("books"), selecting("books")
	each.Selector.MatchLabels = nil
	wrong.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like", Values: []string{"b"}}}}
	for _, c := range []struct {
		name    string
		allowed v1alpha1.AllowedNamespaces
		want    []string
	}{
		{"by default", v1alpha1.AllowedNamespaces{}, nil},
		{"the same", v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromSame}, nil},
		{"all", v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll}, []string{books, travel, bare}},
		{"by labels", selecting("books"), []string{books}},
		{"by any labels", each, []string{books, travel, bare}},
		{"by labels that can't be compared", wrong, nil},
		{"some other way", v1alpha1.AllowedNamespaces{From: "Some"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "owner"}, Spec: v1alpha1.RemoteAgentSpec{AllowedNamespaces: c.allowed}}
			want := map[string]bool{"owner": true, "gone": false, books: false, travel: false, bare: false}
			for _, ns := range c.want {
				want[ns] = true
			}
			want["gone"] = c.allowed.From == v1alpha1.NamespacesFromAll
			everywhere, somewhere := r.Agents, &Agents{Client: r.Client, Live: r.Agents.Live, Namespaces: []string{"owner", books, travel, bare}}
			for ns, allowed := range want {
				for _, a := range []*Agents{everywhere, somewhere} {
					if got, err := a.allows(t.Context(), ra, ns); err != nil || got != allowed {
						t.Errorf("namespace %s, watched namespaces %v: %t, error %v; want %t", ns, a.Namespaces, got, err, allowed)
					}
				}
			}
		})
	}
}

// What a Delegation says of a RemoteAgent that it may not use is what it says of one that is not there, word for word.
func TestWhatMayNotBeUsedReadsAsIfItWereNotThere(t *testing.T) {
	r, _, admin := newReconciler(t)
	closed, empty := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	newAgent(t, r, admin, closed, selecting("nobody"))
	said := map[string]string{}
	for _, agentNamespace := range []string{closed, empty} {
		own := newNamespace(t, admin, nil)
		d := delegationTo(own, agentNamespace)
		create(t, admin, d)
		name := client.ObjectKeyFromObject(d)
		eventually(t, func() bool {
			decide(t, r, name)
			return admin.Get(t.Context(), name, d) == nil && d.Status.Phase == v1alpha1.PhasePending
		})
		text := string(d.Status.Phase)
		for _, c := range d.Status.Conditions {
			text += "\n" + c.Type + " " + c.Reason + " " + c.Message
		}
		said[agentNamespace] = strings.NewReplacer(agentNamespace, "AGENTS", own, "OWN").Replace(text)
	}
	if said[closed] != said[empty] {
		t.Errorf("not allowed:\n%s\nnot there:\n%s", said[closed], said[empty])
	}
	for _, part := range []string{"AgentNotFound", "spec.allowedNamespaces", "kubectl delete delegation -n OWN d"} {
		if !strings.Contains(said[closed], part) {
			t.Errorf("does not say %q:\n%s", part, said[closed])
		}
	}
}

// Once an allowance is withdrawn nothing more is sent, and what the agent has accepted is still in reach.
func TestWithdrawnAllowance(t *testing.T) {
	r, _, admin := newReconciler(t)
	owner, own := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	ra := newAgent(t, r, admin, owner, v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll})
	d := delegationTo(own, owner)
	bound := d.DeepCopy()
	bound.Status.TaskID = "t-1"
	usable := func(d *v1alpha1.Delegation) bool {
		v, err := r.Agents.view(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return v.Problem == nil && (v.Shared || d.UsesForeignAgent())
	}
	if own := delegationTo(owner, ""); !usable(own) {
		t.Error("in the RemoteAgent's own namespace it is not of use, or not known to be shared")
	}
	if !usable(d) || !usable(bound) {
		t.Error("of use before: no; want yes")
	}
	ra.Spec.AllowedNamespaces.From = v1alpha1.NamespacesFromSame
	if err := admin.Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !usable(d) })
	ra.Status.ObservedGeneration = ra.Generation
	if err := admin.Status().Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return usable(bound) })
	if usable(d) {
		t.Error("a message can still be sent")
	}
}

// A deletion waits for the Delegations of all namespaces that may use the RemoteAgent, and for no others, whatever
// finalizer somebody gave them.
func TestUsersOfAllNamespaces(t *testing.T) {
	r, _, admin := newReconciler(t)
	remoteAgents := &RemoteAgentReconciler{Client: r.Client, Clock: r.Clock, Agents: r.Agents}
	owner, books, travel := newNamespace(t, admin, nil), newNamespace(t, admin, map[string]string{"team": "books"}), newNamespace(t, admin, nil)
	ra := newAgent(t, r, admin, owner, selecting("books"))
	for _, namespace := range []string{owner, books, travel} {
		for _, finalizer := range []bool{true, false} {
			d := delegationTo(namespace, owner)
			if finalizer {
				d.Name = "held"
				controllerutil.AddFinalizer(d, v1alpha1.DeliveryFinalizer)
			}
			create(t, admin, d)
		}
	}
	begun := delegationTo(travel, owner)
	begun.Name = "begun"
	controllerutil.AddFinalizer(begun, v1alpha1.DeliveryFinalizer)
	create(t, admin, begun)
	begun.Status.TaskID = "t-1"
	if err := admin.Status().Update(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{owner + "/held": true, books + "/held": true, travel + "/begun": true}
	eventually(t, func() bool {
		users, err := remoteAgents.users(t.Context(), ra)
		if err != nil {
			t.Fatal(err)
		}
		for i := range users {
			if name := client.ObjectKeyFromObject(&users[i]).String(); !want[name] {
				t.Errorf("%s holds the RemoteAgent", name)
			}
		}
		return len(users) == len(want) || t.Failed()
	})
}

// A RemoteAgent in a namespace that the manager does not work in is one that is not there, and is looked for again: no watch
// tells of it.
func TestAgentsOfOtherManagers(t *testing.T) {
	r, _, admin := newReconciler(t)
	owner, own := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	newAgent(t, r, admin, owner, v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll})
	r.Agents.Namespaces = []string{own}
	d := delegationTo(own, owner)
	create(t, admin, d)
	name := client.ObjectKeyFromObject(d)
	var result ctrl.Result
	eventually(t, func() bool {
		var err error
		if result, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
		return admin.Get(t.Context(), name, d) == nil && d.Status.Phase == v1alpha1.PhasePending && result.RequeueAfter > 0
	})
	if ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != "AgentNotFound" || result.RequeueAfter > allowanceRetry {
		t.Errorf("%+v, and again after %s", d.Status.Conditions, result.RequeueAfter)
	}
}

// What is wrong with a RemoteAgent is for its owner: it may name Secrets.
func TestDiscretion(t *testing.T) {
	r, _, admin := newReconciler(t)
	owner, own := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	ra := newAgent(t, r, admin, owner, v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll})
	ra.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "SecretNotFound", Message: "Secret vault is not there", LastTransitionTime: metav1.Now()}}
	if err := admin.Status().Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace string
		told      bool
	}{{owner, true}, {own, false}} {
		d := delegationTo(c.namespace, owner)
		var p *outbox.Problem
		eventually(t, func() bool {
			v, err := r.Agents.view(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			p = v.Problem
			return p != nil
		})
		if p.Reason != "SecretNotFound" || strings.Contains(p.Message, "vault") != c.told {
			t.Errorf("namespace %s is told %+v", c.namespace, p)
		}
	}
}
