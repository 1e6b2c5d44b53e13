// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates of tests: authorities, servers and clients.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Pair is a certificate and its private key, which are good for an hour.
type Pair struct {
	// TLS is the pair as servers and clients of this process use it, with its Leaf.
	TLS tls.Certificate
	// Certificate and Key are the same in PEM.
	Certificate, Key string
}

// Authority issues certificates.
type Authority struct{ Pair }

// New returns an authority that vouches for itself.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	return &Authority{sign(t, nil, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, KeyUsage: x509.KeyUsageCertSign})}
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.TLS.Leaf)
	return p
}

// Issue returns a certificate for a host name or an IP address, or for a client of that name. change may add to it.
func (a *Authority) Issue(t testing.TB, name string, change ...func(*x509.Certificate)) Pair {
	t.Helper()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	for _, f := range change {
		f(c)
	}
	return sign(t, a, c)
}

func sign(t testing.TB, by *Authority, c *x509.Certificate) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if c.SerialNumber == nil {
		c.SerialNumber = big.NewInt(time.Now().UnixNano())
	}
	c.NotBefore, c.NotAfter, c.BasicConstraintsValid = time.Now().Add(-time.Hour), time.Now().Add(time.Hour), true
	parent, signer := c, any(key)
	if by != nil {
		parent, signer = by.TLS.Leaf, by.TLS.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := Pair{
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: plain})),
	}
	// It sets the Leaf.
	if p.TLS, err = tls.X509KeyPair([]byte(p.Certificate), []byte(p.Key)); err != nil {
		t.Fatal(err)
	}
	return p
}

// Write keeps the pair as NAME.crt and NAME.key in a directory. Files that are there are replaced, each at once.
func (p Pair) Write(t testing.TB, dir, name string) {
	t.Helper()
	for end, text := range map[string]string{".key": p.Key, ".crt": p.Certificate} {
		file := filepath.Join(dir, name+end)
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
}
