// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// tally sums up the Delegations that were not delivered.
type tally struct {
	there map[types.NamespacedName]bool
	// first is the creation of the oldest that is due, and next the first deadline, by agent.
	first, next map[types.NamespacedName]time.Time
}

type group struct {
	agent  types.NamespacedName
	client string
	phase  v1alpha1.Phase
}

func newTally(agents *v1alpha1.RemoteAgentList) *tally {
	t := &tally{
		there: map[types.NamespacedName]bool{},
		first: map[types.NamespacedName]time.Time{}, next: map[types.NamespacedName]time.Time{},
	}
	for i := range agents.Items {
		t.there[client.ObjectKeyFromObject(&agents.Items[i])] = true
	}
	return t
}

func groupOf(d *v1alpha1.Delegation) group {
	g := group{d.AgentKey(), d.Namespace, d.Status.Phase}
	if g.phase == "" {
		g.phase = v1alpha1.PhasePending
	}
	return g
}

// ByDelivery is the index of the cache that lists the Delegations which were not delivered, under Undelivered.
const (
	ByDelivery  = "status.delivery"
	Undelivered = "undelivered"
)

// Delivery is what the index ByDelivery lists a Delegation under.
func Delivery(d *v1alpha1.Delegation) []string {
	if phase := groupOf(d).phase; phase != v1alpha1.PhasePending && phase != v1alpha1.PhaseSending {
		return nil
	}
	return []string{Undelivered}
}

// named is an agent's name, empty where it is not there.
func (t *tally) named(agent types.NamespacedName) types.NamespacedName {
	if !t.there[agent] {
		return types.NamespacedName{}
	}
	return agent
}

func (t *tally) add(d *v1alpha1.Delegation) {
	name := t.named(d.AgentKey())
	earliest(t.next, name, deadlineOf(d))
	if !waits(d) {
		earliest(t.first, name, d.CreationTimestamp.Time)
	}
}

// earliest keeps the earlier time; the zero time is none.
func earliest(times map[types.NamespacedName]time.Time, of types.NamespacedName, at time.Time) {
	if held, ok := times[of]; !at.IsZero() && (!ok || at.Before(held)) {
		times[of] = at
	}
}

// deadlineOf is when a message that was not delivered becomes one that never is; zero for never.
func deadlineOf(d *v1alpha1.Delegation) time.Time {
	var end time.Time
	if limit := d.Spec.DeliveryDeadline.Duration; limit > 0 {
		end = d.CreationTimestamp.Add(limit)
	}
	if after := d.Spec.NotAfter; after != nil && d.Annotations[v1alpha1.AttemptAnnotation] == "" && (end.IsZero() || after.Time.Before(end)) {
		end = after.Time
	}
	return end
}

// waits reports whether a message that was not delivered waits for something that its author wanted it to wait for: another
// Delegation, or a person.
func waits(d *v1alpha1.Delegation) bool {
	switch outbox.ReadyReason(&d.Status) {
	case outbox.ReasonSuspended, outbox.ReasonTargetNotFound, outbox.ReasonTargetNotBound, outbox.ReasonTargetNotFinished, outbox.ReasonTargetNotAsking,
		outbox.ReasonOlderAnswerFirst, outbox.ReasonAnsweredByAnother:
		return true
	}
	return false
}

// emit tells of the tally, and of all Delegations of a shard.
func (t *tally) emit(ch chan<- prometheus.Metric, all map[group]int, shard string) {
	count := map[group]int{}
	for g, n := range all {
		count[group{t.named(g.agent), g.client, g.phase}] += n
	}
	for g, n := range count {
		ch <- prometheus.MustNewConstMetric(delegations, prometheus.GaugeValue, float64(n), g.agent.Namespace, g.agent.Name, g.client, string(g.phase), shard)
	}
	for desc, times := range map[*prometheus.Desc]map[types.NamespacedName]time.Time{oldest: t.first, deadline: t.next} {
		for name, at := range times {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(at.Unix()), name.Namespace, name.Name)
		}
	}
}
