// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what the operator's users watch for. Agents are labelled by namespace and name: both are chosen
// in the cluster, so that no caller from outside can make up labels. A RemoteAgent that is not there has none: Delegations
// could name as many as they like. What was counted for one that is deleted goes with it.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// agent are the labels of a RemoteAgent.
var agent = []string{"namespace", "agent"}

// lasting are the buckets for what takes between a second, which is how exact a creationTimestamp is, and three days, which
// is how long a message may be undelivered.
var lasting = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 259200}

var (
	attempts     = counter("attempts", "Attempts to deliver a message, by what they proved.", "outcome")
	conflicts    = counter("journal_conflicts", "Attempts that were not made, since the object had changed when they were to be journalled.")
	delivered    = histogram("delivery", "Time from the creation of a Delegation until the agent was known to have its message.")
	duplicates   = counter("duplicate_tasks", "Further tasks that an agent made of one message although it promised to deduplicate.")
	duration     = histogram("completion", "Time from the creation of a Delegation until nothing more was to come.")
	eventsLeft   = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "events_left_out_total", Help: "Events beyond --event-qps, which were not written."}, []string{"type"})
	expiries     = gauge("client_certificate_expiry_timestamp_seconds", "When the client certificate of a RemoteAgent ends.")
	finished     = counter("finished", "Delegations to which nothing more happens, by their last phase.", "phase")
	hints        = counter("hints", "Hints that a task may have changed, by where they came from.", "source")
	looks        = counter("looks", "Looks at a single task (GetTask) that was followed, by what they proved.", "outcome")
	mismatches   = counter("digest_mismatches", "Messages that the agent refused because it knows their messageId with another body.")
	pushRefusals = counter("push_refusals", "Agents that refused to send push notifications although their card says that they do.")
	pushes       = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "pushes_total", Help: "Push notifications that came in, by what became of them."}, []string{"result"})
	reconnects   = counter("stream_reconnects", "Streams that were opened again for the same task, or tried to be.")
	recoveries   = counter("recoveries", "Delegations whose first answer was lost and whose task was found, by how.", "by")
	streams      = gauge("streams", "Streams on which agents tell of changes to their tasks, open now.")
	sweeps       = counter("sweeps", "Listings of an agent's changed tasks, by what they were good for.", "result")
	unknown      = counter("unknown", "Delegations whose outcome became Unknown.")
	unsupported  = counter("unsupported_operations", "Messages that the agent refused because their task is done, by the namespace of their Delegation.", "client")
)

// all is what this process counts.
var all = []prometheus.Collector{
	attempts, conflicts, delivered, duplicates, duration, eventsLeft, expiries, finished, hints, looks, mismatches, pushRefusals, pushes,
	reconnects, recoveries, streams, sweeps, unknown, unsupported,
}

const prefix = "a2a_delegation_"

func counter(name, help string, more ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name + "_total", Help: help}, labels(more...))
}

func gauge(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels())
}

// histogram has the buckets of old, and those of native histograms where they are scraped.
func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + name + "_duration_seconds", Help: help, Buckets: lasting,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, labels())
}

// labels are those of an agent, and more.
func labels(more ...string) []string { return append(append([]string{}, agent...), more...) }

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

func init() { metrics.Registry.MustRegister(all...) }

// Attempt counts one attempt for a client, the namespace of a Delegation, and what it proved.
func Attempt(agent types.NamespacedName, client string, ex outbox.Exchange) {
	attempts.WithLabelValues(agent.Namespace, agent.Name, string(ex.Outcome)).Inc()
	if ex.Outcome == outbox.Refused && ex.Task != nil && ex.Task.State.Terminal() {
		unsupported.WithLabelValues(agent.Namespace, agent.Name, client).Inc()
	}
}

// JournalConflict counts an attempt that was not made.
func JournalConflict(agent types.NamespacedName) {
	conflicts.WithLabelValues(agent.Namespace, agent.Name).Inc()
}

// Changed counts what a status write changed, after it was made. The agent is the zero name where it is not there.
func Changed(agent types.NamespacedName, d *v1alpha1.Delegation, c outbox.Changes, now time.Time) {
	age := max(now.Sub(d.CreationTimestamp.Time), 0).Seconds()
	ns, name := agent.Namespace, agent.Name
	if c.Delivered {
		delivered.WithLabelValues(ns, name).Observe(age)
	}
	if c.RecoveredBy != "" {
		recoveries.WithLabelValues(ns, name, string(c.RecoveredBy)).Inc()
	}
	if c.Unknown {
		unknown.WithLabelValues(ns, name).Inc()
	}
	if c.Mismatch {
		mismatches.WithLabelValues(ns, name).Inc()
	}
	if c.Finished {
		duration.WithLabelValues(ns, name).Observe(age)
		finished.WithLabelValues(ns, name, string(d.Status.Phase)).Inc()
	}
}

// Duplicates counts further tasks of one message.
func Duplicates(agent types.NamespacedName, n int) {
	duplicates.WithLabelValues(agent.Namespace, agent.Name).Add(float64(n))
}

// Look counts one look at a task and what it proved.
func Look(agent types.NamespacedName, outcome outbox.Outcome) {
	looks.WithLabelValues(agent.Namespace, agent.Name, string(outcome)).Inc()
}

// ClientCertificate says when the client certificate of an agent ends; the zero time where it has none.
func ClientCertificate(agent types.NamespacedName, ends time.Time) {
	if ends.IsZero() {
		expiries.DeleteLabelValues(agent.Namespace, agent.Name)
		return
	}
	expiries.WithLabelValues(agent.Namespace, agent.Name).Set(float64(ends.Unix()))
}

// Forget drops what was counted for a RemoteAgent that is gone.
func Forget(agent types.NamespacedName) {
	for _, c := range all {
		if vec, ok := c.(interface{ DeletePartialMatch(prometheus.Labels) int }); ok {
			vec.DeletePartialMatch(prometheus.Labels{"namespace": agent.Namespace, "agent": agent.Name})
		}
	}
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

// EventLeftOut counts an Event of a type, Normal or Warning, that was not written.
func EventLeftOut(kind string) { eventsLeft.WithLabelValues(kind).Inc() }
