// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// claim writes the claim on a question into the status of the Delegation that asks. The Update carries the
// resourceVersion that the decision saw, so that of two claims at once one conflicts and is decided on anew.
func (r *DelegationReconciler) claim(ctx context.Context, s *scope, a outbox.Claim) error {
	root, err := r.whole(ctx, a.Root)
	if err != nil {
		return err
	}
	root.Status.AnsweredBy = &a.Claim
	if err := r.Client.Status().Update(ctx, root); err != nil {
		return err
	}
	s.related.Root = root
	s.related.Holder = s.delegation
	return nil
}

// delete ends a Delegation whose time to live is over. The preconditions keep it from one that was edited since.
func (r *DelegationReconciler) delete(ctx context.Context, s *scope) error {
	d := s.delegation
	return client.IgnoreNotFound(r.Client.Delete(ctx, d, client.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion}))
}
