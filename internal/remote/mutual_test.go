// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/testenv/pki"
)

// lingering reads on from what it has closed, so that its last word arrives: a reset could overtake it.
type lingering struct{ net.Listener }

type lingeringConn struct{ *net.TCPConn }

// Accept implements net.Listener.
func (l lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return lingeringConn{conn.(*net.TCPConn)}, nil
}

// Close implements net.Conn.
func (c lingeringConn) Close() error {
	err := c.CloseWrite()
	go func() {
		_, _ = io.Copy(io.Discard, c.TCPConn)
		_ = c.TCPConn.Close()
	}()
	return err
}

// mutual is an agent that wants a certificate of the authority from its callers.
func mutual(t *testing.T, authority *pki.Authority, version uint16, http2 bool) *agent {
	t.Helper()
	a := newAgent(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.receive(r)
		if err != nil {
			return
		}
		reply(w, c, submitted)
	}))
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "finance.example.com").TLS}, ClientCAs: authority.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: version, MaxVersion: version,
	}
	s.Listener = lingering{s.Listener}
	s.StartTLS()
	t.Cleanup(s.Close)
	a.url = s.URL
	return a
}

// A server that does not take the operator's certificate has not read the message, whenever it says so.
func TestMutualTLS(t *testing.T) {
	authority, stranger := pki.New(t, "agents"), pki.New(t, "others")
	client := func(by *pki.Authority) []tls.Certificate { return []tls.Certificate{by.Issue(t, "operator").TLS} }
	cases := []struct {
		name    string
		client  []tls.Certificate
		trusted *pki.Authority
		server  string
		outcome outbox.Outcome
		reason  string
	}{
		{"both trust each other", client(authority), authority, "finance.example.com", outbox.Accepted, ""},
		{"no certificate", nil, authority, "finance.example.com", outbox.NotSent, remote.ReasonTLSFailed},
		{"a certificate of others", client(stranger), authority, "finance.example.com", outbox.NotSent, remote.ReasonTLSFailed},
		{"an agent of others", client(authority), stranger, "finance.example.com", outbox.NotSent, remote.ReasonTLSFailed},
		{"an agent of another name", client(authority), authority, "other.example.com", outbox.NotSent, remote.ReasonTLSFailed},
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			for _, c := range cases {
				t.Run(c.name+", "+tls.VersionName(version)+map[bool]string{true: ", HTTP/2"}[http2], func(t *testing.T) {
					a := mutual(t, authority, version, http2)
					conf := &tls.Config{RootCAs: c.trusted.Pool(), Certificates: c.client, ServerName: c.server, MinVersion: tls.VersionTLS12}
					ex := connect(t, a, func(c *remote.Config) { c.TLS = conf }).Send(t.Context(), token(t), message())
					// A connection that ended before the message began is lost, whatever the server had against it.
					early := ex.Outcome == outbox.NotSent && ex.Reason == remote.ReasonConnectionLost && version == tls.VersionTLS13
					if ex.Outcome != c.outcome || ex.Reason != c.reason && !early {
						t.Errorf("%+v; want %s, %s", ex, c.outcome, c.reason)
					}
				})
			}
		}
	}
}

// A client that is closed while a call is out keeps no connection for a certificate that was replaced.
func TestClosedConnections(t *testing.T) {
	authority := pki.New(t, "agents")
	closed := make(chan struct{})
	a := newAgent(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.receive(r)
		if err != nil {
			return
		}
		a.reach()
		<-closed
		reply(w, c, submitted)
	}))
	gone := make(chan struct{})
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(gone)
		}
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "finance.example.com").TLS}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	a.url = s.URL
	conf := &tls.Config{RootCAs: authority.Pool(), ServerName: "finance.example.com", MinVersion: tls.VersionTLS12}
	client := connect(t, a, func(c *remote.Config) { c.TLS = conf })
	go func() {
		<-a.reached
		client.Close()
		close(closed)
	}()
	begun := time.Now()
	if ex := client.Send(t.Context(), token(t), message()); ex.Outcome != outbox.Accepted {
		t.Fatalf("%+v; want the answer of the call that was out", ex)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatalf("the connection is still open after %s", time.Since(begun))
	}
}
