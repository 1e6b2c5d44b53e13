// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// idleTimeout is below the 5 s after which Node.js and uvicorn close an idle connection: a message that is written
	// just as the server closes has no known outcome, and without deduplication that costs a person's attention.
	idleTimeout      = 3 * time.Second
	pingAfter        = 15 * time.Second
	pingTimeout      = 10 * time.Second
	maxResponseHead  = 256 << 10
	defaultConns     = 32
	defaultBodyBytes = 16 << 20
)

// DialFunc makes a network connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport of bounded connections without any timeout for a whole exchange; the context bounds
// that. It has no Proxy: what is dialed is the agent's own host. Compression is left to net/http: what is read is counted after decompression.
func newTransport(dial DialFunc, conf *tls.Config, conns int) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: pingAfter}).DialContext
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &meteredConn{Conn: conn}, nil
		},
		// A copy, since net/http adds the protocols that it speaks to it.
		TLSClientConfig:        conf.Clone(),
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxConnsPerHost:        conns,
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// meteredConn counts the bytes that the kernel took.
type meteredConn struct {
	net.Conn
	sent atomic.Int64
}

// Write implements net.Conn.
func (c *meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// metered returns the meter of an HTTP/1.x connection. One of HTTP/2 has none that counts for a single request, since
// its requests share the connection.
func metered(conn net.Conn) *meteredConn {
	if t, ok := conn.(*tls.Conn); ok {
		if t.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		conn = t.NetConn()
	}
	m, _ := conn.(*meteredConn)
	return m
}
