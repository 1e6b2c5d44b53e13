// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// allowanceRetry is how often a Delegation that may not use a RemoteAgent is looked at again by a manager that works in
// some namespaces only: it watches no Namespaces, whose labels may come to match.
const allowanceRetry = time.Minute

// everywhere reports whether the manager works in all namespaces.
func (a *Agents) everywhere() bool { return len(a.Namespaces) == 0 }

// worksIn reports whether the manager reads objects of a namespace.
func (a *Agents) worksIn(namespace string) bool {
	return a.everywhere() || slices.Contains(a.Namespaces, namespace)
}

// agentOf returns the RemoteAgent that a Delegation names; nil where there is none that its namespace may use. One whose
// task was accepted keeps it: a task that is under way is followed to its end, and canceled where that is asked, by
// whoever was allowed to begin it. The status that says so is the operator's alone to write.
func (a *Agents) agentOf(ctx context.Context, d *v1alpha1.Delegation) (*v1alpha1.RemoteAgent, error) {
	key := d.AgentKey()
	if !a.worksIn(key.Namespace) {
		return nil, nil
	}
	ra := &v1alpha1.RemoteAgent{}
	if err := a.Client.Get(ctx, key, ra); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if d.Status.TaskID != "" {
		return ra, nil
	}
	if allowed, err := a.allows(ctx, ra, d.Namespace); err != nil || !allowed {
		return nil, err
	}
	return ra, nil
}

// allows reports whether Delegations of a namespace may name a RemoteAgent.
func (a *Agents) allows(ctx context.Context, ra *v1alpha1.RemoteAgent, namespace string) (bool, error) {
	if namespace == ra.Namespace {
		return true, nil
	}
	switch ra.Spec.AllowedNamespaces.From {
	case v1alpha1.NamespacesFromAll:
		return true, nil
	case v1alpha1.NamespacesFromSelector:
		if selectorProblem(ra) != nil {
			return false, nil
		}
		selector, err := metav1.LabelSelectorAsSelector(ra.Spec.AllowedNamespaces.Selector)
		if err != nil {
			return false, err
		}
		set, err := a.labelsOf(ctx, namespace)
		return set != nil && selector.Matches(set), err
	}
	return false, nil
}

// labelsOf returns the labels of a namespace; nil where they may not be read, or it is gone.
func (a *Agents) labelsOf(ctx context.Context, namespace string) (labels.Set, error) {
	reader := a.Client
	if !a.everywhere() {
		reader = a.Live // a cache would want to list all Namespaces
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	switch err := reader.Get(ctx, types.NamespacedName{Name: namespace}, ns); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if ns.Labels == nil {
		return labels.Set{}, nil
	}
	return ns.Labels, nil
}

// selectorProblem says why a RemoteAgent's selector can't be used; nil where it can. The schema does not know the operators.
func selectorProblem(ra *v1alpha1.RemoteAgent) *outbox.Problem {
	if _, err := metav1.LabelSelectorAsSelector(ra.Spec.AllowedNamespaces.Selector); err != nil {
		return &outbox.Problem{Reason: "SelectorInvalid", Message: fmt.Sprintf("spec.allowedNamespaces.selector can't be used, correct it: %v", err)}
	}
	return nil
}

// opens reports whether a RemoteAgent is open to other namespaces than its own.
func opens(ra *v1alpha1.RemoteAgent) bool {
	from := ra.Spec.AllowedNamespaces.From
	return from == v1alpha1.NamespacesFromAll || from == v1alpha1.NamespacesFromSelector
}

// stands reports whether what a Delegation was decided on still holds of its agent, for a call that has waited since: it may
// be used, and as then. The client tells the rest, since it is made anew where the endpoint, the credentials or the
// RemoteAgent's spec changed.
func (a *Agents) stands(ctx context.Context, d *v1alpha1.Delegation, then *remote.Client) bool {
	now, err := a.view(ctx, d)
	return err == nil && now.Problem == nil && now.client == then
}

// notThere is the view of a RemoteAgent that is not there, and of one that is and may not be used: who may not use it is
// not told which.
func (a *Agents) notThere(d *v1alpha1.Delegation) agentView {
	key := d.AgentKey()
	remedy := fmt.Sprintf("or, where the name is wrong: kubectl delete delegation -n %s %s, and create it anew", d.Namespace, d.Name)
	if !d.UsesForeignAgent() {
		return unusable("AgentNotFound", fmt.Sprintf("spec.agentRef: RemoteAgent %q is not in namespace %s: create it, and the message is sent; %s", key.Name, key.Namespace, remedy))
	}
	v := unusable("AgentNotFound", fmt.Sprintf("spec.agentRef: namespace %s has no RemoteAgent %q that namespace %s may use: it has to be there, and its owner to allow %s in its "+
		"spec.allowedNamespaces, and the message is sent; %s", key.Namespace, key.Name, d.Namespace, d.Namespace, remedy))
	if !a.everywhere() {
		v.recheck = allowanceRetry
	}
	return v
}

// discreet keeps from another namespace what a RemoteAgent's problem says of the objects around it, such as its Secret.
func discreet(p *outbox.Problem, key types.NamespacedName) *outbox.Problem {
	if p == nil {
		return nil
	}
	return &outbox.Problem{Reason: p.Reason, Transient: p.Transient, Message: fmt.Sprintf(
		"RemoteAgent %q in namespace %s can't be used now (%s): its conditions tell its owner why", key.Name, key.Namespace, p.Reason)}
}

// ofAgent maps a RemoteAgent to the Delegations that name it, of whatever namespace.
func (r *DelegationReconciler) ofAgent(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requests(ctx, client.MatchingFields{byAgent: client.ObjectKeyFromObject(o).String()})
}

// ofNamespace maps a Namespace, whose labels may have changed, to its Delegations that name RemoteAgents of others.
func (r *DelegationReconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(o.GetName()), client.MatchingFields{byForeignAgent: foreign})
}

// requests lists Delegations. A list that misses the newest write of this process misses nothing: that write has its own
// event.
func (r *DelegationReconciler) requests(ctx context.Context, of ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.DelegationList{}
	if err := r.Client.List(ctx, list, append(of, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing Delegations", "of", fmt.Sprint(of))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
