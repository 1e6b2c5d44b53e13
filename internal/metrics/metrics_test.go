// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

var finance = types.NamespacedName{Namespace: "books", Name: "finance"}

// exercise makes a series of each metric.
func exercise(t *testing.T) {
	done := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "team", CreationTimestamp: metav1.Unix(0, 0)}}
	done.Status.Phase = v1alpha1.PhaseCompleted
	all := outbox.Changes{Delivered: true, RecoveredBy: v1alpha1.RecoveredByReplay, Unknown: true, Mismatch: true, Finished: true}
	Changed(finance, done, all, time.Unix(90, 0))
	Attempt(finance, "team", outbox.Exchange{Outcome: outbox.Refused, Task: &outbox.Task{State: v1alpha1.TaskStateCompleted}})
	JournalConflict(finance)
	Duplicates(finance, 1)
	Look(finance, outbox.Accepted)
	ClientCertificate(finance, time.Unix(1, 0))
	Streams("books", "finance", 1)
	Reconnect("books", "finance")
	Hints("books", "finance", SourceSweep, 1)
	Sweep("books", "finance", "Complete")
	Push("Taken")
	PushRefused(finance)
	EventLeftOut("Normal")
	t.Cleanup(func() { Forget(finance) })
}

func gathered(t *testing.T, r prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

func TestNames(t *testing.T) {
	exercise(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(all...)
	registry.MustRegister(booksState(t))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// The metrics of docs/metrics.md are those that there are, with their kinds and labels.
func TestDocumentedMetrics(t *testing.T) {
	exercise(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(all...)
	registry.MustRegister(booksState(t))
	want := map[string]string{}
	for name, f := range gathered(t, registry) {
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		want[name] = strings.ToLower(f.GetType().String()) + " | " + strings.Join(names, ", ")
	}
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(a2a_delegation_[a-z0-9_]+)` \\| ([a-z]+) \\| ([a-z, ]*) \\|").FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2] + " | " + m[3]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/metrics.md (-registry +document):\n%s", diff)
	}
}

// The proxy's metrics in docs/metrics.md are those of the proxy.
func TestDocumentedMetricsOfTheProxy(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	registered := &names{}
	if err := dedupproxy.NewMetrics().Register(registered); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(a2a_dedup_[a-z0-9_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(registered.text, `"`+m[1]+`"`) {
			t.Errorf("the proxy has no metric %s", m[1])
		}
	}
}

// names notes what is registered.
type names struct {
	prometheus.Registerer
	text string
}

func (n *names) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc, 10)
	c.Describe(ch)
	close(ch)
	for d := range ch {
		n.text += d.String()
	}
	return nil
}

// What was counted for an agent goes with it, and nothing else does.
func TestForget(t *testing.T) {
	exercise(t)
	other := types.NamespacedName{Namespace: "audit", Name: "finance"}
	Look(other, outbox.Accepted)
	t.Cleanup(func() { Forget(other) })
	Forget(finance)
	for name, f := range gathered(t, metrics.Registry) {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.HasPrefix(name, prefix) && l.GetName() == "namespace" && l.GetValue() == finance.Namespace {
					t.Errorf("%s is left: %s", name, m)
				}
			}
		}
	}
	if n := testutil.CollectAndCount(looks); n != 1 {
		t.Errorf("%d series of looks, want that of the other agent", n)
	}
}
