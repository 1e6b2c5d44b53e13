// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// stopwatch measures from the last look at the clock before a write until the kernel has the bytes.
type stopwatch struct {
	mu      sync.Mutex
	checked time.Time
	windows []time.Duration
}

func (s *stopwatch) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = time.Now()
	return s.checked
}

func (s *stopwatch) written() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = append(s.windows, time.Since(s.checked))
}

type timedConn struct {
	net.Conn
	watch *stopwatch
}

func (c *timedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.watch.written()
	return n, err
}

// BenchmarkWindow measures how long a message is past its last deadline check and not yet with the kernel: the time in which
// a process that is stopped would write late. The whole exchange is beside it.
func BenchmarkWindow(b *testing.B) {
	watch := &stopwatch{}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), ReadHeaderTimeout: patience}
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	client, err := remote.New(remote.Config{
		Interface: v1alpha1.AgentInterface{URL: "http://" + listener.Addr().String(), ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}, Now: watch.now,
		Network: remote.Network{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &timedConn{conn, watch}, err
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	for b.Loop() {
		if ex := client.Send(b.Context(), token(b), message()); ex.Outcome != outbox.Ambiguous {
			b.Fatal(ex)
		}
	}
	slices.Sort(watch.windows)
	at := func(q float64) float64 {
		return float64(watch.windows[int(q*float64(len(watch.windows)-1))]) / float64(time.Microsecond)
	}
	b.ReportMetric(at(0.5), "window-p50-µs")
	b.ReportMetric(at(0.99), "window-p99-µs")
	b.ReportMetric(at(1), "window-max-µs")
}
