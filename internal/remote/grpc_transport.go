// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
)

var (
	errNoHTTP2 = errors.New("the server does not speak HTTP/2, which gRPC needs")
	errNoALPN  = errors.New("the server did not agree to HTTP/2 in the TLS handshake (ALPN h2), which gRPC needs")
)

// newGRPCTransport returns a transport that speaks nothing but HTTP/2: without TLS for http URLs, by prior knowledge, and
// with TLS for https.
func newGRPCTransport(dial DialFunc, conf *tls.Config, conns int) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: pingAfter}).DialContext
	}
	t := newTransport(dial, conf, conns)
	// A message is compressed by gRPC's own rules, and none is asked for.
	t.DisableCompression = true
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newPrefaced(conn), nil
	}
	// The handshake is made here, and what comes out of it is no *tls.Conn, so that net/http speaks HTTP/2 over it at once.
	// Else it would fall back to HTTP/1.1 with a server that does not negotiate.
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure, err := handshake(ctx, conn, conf, address)
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.TLSHandshakeDone != nil {
			trace.TLSHandshakeDone(tls.ConnectionState{}, err)
		}
		if err != nil {
			// The handshake's error is the one to tell.
			_ = conn.Close()
			return nil, err
		}
		return newPrefaced(secure), nil
	}
	return t
}

func handshake(ctx context.Context, conn net.Conn, conf *tls.Config, address string) (*tls.Conn, error) {
	if conf = conf.Clone(); conf == nil {
		conf = &tls.Config{}
	}
	conf.NextProtos = []string{"h2"}
	if conf.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		conf.ServerName = host
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, errNoALPN
	}
	return secure, nil
}

const (
	frameHeader   = 9
	frameSettings = 4
)

// prefaced is a connection that knows whether the server has shown that it speaks HTTP/2, by the SETTINGS frame with which
// it has to begin (RFC 9113, section 3.4). No message is handed out before: one that is written to something else proves
// nothing about where it went, and the load balancer that accepts a connection for a server that is down never sends one.
type prefaced struct {
	net.Conn
	// head is the beginning of what the server sent. Only the reader touches it.
	head []byte
	once sync.Once
	// done is closed once it is known, and err says why it does not speak HTTP/2.
	done chan struct{}
	err  error
}

func newPrefaced(conn net.Conn) *prefaced { return &prefaced{Conn: conn, done: make(chan struct{})} }

func (c *prefaced) conclude(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

// Read implements net.Conn.
func (c *prefaced) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if len(c.head) < frameHeader {
		c.head = append(c.head, b[:min(n, frameHeader-len(c.head))]...)
		switch {
		case len(c.head) == frameHeader && c.head[3] == frameSettings:
			c.conclude(nil)
		case len(c.head) == frameHeader:
			c.conclude(errNoHTTP2)
		}
	}
	if err != nil {
		c.conclude(err)
	}
	return n, err
}

// Close implements net.Conn.
func (c *prefaced) Close() error {
	c.conclude(net.ErrClosed)
	return c.Conn.Close()
}

// foreign reports whether the server has begun with something else. It is false for a connection of another transport.
func (c *prefaced) foreign() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return errors.Is(c.err, errNoHTTP2)
	default:
		return false
	}
}

// speaks waits until the server has begun.
func (c *prefaced) speaks(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
