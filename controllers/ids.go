// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// An index entry takes as much memory as a Delegation that is over, so that there is one for its ids where they follow from
// each other: a messageId that was minted is the UID, and a contextId that was minted has the messageId in it.

// uids are what the index byUID lists a Delegation under: nothing where its messageId leads to it.
func uids(d *v1alpha1.Delegation) []string {
	if d.Spec.MessageID == string(d.UID) {
		return nil
	}
	return []string{string(d.UID)}
}

// withUID returns the Delegation of a UID; nil where there is none.
func withUID(ctx context.Context, c client.Reader, uid types.UID) (*v1alpha1.Delegation, error) {
	for _, field := range []string{byMessageID, byUID} {
		list := &v1alpha1.DelegationList{}
		if err := c.List(ctx, list, client.MatchingFields{field: string(uid)}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if list.Items[i].UID == uid {
				return &list.Items[i], nil
			}
		}
	}
	return nil, nil
}

// contextIDs are what the index byContextID lists a Delegation under: nothing where its messageId leads to it.
func contextIDs(d *v1alpha1.Delegation) []string {
	if message, minted := outbox.MintedFrom(d.Spec.ContextID); minted && message == d.Spec.MessageID {
		return nil
	}
	return present(d.Spec.ContextID)
}

// inContext lists the other Delegations to an endpoint with a contextId.
func (r *DelegationReconciler) inContext(ctx context.Context, d *v1alpha1.Delegation, contextID, endpoint string) ([]*v1alpha1.Delegation, error) {
	out, err := r.sharing(ctx, d, byContextID, contextID, endpoint)
	message, minted := outbox.MintedFrom(contextID)
	if err != nil || !minted {
		return out, err
	}
	others, err := r.sharing(ctx, d, byMessageID, message, endpoint)
	for _, other := range others {
		if other.Spec.ContextID == contextID && len(contextIDs(other)) == 0 {
			out = append(out, other)
		}
	}
	return out, err
}
