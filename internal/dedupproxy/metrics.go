// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Result is what a send came to.
type Result string

// The results.
const (
	// ResultFirst: forwarded, and bound to a task or a reply.
	ResultFirst Result = "first"
	// ResultReplay: answered by what an earlier copy made.
	ResultReplay Result = "replay"
	// ResultMismatch: another body under a known messageId.
	ResultMismatch Result = "mismatch"
	// ResultInProgress: told to come again later.
	ResultInProgress Result = "in_progress"
	// ResultUnknown: told that the outcome of an earlier copy can't be known.
	ResultUnknown Result = "outcome_unknown"
	// ResultReleased: not taken by the agent, or not sent; the messageId is free again.
	ResultReleased Result = "released"
	// ResultOpen: forwarded, and answered by the agent in a way that proves nothing.
	ResultOpen Result = "open"
	// ResultUnauthenticated: no verified caller.
	ResultUnauthenticated Result = "unauthenticated"
	// ResultStoreFailed: the table was not available.
	ResultStoreFailed Result = "store_failed"
)

// Recovery is what a look for an abandoned message's task came to.
type Recovery string

// The recoveries: the task was found; it was not, and the message was forwarded; it was not, and the outcome stays
// unknown; the agent could not be asked.
const (
	RecoveryFound   Recovery = "found"
	RecoveryAbsent  Recovery = "absent"
	RecoveryUnknown Recovery = "unknown"
	RecoveryLater   Recovery = "later"
)

const (
	// maxCallers bounds the label values of one metric: callers choose how many there are.
	maxCallers = 100
	// otherCallers is the label of those beyond.
	otherCallers = "other"
)

// Metrics is what a proxy counts. Its names begin with a2a_dedup_.
type Metrics struct {
	sends, recoveries *prometheus.CounterVec
	unsupported       *prometheus.CounterVec
	duplicates        prometheus.Counter
	inProgress        prometheus.Gauge
	upstream          *prometheus.HistogramVec
	added             prometheus.Histogram

	mu      sync.Mutex
	callers map[string]string
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		sends:      counter("a2a_dedup_sends_total", "Messages that came in, by what they came to.", "result"),
		recoveries: counter("a2a_dedup_recoveries_total", "Looks for the task of a message with an open outcome, by what they came to.", "result"),
		unsupported: counter("a2a_dedup_unsupported_operations_total",
			"Messages that the agent refused as UnsupportedOperation, such as one to a finished task, by a hash of their caller.", "principal"),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "a2a_dedup_duplicate_tasks_total", Help: "Second tasks that the agent made of one message."}),
		inProgress: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "a2a_dedup_rows_in_progress", Help: "Messages that this process is forwarding or looking up."}),
		upstream: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "a2a_dedup_upstream_seconds", Help: "Time until the agent answered a call, or gave the first event of a stream.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18)}, []string{"method"}),
		added: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "a2a_dedup_added_seconds", Help: "Time that a send spent in the proxy and its table, and not with the agent.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
		callers: map[string]string{},
	}
}

// Register adds the metrics to a registry.
func (m *Metrics) Register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.sends, m.recoveries, m.unsupported, m.duplicates, m.inProgress, m.upstream, m.added} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metrics) countSend(r Result)           { m.sends.WithLabelValues(string(r)).Inc() }
func (m *Metrics) countRecovery(r Recovery)     { m.recoveries.WithLabelValues(string(r)).Inc() }
func (m *Metrics) observeAdded(d time.Duration) { m.added.Observe(d.Seconds()) }

func (m *Metrics) observeUpstream(method string, d time.Duration) {
	m.upstream.WithLabelValues(method).Observe(d.Seconds())
}

func (m *Metrics) countUnsupported(principal string) {
	m.unsupported.WithLabelValues(m.caller(principal)).Inc()
}

// caller is the label of a principal: a hash, since names are nobody's business who reads metrics.
func (m *Metrics) caller(principal string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	label, known := m.callers[principal]
	if !known {
		if len(m.callers) >= maxCallers {
			return otherCallers
		}
		sum := sha256.Sum256([]byte(principal))
		label = hex.EncodeToString(sum[:6])
		m.callers[principal] = label
	}
	return label
}

// watch sums up the time that one request waited for the agent.
type watch struct{ total atomic.Int64 }

type watchKey struct{}

func stopwatch(r *http.Request) (*http.Request, *watch) {
	w := new(watch)
	return r.WithContext(context.WithValue(r.Context(), watchKey{}, w)), w
}

func (w *watch) spent() time.Duration { return time.Duration(w.total.Load()) }

// spent adds to the time that the request of ctx waited for the agent.
func spent(ctx context.Context, d time.Duration) {
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		w.total.Add(int64(d))
	}
}
