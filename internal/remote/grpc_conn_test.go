// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// counting counts the connections that are made, of which one may be open.
func counting(n *atomic.Int32) func(*remote.Config) {
	return func(c *remote.Config) {
		c.Limits.Connections = 1
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			n.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
}

// Calls at the same time share a connection, so that the bound on connections bounds no calls.
func TestGRPCSharesAConnection(t *testing.T) {
	var dials atomic.Int32
	c := connect(t, overGRPC(t, sdkHandler(), nil), counting(&dials))
	expect(t, c.Send(t.Context(), token(t), message()), outbox.Accepted, "")
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { expect(t, c.Send(t.Context(), token(t), message()), outbox.Accepted, "") })
	}
	calls.Wait()
	if dials.Load() != 1 {
		t.Errorf("%d connections", dials.Load())
	}
}

// A connection that is gone makes room for the next, and what was lost with it is never sent again by itself.
func TestGRPCAfterALostConnection(t *testing.T) {
	var dials atomic.Int32
	a := reading(func(*h2) {})(t)
	c := connect(t, a, speakingGRPC, counting(&dials))
	for i := range int32(3) {
		expect(t, c.Send(t.Context(), token(t), message()), outbox.Ambiguous, remote.ReasonResponseLost)
		if dials.Load() != i+1 || a.received.Load() != i+1 {
			t.Errorf("after %d sends %d connections and %d messages", i+1, dials.Load(), a.received.Load())
		}
	}
}

// A look may be repeated, and is, on a fresh connection; only a message may not.
func TestGRPCSendsNothingTwice(t *testing.T) {
	for name, end := range map[string]func(c *h2){
		"refused":   func(c *h2) { c.write(h2Reset, 1, 0, 0, 0, 7) },
		"protocol":  func(c *h2) { c.write(h2Reset, 1, 0, 0, 0, 1) },
		"goes away": func(c *h2) { c.write(h2GoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
		"closes":    func(*h2) {},
	} {
		t.Run(name, func(t *testing.T) {
			a := reading(func(c *h2) {
				end(c)
				_ = c.conn.CloseWrite()
				c.a.reach()
				<-c.a.release
			})(t)
			c := connect(t, a, speakingGRPC, func(c *remote.Config) { c.Deduplicates = true })
			expect(t, c.Send(t.Context(), token(t), message()), outbox.Ambiguous, remote.ReasonResponseLost)
			if got := a.received.Load(); got != 1 {
				t.Errorf("the agent received %d messages", got)
			}
		})
	}
}

// The call carries what every binding carries, as metadata.
func TestGRPCMetadata(t *testing.T) {
	var got http.Header
	a := grpcHearing(t, func(r *http.Request) { got = r.Header.Clone() })
	c := connect(t, a, speakingGRPC, func(c *remote.Config) { c.Deduplicates, c.Interface.URL = true, a.url+"/a2a?x=1" })
	req := message()
	req.Message.Extensions = []string{"https://example.com/x"}
	expect(t, c.Send(t.Context(), token(t), req), outbox.Accepted, "")
	for name, want := range map[string]string{
		"Authorization": "Bearer " + secret, "A2a-Version": "1.0", "A2a-Extensions": "https://example.com/x", "Idempotency-Key": "m-71",
		"Content-Type": "application/grpc", "Te": "trailers", "User-Agent": "delegation-operator", "Accept-Encoding": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}
