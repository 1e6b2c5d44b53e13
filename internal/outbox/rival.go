// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"strings"
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
		if c.harmless(other, c.to.MessageID) {
			continue
		}
		if c.comesFirst(other) {
			return c.refuse(v1alpha1.PhaseRejected, "MessageIdInUse", fmt.Sprintf(
				"messageId %q is that of %s to the same endpoint: create this one anew without messageId, or with another", c.to.MessageID, c.nameOf(other)))
		}
		if end := d.CreationTimestamp.Add(tieBreak); d.CreationTimestamp.Equal(&other.CreationTimestamp) && c.in.Now.Before(end) {
			return Wait{Until: end}
		}
	}
	for _, other := range c.in.Related.SameContext {
		if !c.harmless(other, c.to.ContextID) && c.comesFirst(other) {
			return c.refuse(v1alpha1.PhaseRejected, "ContextIdInUse", fmt.Sprintf(
				"contextId %q is in use by another namespace: create this one anew without contextId, or with another", c.to.ContextID))
		}
	}
	return nil
}

// nameOf names another Delegation, unless it is another tenant's.
func (c *decision) nameOf(other *v1alpha1.Delegation) string {
	if other.Namespace != c.in.Delegation.Namespace {
		return "a Delegation of another namespace"
	}
	return fmt.Sprintf("Delegation %s/%s", other.Namespace, other.Name)
}

// harmless reports whether another Delegation with the same id certainly has nothing at the agent that the id could lead
// to, and never will.
func (c *decision) harmless(other *v1alpha1.Delegation, id string) bool {
	d := c.in.Delegation
	switch {
	case other.UID == d.UID:
		return true
	case other.Namespace != d.Namespace && (d.UsesForeignAgent() || strings.HasPrefix(id, d.Namespace+"/")):
		// The id begins with the own namespace, or is a conversation that a target of this namespace has: who uses it
		// elsewhere can only want to be in the way.
		return true
	case other.UsesForeignAgent() && !owns(other, id) && other.Status.TaskID == "":
		return true // it is never sent with this id
	}
	return other.Status.Phase.Finished() && meta.IsStatusConditionFalse(other.Status.Conditions, v1alpha1.ConditionDelivered)
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
