// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// protect keeps a RemoteAgent from going before the Delegations whose tasks are canceled through it, as happens when a
// namespace is deleted. It reports whether it wrote: then the event of the write goes on. Otherwise it returns those that
// the deletion waits for.
func (r *RemoteAgentReconciler) protect(ctx context.Context, ra *v1alpha1.RemoteAgent) (users []v1alpha1.Delegation, wrote bool, err error) {
	if ra.DeletionTimestamp == nil {
		wrote, err = r.hold(ctx, ra, controllerutil.AddFinalizer)
		return nil, wrote, err
	}
	if users, err = r.users(ctx, ra); err == nil && len(users) == 0 && r.overtaking(ra) <= 0 {
		wrote, err = r.hold(ctx, ra, controllerutil.RemoveFinalizer)
	}
	return users, wrote, err
}

// users lists the Delegations, of all namespaces, that need a RemoteAgent to settle what they sent. One that may not use it
// does not hold it, whatever finalizer somebody gave it.
func (r *RemoteAgentReconciler) users(ctx context.Context, ra *v1alpha1.RemoteAgent) ([]v1alpha1.Delegation, error) {
	list := &v1alpha1.DelegationList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{byAgent: client.ObjectKeyFromObject(ra).String()}); err != nil {
		return nil, err
	}
	var users []v1alpha1.Delegation
	for i := range list.Items {
		d := &list.Items[i]
		if !controllerutil.ContainsFinalizer(d, v1alpha1.DeliveryFinalizer) {
			continue
		}
		switch usable, err := r.Agents.agentOf(ctx, d); {
		case err != nil:
			return nil, err
		case usable != nil:
			users = append(users, *d)
		}
	}
	return users, nil
}

// inUse says what a deletion waits for.
func inUse(users []v1alpha1.Delegation) *outbox.Problem {
	if len(users) == 0 {
		return nil
	}
	d := &users[0]
	return &outbox.Problem{Reason: "InUse", Message: fmt.Sprintf(
		"the deletion waits for %d Delegations that are under way, such as %s in namespace %s; to end that one: kubectl delete delegation -n %s %s",
		len(users), d.Name, d.Namespace, d.Namespace, d.Name)}
}

func (r *RemoteAgentReconciler) hold(ctx context.Context, ra *v1alpha1.RemoteAgent, change func(client.Object, string) bool) (bool, error) {
	read := ra
	ra = ra.DeepCopy()
	if !change(ra, v1alpha1.InUseFinalizer) {
		return false, nil
	}
	err := amend(ctx, r.Client, ra, read)
	if apierrors.IsConflict(err) {
		return true, nil
	}
	return true, err
}
