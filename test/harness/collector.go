// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Collector takes the traces of managers over OTLP, as a collector of OpenTelemetry does.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer
	// URL is for --tracing-endpoint.
	URL   string
	t     testing.TB
	mu    sync.Mutex
	spans []Span
}

// Span is one that came in, with the process that sent it.
type Span struct {
	*tracepb.Span
	Instance string
}

// Attribute is the text of an attribute; empty without.
func (s Span) Attribute(name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// StartCollector runs a collector until the test ends.
func StartCollector(t testing.TB) *Collector {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{t: t, URL: "http://" + listener.Addr().String()}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }() // it ends with the test
	t.Cleanup(server.Stop)
	return c
}

// Export implements collectorpb.TraceServiceServer.
func (c *Collector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.ResourceSpans {
		instance := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.instance.id" {
				instance = a.Value.GetStringValue()
			}
		}
		for _, in := range of.ScopeSpans {
			for _, s := range in.Spans {
				c.spans = append(c.spans, Span{Span: s, Instance: instance})
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// Spans are those that came in so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// AwaitSpan waits for a span of this name, and returns the first.
func (c *Collector) AwaitSpan(name string) Span {
	c.t.Helper()
	var found Span
	Eventually(c.t, Patience, "a span "+name, func(context.Context) (bool, string) {
		names := ""
		for _, s := range c.Spans() {
			if names += " " + s.Name; s.Name == name {
				found = s
				return true, names
			}
		}
		return false, fmt.Sprintf("spans:%s", names)
	})
	return found
}
