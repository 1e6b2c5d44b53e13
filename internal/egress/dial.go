// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

const (
	// dialTimeout bounds one connection, over all the addresses of its host.
	dialTimeout = 10 * time.Second
	keepAlive   = 15 * time.Second
)

// DialContext connects to host:port as net.Dialer.DialContext does, by TCP, if the policy allows it. It fits
// http.Transport.DialContext; a transport that uses it must have no Proxy, since the proxy would be what is checked. The
// error wraps ErrDenied if the host, or the address that failed first, is denied; then it shows no address.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	p = p.orNone()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := p.checkHost(host); err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout: dialTimeout, KeepAlive: keepAlive, Resolver: p.resolver,
		// It is called for each address that is tried, with the socket made and not connected yet. The address is the one
		// that connect(2) gets, so that nothing can come between.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return p.checkSocket(host, address)
		},
	}
	conn, err := dialer.DialContext(ctx, network, address)
	var denied *DeniedError
	if errors.As(err, &denied) {
		// What net puts around it names the address.
		return nil, denied
	}
	return conn, err
}

// checkSocket decides on the address of a socket.
func (p *Policy) checkSocket(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		// Without an address the kernel takes its own machine's; a socket of another family has a path here.
		return &DeniedError{Host: host, Why: "leads to no IP address", Remedy: "name a host and a port"}
	}
	return p.checkAddr(host, to.Addr())
}
