// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// idleTimeout is below the 5 s after which some servers close an idle connection: a message that is written just as
	// the agent closes has no known outcome.
	idleTimeout  = 3 * time.Second
	keepAlive    = 15 * time.Second
	maxIdleConns = 256
	maxHead      = 256 << 10
)

// transport makes the requests to the agent. It follows no redirects, uses no proxy from the environment, and leaves
// compression to client and agent.
func transport(o *options) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.upstreamCA != "" {
		pool, err := certificates(o.upstreamCA)
		if err != nil {
			return nil, fmt.Errorf("--upstream-ca: %w", err)
		}
		conf.RootCAs = pool
	}
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: o.connectTimeout, KeepAlive: keepAlive}).DialContext,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    o.connectTimeout,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHead,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: keepAlive},
	}, nil
}

// serverTLS is nil where the proxy serves plain HTTP.
func serverTLS(o *options) (*tls.Config, error) {
	if o.tlsCert == "" {
		return nil, nil
	}
	own := &certificate{cert: o.tlsCert, key: o.tlsKey}
	if _, err := own.get(nil); err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: own.get, NextProtos: []string{"h2", "http/1.1"}}
	if o.principal.clientCA != "" {
		pool, err := certificates(o.principal.clientCA)
		if err != nil {
			return nil, fmt.Errorf("--client-ca: %w", err)
		}
		conf.ClientCAs, conf.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return conf, nil
}

func certificates(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("the file holds no PEM certificate")
	}
	return pool, nil
}

// certificate is a certificate in files that are replaced when it is renewed.
type certificate struct {
	cert, key string

	mu     sync.Mutex
	loaded *tls.Certificate
	mtime  time.Time
}

// get reads the files if they have changed. A half replaced pair leaves the one that is known.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.loaded != nil && info.ModTime().Equal(c.mtime) {
		return c.loaded, nil
	}
	pair, pairErr := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil && pairErr == nil:
		c.loaded, c.mtime = &pair, info.ModTime()
	case c.loaded == nil:
		return nil, errors.Join(err, pairErr)
	}
	return c.loaded, nil
}
