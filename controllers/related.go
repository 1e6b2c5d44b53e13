// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxMembers bounds how many Delegations of one conversation are gone through for the oldest that waits.
const maxMembers = 1024

// relate reads the Delegations that an unbound one depends on.
func (r *DelegationReconciler) relate(ctx context.Context, d *v1alpha1.Delegation, endpoint string) (outbox.Related, error) {
	var out outbox.Related
	var err error
	if d.Spec.Continues != nil {
		if err = r.relateRoot(ctx, d, &out); err != nil {
			return out, err
		}
	}
	for _, ref := range d.Spec.Refines {
		target, err := r.named(ctx, d.Namespace, ref.Name)
		if err != nil {
			return out, err
		}
		out.Refined = append(out.Refined, target)
	}
	if d.Spec.MessageID != "" && endpoint != "" {
		if out.SameMessage, err = r.sharing(ctx, d, byMessageID, d.Spec.MessageID, endpoint); err != nil {
			return out, err
		}
	}
	// Also one that is about to be minted: another namespace may have named it.
	if contextID := outbox.Address(d, out, false).ContextID; contextID != "" && endpoint != "" {
		same, err := r.inContext(ctx, d, contextID, endpoint)
		if err != nil {
			return out, err
		}
		for _, other := range same {
			if other.Namespace != d.Namespace {
				out.SameContext = append(out.SameContext, other)
			}
		}
	}
	return out, nil
}

// relateRoot finds the Delegation that made the task, who claims its question, and who waits in front.
func (r *DelegationReconciler) relateRoot(ctx context.Context, d *v1alpha1.Delegation, out *outbox.Related) error {
	var err error
	if out.Root, out.Circle, err = r.root(ctx, d); err != nil || out.Root == nil {
		return err
	}
	if held := out.Root.Status.AnsweredBy; held != nil {
		holder, err := r.named(ctx, d.Namespace, held.Name)
		if err != nil {
			return err
		}
		if holder != nil && holder.UID == held.UID {
			out.Holder = holder
		}
	}
	out.Ahead, err = r.ahead(ctx, d, out.Root)
	return err
}

// root follows continues to the Delegation that made the task; nil where the chain breaks, and circle where it has no end.
func (r *DelegationReconciler) root(ctx context.Context, d *v1alpha1.Delegation) (root *v1alpha1.Delegation, circle bool, err error) {
	seen := map[string]bool{}
	for d != nil && d.Spec.Continues != nil {
		if seen[d.Name] {
			return nil, true, nil
		}
		seen[d.Name] = true
		if d, err = r.named(ctx, d.Namespace, d.Spec.Continues.Name); err != nil {
			return nil, false, err
		}
	}
	return d, false, nil
}

// members lists all continuations of root's task, those of continuations among them.
func (r *DelegationReconciler) members(ctx context.Context, root *v1alpha1.Delegation) ([]*v1alpha1.Delegation, error) {
	var out []*v1alpha1.Delegation
	names := []string{root.Name}
	for i := 0; i < len(names) && i < maxMembers; i++ {
		list := &v1alpha1.DelegationList{}
		if err := r.Client.List(ctx, list, client.InNamespace(root.Namespace), client.MatchingFields{byContinues: names[i]},
			client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			return nil, err
		}
		for j := range list.Items {
			out = append(out, &list.Items[j])
			names = append(names, list.Items[j].Name)
		}
	}
	return out, nil
}

// ahead names the oldest answer to root's task that was never sent and is older than d. One that was journalled is not
// ahead: it holds the claim.
func (r *DelegationReconciler) ahead(ctx context.Context, d, root *v1alpha1.Delegation) (string, error) {
	members, err := r.members(ctx, root)
	oldest := d
	for _, other := range members {
		if waiting(other) && older(other, oldest) {
			oldest = other
		}
	}
	if oldest == d {
		return "", err
	}
	return oldest.Name, err
}

// waiting reports whether an answer is to be sent and never was.
func waiting(d *v1alpha1.Delegation) bool {
	return !d.Status.Phase.Finished() && d.Annotations[v1alpha1.AttemptAnnotation] == "" && d.Status.TaskID == "" &&
		d.DeletionTimestamp == nil && !d.Spec.Suspend
}

func older(a, b *v1alpha1.Delegation) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

// sharing lists the other Delegations to the same endpoint that carry the same id.
func (r *DelegationReconciler) sharing(ctx context.Context, d *v1alpha1.Delegation, field, id, endpoint string) ([]*v1alpha1.Delegation, error) {
	list := &v1alpha1.DelegationList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{field: id}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var out []*v1alpha1.Delegation
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID == d.UID {
			continue
		}
		same, err := r.Agents.reaches(ctx, other, endpoint)
		if err != nil {
			return nil, err
		}
		if same {
			out = append(out, other)
		}
	}
	return out, nil
}

// named returns a Delegation of a namespace; nil where there is none.
func (r *DelegationReconciler) named(ctx context.Context, namespace, name string) (*v1alpha1.Delegation, error) {
	d := &v1alpha1.Delegation{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, d)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return d, err
}
