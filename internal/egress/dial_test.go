// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/testenv/nameserver"
)

// listener takes connections on loopback.
type listener struct {
	net.Listener
	port string
}

func listen(t *testing.T, host string) listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return listener{l, port}
}

// untouched requires that nobody connected before this call: connections are accepted in the order in which they were made.
func (l listener) untouched(t *testing.T) {
	t.Helper()
	mine, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mine.Close() }()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if first.RemoteAddr().String() != mine.LocalAddr().String() {
		t.Error("a connection was made")
	}
}

// dial connects to a host and says to which address; empty if it was denied.
func dial(t *testing.T, p *egress.Policy, host, port string) string {
	t.Helper()
	conn, err := p.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, egress.ErrDenied):
		if strings.Contains(err.Error(), "127.0.0.2") || strings.Contains(err.Error(), "dial tcp") {
			t.Errorf("the error shows the address: %v", err)
		}
		return ""
	case err != nil:
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	reached, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	return reached
}

// A name that has an allowed address when it is looked at, and a denied one when it is connected to, gets no connection. In
// the end it does, which shows that the name server was asked each time.
func TestRebinding(t *testing.T) {
	const name = "rebinding.example.com"
	allowed, denied := listen(t, "127.0.0.1"), listen(t, "127.0.0.2")
	names := nameserver.Start(t, nameserver.Names{name + ".": {{"127.0.0.1"}, {"127.0.0.1"}, {"127.0.0.2"}, {"169.254.169.254"}, {"127.0.0.1"}}})
	p := policy(t, egress.Config{Allow: lists("127.0.0.1"), Resolver: names.Resolver()})
	if err := p.Check(t.Context(), name); err != nil {
		t.Error(err)
	}
	for n, want := range []string{"127.0.0.1", "", "", "127.0.0.1"} {
		port := allowed.port
		if want == "" {
			port = denied.port
		}
		if got := dial(t, p, name, port); got != want {
			t.Errorf("connection %d reached %q, want %q", n, got, want)
		}
	}
	denied.untouched(t)
	if n := names.Lookups(name + "."); n != 5 {
		t.Errorf("the name was looked up %d times", n)
	}
}

// Each address that is tried is decided on: a name with a denied one and an allowed one leads to the allowed one.
func TestEveryAddressIsDecidedOn(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{
		"first.example.com.": {{"127.0.0.2", "127.0.0.1"}}, "last.example.com.": {{"127.0.0.1", "127.0.0.2"}}, "none.example.com.": {{"127.0.0.2", "127.0.0.3"}},
		"six.example.com.": {{"::1", "127.0.0.1"}}, "mapped.example.com.": {{"::ffff:127.0.0.2"}},
	})
	p := policy(t, egress.Config{Allow: lists("127.0.0.1"), Resolver: names.Resolver()})
	allowed, denied := listen(t, "127.0.0.1"), listen(t, "127.0.0.2")
	for host, want := range map[string]string{"first": "127.0.0.1", "last": "127.0.0.1", "six": "127.0.0.1", "none": "", "mapped": ""} {
		port := allowed.port
		if want == "" {
			port = denied.port
		}
		if got := dial(t, p, host+".example.com", port); got != want {
			t.Errorf("%s reached %q, want %q", host, got, want)
		}
	}
	denied.untouched(t)
}

// A name that resolvers take for a number is denied before one is asked.
func TestNumbersAreNotResolved(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"0xa9fea9fe.": {{"127.0.0.1"}}, "denied.example.com.": {{"127.0.0.1"}}})
	l := listen(t, "127.0.0.1")
	p := policy(t, egress.Config{Allow: lists("127.0.0.1"), Deny: lists("denied.example.com"), Resolver: names.Resolver()})
	for _, host := range []string{"0xa9fea9fe", "denied.example.com", "denied.example.com."} {
		if got := dial(t, p, host, l.port); got != "" {
			t.Errorf("%s reached %q", host, got)
		}
		if n := names.Lookups(strings.TrimSuffix(host, ".") + "."); n != 0 {
			t.Errorf("%s was looked up", host)
		}
	}
	l.untouched(t)
}

// No spelling of an address, and nothing that is no TCP address, gets around the decision.
func TestOtherWaysToLoopback(t *testing.T) {
	l := listen(t, "127.0.0.1")
	for _, c := range []struct{ network, host string }{
		{"tcp", "127.0.0.1"}, {"tcp", "127.1"}, {"tcp", "2130706433"}, {"tcp", "0x7f.1"}, {"tcp", "::ffff:127.0.0.1"}, {"tcp6", "::ffff:7f00:1"}, {"tcp", "0.0.0.0"},
		{"tcp", "::"}, {"tcp", ""}, {"tcp", "localhost"}, {"tcp4", "localhost"}, {"udp", "127.0.0.1"}, {"tcp", "::1"}, {"tcp", "::127.0.0.1"},
	} {
		var p *egress.Policy
		conn, err := p.DialContext(t.Context(), c.network, net.JoinHostPort(c.host, l.port))
		if !errors.Is(err, egress.ErrDenied) || conn != nil {
			t.Errorf("%s %q: %v", c.network, c.host, err)
		}
	}
	l.untouched(t)
}

// An error that is no denial is the network's own.
func TestOtherErrors(t *testing.T) {
	names := nameserver.Start(t, nil)
	p := policy(t, egress.Config{Allow: lists("127.0.0.0/8"), Resolver: names.Resolver()})
	l := listen(t, "127.0.0.1")
	_ = l.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var unknown *net.DNSError
	if _, err := p.DialContext(t.Context(), "tcp", "unknown.example.com:80"); errors.Is(err, egress.ErrDenied) || !errors.As(err, &unknown) || !unknown.IsNotFound {
		t.Errorf("a name that does not exist: %v", err)
	}
	var refused *net.OpError
	if _, err := p.DialContext(t.Context(), "tcp", "127.0.0.1:"+l.port); errors.Is(err, egress.ErrDenied) || !errors.As(err, &refused) {
		t.Errorf("a port where nothing listens: %v", err)
	}
	if _, err := p.DialContext(canceled, "tcp", "127.0.0.1:"+l.port); errors.Is(err, egress.ErrDenied) || err == nil {
		t.Errorf("canceled: %v", err)
	}
	var malformed *net.AddrError
	if _, err := p.DialContext(t.Context(), "tcp", "127.0.0.1"); !errors.As(err, &malformed) {
		t.Errorf("no port: %v", err)
	}
}
