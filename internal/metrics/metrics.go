// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what the operator's users watch for. Agents are labelled by namespace and name: both are chosen
// in the cluster, so that no caller from outside can make up labels.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

var (
	attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_attempts_total", Help: "Attempts to deliver a message, by what they proved.",
	}, []string{"namespace", "agent", "outcome"})
	unsupported = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_unsupported_operations_total", Help: "Messages that the agent refused because their task is done.",
	}, []string{"namespace", "agent"})
	duplicates = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_duplicate_tasks_total", Help: "Further tasks that an agent made of one message although it promised to deduplicate.",
	}, []string{"namespace", "agent"})
	streams = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_delegation_streams", Help: "Streams on which agents tell of changes to their tasks, open now.",
	}, []string{"namespace", "agent"})
	reconnects = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_stream_reconnects_total", Help: "Streams that were opened again for the same task, or tried to be.",
	}, []string{"namespace", "agent"})
	hints = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_hints_total", Help: "Hints that a task may have changed, by where they came from.",
	}, []string{"namespace", "agent", "source"})
	sweeps = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_sweeps_total", Help: "Listings of an agent's changed tasks, by what they were good for.",
	}, []string{"namespace", "agent", "result"})
	pushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_pushes_total", Help: "Push notifications that came in, by what became of them.",
	}, []string{"result"})
	pushRefusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_push_refusals_total", Help: "Agents that refused to send push notifications although their card says that they do.",
	}, []string{"namespace", "agent"})
)

// Source is where a hint came from.
type Source string

// The sources of hints.
const (
	// SourceStream: an event on a stream, or its begin.
	SourceStream Source = "Stream"
	// SourceStreamEnd: the end of a stream.
	SourceStreamEnd Source = "StreamEnd"
	// SourceSweep: a listing of what changed.
	SourceSweep Source = "Sweep"
)

func init() {
	metrics.Registry.MustRegister(attempts, unsupported, duplicates, streams, reconnects, hints, sweeps, pushes, pushRefusals)
}

// Attempt counts one attempt and what it proved.
func Attempt(agent types.NamespacedName, ex outbox.Exchange) {
	attempts.WithLabelValues(agent.Namespace, agent.Name, string(ex.Outcome)).Inc()
	if ex.Outcome == outbox.Refused && ex.Task != nil && ex.Task.State.Terminal() {
		unsupported.WithLabelValues(agent.Namespace, agent.Name).Inc()
	}
}

// Duplicates counts further tasks of one message.
func Duplicates(agent types.NamespacedName, n int) {
	duplicates.WithLabelValues(agent.Namespace, agent.Name).Add(float64(n))
}

// Streams sets how many streams are open to an agent. Below zero the agent is gone, and has no number any more.
func Streams(namespace, agent string, n int) {
	if n < 0 {
		streams.DeleteLabelValues(namespace, agent)
		return
	}
	streams.WithLabelValues(namespace, agent).Set(float64(n))
}

// Reconnect counts a stream that is opened again.
func Reconnect(namespace, agent string) { reconnects.WithLabelValues(namespace, agent).Inc() }

// Hints counts hints from one source.
func Hints(namespace, agent string, from Source, n int) {
	hints.WithLabelValues(namespace, agent, string(from)).Add(float64(n))
}

// Sweep counts one listing of an agent's changed tasks and what it was good for.
func Sweep(namespace, agent, result string) {
	sweeps.WithLabelValues(namespace, agent, result).Inc()
}

// Push counts one push notification that came in.
func Push(result string) { pushes.WithLabelValues(result).Inc() }

// PushRefused counts an agent that refused to push.
func PushRefused(agent types.NamespacedName) {
	pushRefusals.WithLabelValues(agent.Namespace, agent.Name).Inc()
}
