// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// monitor says whether an agent that promised to deduplicate does, as far as the Delegations that are there show.
func (r *RemoteAgentReconciler) monitor(ctx context.Context, ra *v1alpha1.RemoteAgent, s *v1alpha1.RemoteAgentStatus) error {
	if s.Deduplication == nil || s.Deduplication.Mode != v1alpha1.DeduplicationMessageID {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionContractHonored)
		return nil
	}
	list := &v1alpha1.DelegationList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{byDuplicates: client.ObjectKeyFromObject(ra).String()},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionContractHonored, Status: metav1.ConditionTrue, Reason: "NoDuplicates",
		Message: "no message became several tasks", ObservedGeneration: ra.Generation, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if len(list.Items) > 0 {
		d := &list.Items[0]
		c.Status, c.Reason = metav1.ConditionFalse, "DuplicateTasks"
		c.Message = fmt.Sprintf("%d messages became several tasks, such as %s of Delegation %s in namespace %s: set spec.contract.deduplication.mode to None until the agent deduplicates",
			len(list.Items), d.Spec.MessageID, d.Name, d.Namespace)
	}
	meta.SetStatusCondition(&s.Conditions, c)
	return nil
}
