// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.opentelemetry.io/otel/propagation"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const userAgent = "delegation-operator"

// ErrEndpoint says that a Config names no endpoint that this package can talk to.
var ErrEndpoint = errors.New("not a usable endpoint")

// Network is how connections are made.
type Network struct {
	// DialContext makes all connections, such as egress.Policy.DialContext, in place of a net.Dialer that connects to any
	// address; nil for that. No proxy is used, whatever the environment says, so that it sees the agent's own host.
	DialContext DialFunc
	// TLS configures HTTPS; nil for the default.
	TLS *tls.Config
}

// Limits bound what an agent may use of this process.
type Limits struct {
	// ResponseBytes is how much of one response is kept, after decompression; 0 means 16 MiB. Of JSON, and of
	// gRPC, over an eighth of it the artifacts are kept as far as they fit, and at most 16 times as much is read.
	ResponseBytes int64
	// Connections is how many may be open at once, and apart from these how many for streams; 0 means 32.
	Connections int
	// StreamIdle is how long a stream may be without a byte until it counts as dead; 0 means 2 minutes.
	StreamIdle time.Duration
}

// Config describes an agent.
type Config struct {
	Network
	// Interface is the endpoint.
	Interface v1alpha1.AgentInterface
	// Authorize sets the credentials on a request that is just about to go out; nil for none. It is called anew for each
	// request and gets one for the endpoint's own URL; only the headers that it sets are sent.
	Authorize func(*http.Request) error
	// Renew is told the headers that Authorize had set on a request that was answered 401, and reports whether it has others
	// now. Then the request is made once more, a message too: one that was answered 401 was not taken. nil for never.
	Renew func(rejected http.Header) bool
	// Deduplicates says that the agent promised to. Then the messageId is sent as Idempotency-Key too, for what stands
	// between it and the operator.
	Deduplicates bool
	// Limits bound what is read and opened.
	Limits Limits
	// Now is the clock for deadlines and Retry-After dates; nil for time.Now.
	Now func() time.Time
}

// Client is one agent. Its methods may be called at the same time, and each is bounded by its context only.
type Client struct {
	wire    *wire
	streams streams
	binding binding
	dialect dialect
	tenant  string
	dedup   bool
}

// New returns a client for one endpoint. It makes no connection. The error wraps ErrEndpoint.
func New(c Config) (*Client, error) {
	u, d, err := endpoint(c.Interface)
	if err != nil {
		return nil, err
	}
	if c.Limits.Connections <= 0 {
		c.Limits.Connections = defaultConns
	}
	if c.Limits.ResponseBytes <= 0 {
		c.Limits.ResponseBytes = defaultBodyBytes
	}
	if c.Limits.StreamIdle <= 0 {
		c.Limits.StreamIdle = defaultStreamIdle
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	transport := newTransport
	if d.binding == a2a.TransportProtocolGRPC {
		transport = newGRPCTransport
	}
	to := func(t *http.Transport) *wire {
		return &wire{transport: t, url: u, authorize: c.Authorize, renew: c.Renew, limit: c.Limits.ResponseBytes, now: c.Now}
	}
	return &Client{
		wire: to(transport(c.DialContext, c.TLS, c.Limits.Connections)),
		// Streams have connections of their own: they are held for long, and HTTP/2 servers bound the streams of one.
		streams: newStreams(to(transport(c.DialContext, c.TLS, c.Limits.Connections)), c.Limits.StreamIdle),
		binding: dressing(d, u), dialect: d, tenant: c.Interface.Tenant, dedup: c.Deduplicates,
	}, nil
}

// Close drops the connections, those in use as soon as their call is over, and ends the streams; none is opened any more.
// Calls that are out end by themselves.
func (c *Client) Close() {
	c.wire.close()
	c.streams.close()
}

// request is one call as its caller wants it.
type request struct {
	call     outbox.Call
	params   any
	header   http.Header
	notAfter time.Time
}

// exchange makes one call. The result is there when the outcome is Accepted, and has not been looked into.
func (c *Client) exchange(ctx context.Context, r request) (json.RawMessage, outbox.Exchange) {
	p, err := c.pack(r)
	if err != nil {
		return nil, notEncodable(err)
	}
	// Without a span in the context it adds nothing.
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(p.header))
	a, ex := c.ask(ctx, r.call, p)
	if ex.Outcome == outbox.Unauthorized && c.wire.renewed(ex, a.presented) {
		a, ex = c.ask(ctx, r.call, p)
	}
	return a.result, ex
}

// asked is the answer to one request, and the credentials that it was made with.
type asked struct {
	answer
	presented http.Header
}

func (c *Client) ask(ctx context.Context, call outbox.Call, p parcel) (asked, outbox.Exchange) {
	ev := c.wire.do(ctx, p)
	a := c.binding.decode(call, p, ev)
	return asked{a, ev.presented}, judge(ev, a, c.wire.now())
}

// pack dresses a call and adds the headers that all of them have.
func (c *Client) pack(r request) (parcel, error) {
	p, err := c.binding.encode(r.call, r.params)
	if err != nil {
		return parcel{}, err
	}
	p.header["User-Agent"] = []string{userAgent}
	if c.dialect.generation == v1 {
		p.header[a2a.SvcParamVersion] = []string{string(a2a.Version)}
	}
	for name, values := range r.header {
		p.header[name] = values
	}
	p.notAfter, p.idempotent = r.notAfter, r.call != outbox.CallSend
	return p, nil
}

// notEncodable says that a call never became a request. One that the binding does not have, such as ListTasks in A2A 0.3,
// is refused, as an agent would that does not know it.
func notEncodable(err error) outbox.Exchange {
	if errors.Is(err, errNoRequest) {
		return outbox.Exchange{Outcome: outbox.Refused, Reason: rpcFaults[-32601].reason, Detail: err.Error() + "; nothing was asked"}
	}
	return outbox.Exchange{Outcome: outbox.NotSent, Reason: ReasonRequestNotEncodable, Detail: private{}.cause(err)}
}

// sendHeader are the headers that only a message has.
func (c *Client) sendHeader(m *a2a.Message) http.Header {
	header := http.Header{}
	if c.dedup && m.ID != "" && headerSafe(m.ID) {
		header.Set("Idempotency-Key", m.ID)
	}
	if uris := strings.Join(m.Extensions, ","); uris != "" && headerSafe(uris) {
		header[c.dialect.extensionsHeader()] = []string{uris}
	}
	return header
}
