// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// whole returns a Delegation of the cache as the API server has it, to be written to: of one that is over the cache has a
// remainder, and its status written back would erase the rest. It is a conflict where it has changed since.
func (r *DelegationReconciler) whole(ctx context.Context, d *v1alpha1.Delegation) (*v1alpha1.Delegation, error) {
	if !over(d) {
		return d.DeepCopy(), nil
	}
	now := &v1alpha1.Delegation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(d), now); err != nil {
		return nil, err
	}
	if now.UID != d.UID || now.ResourceVersion != d.ResourceVersion {
		return nil, changed(d)
	}
	return now, nil
}

func changed(d *v1alpha1.Delegation) error {
	return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "delegations"}, d.Name, errors.New("the object has changed"))
}

// complete makes a scope fit for a write, which is decided on anew.
func (r *DelegationReconciler) complete(ctx context.Context, s *scope) error {
	d, err := r.whole(ctx, s.delegation)
	if err == nil {
		s.delegation, s.trimmed = d, false
	}
	return err
}
