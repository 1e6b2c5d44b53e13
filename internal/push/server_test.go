// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/testenv/pki"
)

const patience = 30 * time.Second

// certificate writes a certificate of a serial number, and its key, as a kubelet would replace them.
func certificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	pki.New(t, "push").Issue(t, "push.example.com", func(c *x509.Certificate) { c.SerialNumber = big.NewInt(serial) }).Write(t, dir, "tls")
}

// start runs a server until the test ends, and returns its address.
func start(t *testing.T, certDir string) string {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s := &push.Server{Address: address, CertDir: certDir, Log: logr.Discard(), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	})}
	if s.NeedLeaderElection() {
		t.Error("the server waits to be elected")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	within(t, func() bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return address
}

func within(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain", patience)
		}
	}
}

func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, 1)
	address := start(t, dir)
	serial := func() int64 {
		// Who serves it is not the question here, but which one.
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			return 0
		}
		defer func() { _ = conn.Close() }()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	within(t, func() bool { return serial() == 1 })
	certificate(t, dir, 2)
	within(t, func() bool { return serial() == 2 })
}

func TestPlainHTTP(t *testing.T) {
	address := start(t, "")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Who dribbles in headers is cut off.
func TestASlowSenderIsCutOff(t *testing.T) {
	address := start(t, "")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nX-"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	// Whatever the server says at its end, it ends.
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection was still open after %s", patience)
	}
}

func TestServersThatCantStart(t *testing.T) {
	for _, s := range []*push.Server{
		{Address: "127.0.0.1:-1", Log: logr.Discard()},
		{Address: "127.0.0.1:0", CertDir: t.TempDir(), Log: logr.Discard()},
	} {
		if err := s.Start(t.Context()); err == nil {
			t.Errorf("%+v starts", s)
		}
	}
}
