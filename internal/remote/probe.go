// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"sync"

	"github.com/delegation-dev/delegation-operator/internal/egress"
)

// probe notes how far one request came. Its hooks run on goroutines of net/http, some of them after RoundTrip returned.
type probe struct {
	mu sync.Mutex
	// conn is the meter of an HTTP/1.x connection, and base what it showed when the message began.
	conn *meteredConn
	// bare says that the request has no body: its headers are all there is to act on.
	bare bool
	// preface is that of a connection on which the server has to show first that it speaks HTTP/2.
	preface                 *prefaced
	base                    int64
	connected, reused       bool
	dnsErr, dialErr, tlsErr error
	// early says that the client's side of the handshake ends before the server has looked at the client's certificate.
	early     bool
	firstByte bool
}

func (p *probe) trace() *httptrace.ClientTrace {
	note := func(f func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	}
	return &httptrace.ClientTrace{
		DNSDone:     func(i httptrace.DNSDoneInfo) { note(func() { p.dnsErr = i.Err }) },
		ConnectDone: func(_, _ string, err error) { note(func() { p.dialErr = err }) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			note(func() { p.tlsErr, p.early = err, s.Version >= tls.VersionTLS13 })
		},
		GotFirstResponseByte: func() { note(func() { p.firstByte = true }) },
		GotConn: func(i httptrace.GotConnInfo) {
			note(func() {
				p.connected, p.reused, p.conn = true, i.Reused, metered(i.Conn)
				p.preface, _ = i.Conn.(*prefaced)
				if p.bare && p.conn != nil {
					p.base = p.conn.sent.Load()
				}
			})
		},
	}
}

// ready says whether a message may go out on the connection that it got, and waits until that is known.
func (p *probe) ready(ctx context.Context) error {
	p.mu.Lock()
	preface := p.preface
	p.mu.Unlock()
	if preface != nil {
		if err := preface.speaks(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// begin notes where on the connection the message begins. net/http flushes the headers before it reads a body whose type
// it does not know; should it ever keep them back, they count as part of the message, which errs on the safe side.
func (p *probe) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.base = p.conn.sent.Load()
	}
}

// wrote reports whether a byte of the message may have left this process, once RoundTrip has failed. Headers without a
// byte of the body they announce are no message: nothing can act on them.
//
// Two facts rule it out. Either the message was never handed to the transport, and the gate is shut now. Or it was, and
// the HTTP/1.x connection took no byte since: net/http waits for its writing goroutine before it returns an error, so
// that the count is final. TLS counts its own alerts too, which errs on the safe side. A request without a body counts from
// its first byte, on the connection that it got.
func (p *probe) wrote(g *gate) bool {
	handed := g.seal()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bare {
		handed = p.connected
	}
	if !handed {
		return false
	}
	return p.conn == nil || p.conn.sent.Load() != p.base
}

// stale reports whether the request met a connection that had served before and brought no answer to this one.
func (p *probe) stale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reused && !p.firstByte
}

// failure names what ended a request with this error and without a response.
func (p *probe) failure(ctx context.Context, g *gate, err error, written bool) string {
	refusal := g.refusal()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !written && (errors.Is(refusal, errAttemptExpired) || errors.Is(context.Cause(ctx), errAttemptExpired)):
		return ReasonAttemptExpired
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ReasonTimeout
	case ctx.Err() != nil:
		return ReasonCanceled
	case written:
		return ReasonResponseLost
	case errors.Is(err, egress.ErrDenied):
		return ReasonEgressDenied
	case p.preface.foreign(), errors.Is(p.tlsErr, errNoALPN):
		return ReasonHTTP2Unavailable
	case p.connected:
		return ReasonConnectionLost
	case p.tlsErr != nil:
		return ReasonTLSFailed
	case p.dialErr != nil:
		return ReasonConnectionFailed
	case p.dnsErr != nil:
		return ReasonNameNotResolved
	}
	return ReasonConnectionFailed
}
