// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
)

// cacheLag is how far the caches of two managers may be apart before a RemoteAgent that is deleted can be released too early.
const cacheLag = 5 * time.Second

// limits are what this manager may ask of an agent. The agent's owner promised them for all callers, so that each shard has its
// share. What a shard does not use another does not get: that would take a word between them for each call.
func (a *Agents) limits(ra *v1alpha1.RemoteAgent) courier.Limits {
	return courier.Limits{
		InFlight:  a.Shard.Share(int(ra.Spec.Delivery.MaxInFlight)),
		PerSecond: a.Shard.Share(int(ra.Spec.Delivery.RequestsPerSecond)),
	}
}

// overtaking is how long a RemoteAgent that is being deleted is not released. A manager that works on all Delegations knows
// which of them it has sent; of those of other shards the cache tells, and it may be behind by a journal that was written just
// before the deletion, or by a manager that has not seen the deletion and sends. Zero for not at all.
func (r *RemoteAgentReconciler) overtaking(ra *v1alpha1.RemoteAgent) time.Duration {
	if r.Shard.All() || ra.DeletionTimestamp == nil {
		return 0
	}
	return ra.DeletionTimestamp.Add(cacheLag).Sub(r.Clock.Now())
}

// sooner is when to look at a RemoteAgent again that may be released by then.
func (r *RemoteAgentReconciler) sooner(retry time.Duration, ra *v1alpha1.RemoteAgent) time.Duration {
	wait := r.overtaking(ra)
	if wait <= 0 || retry > 0 && retry < wait {
		return retry
	}
	return wait
}
