// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// tieBreak is how long two Delegations of the same second and messageId look at each other before one of them goes, so
// that an attempt of the other is seen.
const tieBreak = 2 * time.Second

// rival refuses a messageId that another Delegation to the same endpoint uses, and a contextId of another namespace:
// tenants that share the operator's principal must not reach each other's tasks by a copied id.
func (c *decision) rival() Action {
	d := c.in.Delegation
	for _, other := range c.in.Related.SameMessage {
		if c.harmless(other) {
			continue
		}
		if c.comesFirst(other) {
			return c.refuse(v1alpha1.PhaseRejected, "MessageIdInUse", fmt.Sprintf(
				"messageId %q is that of Delegation %s/%s to the same endpoint: create this one anew without messageId, or with another", c.to.MessageID, other.Namespace, other.Name))
		}
		if end := d.CreationTimestamp.Add(tieBreak); d.CreationTimestamp.Equal(&other.CreationTimestamp) && c.in.Now.Before(end) {
			return Wait{Until: end}
		}
	}
	for _, other := range c.in.Related.SameContext {
		if !c.harmless(other) && c.comesFirst(other) {
			return c.refuse(v1alpha1.PhaseRejected, "ContextIdInUse", fmt.Sprintf(
				"contextId %q is in use by another namespace: create this one anew without contextId, or with another", c.to.ContextID))
		}
	}
	return nil
}

// harmless reports whether another Delegation certainly has nothing at the agent and never will.
func (c *decision) harmless(other *v1alpha1.Delegation) bool {
	return other.UID == c.in.Delegation.UID ||
		(other.Status.Phase.Finished() && meta.IsStatusConditionFalse(other.Status.Conditions, v1alpha1.ConditionDelivered))
}

// comesFirst reports whether another Delegation has the older right: it may have been sent, or it is older.
func (c *decision) comesFirst(other *v1alpha1.Delegation) bool {
	d := c.in.Delegation
	if other.Annotations[v1alpha1.AttemptAnnotation] != "" || other.Status.TaskID != "" || other.Status.Attempts > 0 {
		return true
	}
	if !d.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return other.CreationTimestamp.Before(&d.CreationTimestamp)
	}
	return other.UID < d.UID
}
