// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what the operator's users watch for. Agents are labelled by namespace and name: both are chosen
// in the cluster, so that no caller from outside can make up labels.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
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
	sweeps = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_sweeps_total", Help: "Listings of an agent's changed tasks, by what they were good for.",
	}, []string{"namespace", "agent", "result"})
	hints = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_delegation_hints_total", Help: "Hints that a task may have changed, by where they came from.",
	}, []string{"namespace", "agent", "source"})
)

func init() { metrics.Registry.MustRegister(attempts, unsupported, duplicates, sweeps, hints) }

// Attempt counts one attempt and what it proved.
func Attempt(namespace, agent string, ex outbox.Exchange) {
	attempts.WithLabelValues(namespace, agent, string(ex.Outcome)).Inc()
	if ex.Outcome == outbox.Refused && ex.Task != nil && ex.Task.State.Terminal() {
		unsupported.WithLabelValues(namespace, agent).Inc()
	}
}

// Duplicates counts further tasks of one message.
func Duplicates(namespace, agent string, n int) {
	duplicates.WithLabelValues(namespace, agent).Add(float64(n))
}

// Sweep counts one listing of an agent's changed tasks and what it was good for.
func Sweep(namespace, agent, result string) {
	sweeps.WithLabelValues(namespace, agent, result).Inc()
}

// Hints counts hints that a task may have changed, from a source such as sweep.
func Hints(namespace, agent, source string, n int) {
	hints.WithLabelValues(namespace, agent, source).Add(float64(n))
}
