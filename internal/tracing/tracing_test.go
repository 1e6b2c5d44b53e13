// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	good := Config{Endpoint: "http://collector:4317", Protocol: ProtocolGRPC, Ratio: 1, Instance: "a"}
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"gRPC":                 {func(*Config) {}, nil},
		"HTTP":                 {func(c *Config) { c.Protocol = ProtocolHTTP }, nil},
		"no URL":               {func(c *Config) { c.Endpoint = "collector:4317" }, ErrConfig},
		"another scheme":       {func(c *Config) { c.Endpoint = "ftp://collector" }, ErrConfig},
		"credentials":          {func(c *Config) { c.Endpoint = "http://user:password@collector:4317" }, ErrConfig},
		"no protocol":          {func(c *Config) { c.Protocol = "" }, ErrConfig},
		"a ratio over 1":       {func(c *Config) { c.Ratio = 1.1 }, ErrConfig},
		"a negative ratio":     {func(c *Config) { c.Ratio = -0.1 }, ErrConfig},
		"a ratio that is none": {func(c *Config) { c.Ratio = math.NaN() }, ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			conf := good
			c.change(&conf)
			tracer, err := New(t.Context(), conf, logr.Discard())
			if !errors.Is(err, c.want) || (tracer != nil) != (c.want == nil) {
				t.Errorf("%v, %v; want %v", tracer, err, c.want)
			}
		})
	}
	if tracer, err := New(t.Context(), Config{}, logr.Discard()); tracer != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tracer, err)
	}
}

// Over HTTP the spans go to the path of the protocol.
func TestHTTP(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	t.Cleanup(collector.Close)
	tracer, err := New(t.Context(), Config{Endpoint: collector.URL, Protocol: ProtocolHTTP, Ratio: 1}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	_, end := tracer.Call(t.Context(), delegation("a"), outbox.CallSend, 1)
	end(outbox.Exchange{Outcome: outbox.Accepted})
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path := <-paths; path != "/v1/traces" {
		t.Errorf("sent to %s", path)
	}
}

// The share of traces that is kept follows from the UID, so that every process keeps the same ones; a creator that said yes or
// no is heard.
func TestSampling(t *testing.T) {
	t.Parallel()
	const n = 1000
	first, second := recorder(0.25), recorder(0.25)
	for i := range n {
		d := delegation(fmt.Sprint(i))
		for _, r := range []*recording{first, second} {
			_, end := r.Call(t.Context(), d, outbox.CallSend, 1)
			end(outbox.Exchange{Outcome: outbox.Accepted})
		}
	}
	a, b := first.traces(), second.traces()
	if len(a) < n/5 || len(a) > n*3/10 {
		t.Errorf("%d of %d traces are kept; want about a quarter", len(a), n)
	}
	for id := range a {
		if !b[id] {
			t.Errorf("trace %s is kept by one process and not by the other", id)
		}
	}
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for flags, want := range map[string]bool{"00": false, "01": true} {
		r, d := recorder(0.5), delegation("a")
		d.Annotations = map[string]string{v1alpha1.TraceparentAnnotation: "00-" + id + "-00f067aa0ba902b7-" + flags}
		_, end := r.Call(t.Context(), d, outbox.CallSend, 1)
		end(outbox.Exchange{Outcome: outbox.Accepted})
		if got := r.traces()[id]; got != want {
			t.Errorf("flags %s: kept %v", flags, got)
		}
	}
}

type recording struct {
	*Tracer
	spans *tracetest.InMemoryExporter
}

func recorder(ratio float64) *recording {
	spans := tracetest.NewInMemoryExporter()
	return &recording{newTracer(ratio, sdktrace.WithSyncer(spans)), spans}
}

func (r *recording) traces() map[string]bool {
	ids := map[string]bool{}
	for _, s := range r.spans.GetSpans() {
		ids[s.SpanContext.TraceID().String()] = s.SpanContext.TraceFlags()&trace.FlagsSampled != 0
	}
	return ids
}

func delegation(uid string) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{}
	d.Name, d.Namespace, d.UID = "d", "books", types.UID(uid)
	d.CreationTimestamp.Time = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return d
}
