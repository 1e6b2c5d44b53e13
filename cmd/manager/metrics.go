// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions say who may read the metrics, and where; the zero value serves none.
type metricsOptions struct {
	address string
	secure  bool
	certDir string
}

func (o *metricsOptions) bind(f *flag.FlagSet) {
	f.StringVar(&o.address, "metrics-bind-address", "0", "Address of the metrics endpoint, such as :8443; 0 for none.")
	f.BoolVar(&o.secure, "metrics-secure", true, "Serve metrics over HTTPS, to those whom the API server knows by their token and allows to get /metrics. "+
		"false, for plain HTTP to whoever asks, is taken for a loopback address only.")
	f.StringVar(&o.certDir, "metrics-cert-dir", "", "Directory with tls.crt and tls.key for --metrics-bind-address, read again when they change; a certificate that nobody signed when empty.")
}

// errPlainMetrics says that metrics would be served to everybody who reaches the address.
var errPlainMetrics = errors.New("--metrics-secure=false is for a loopback address only: set --metrics-bind-address to one, such as 127.0.0.1:8080, or leave --metrics-secure out")

// server returns what serves the metrics. The error wraps errPlainMetrics, or tells what is wrong with the certificate.
func (o *metricsOptions) server() (server.Options, error) {
	if o.address == "" || o.address == "0" {
		return server.Options{BindAddress: "0"}, nil
	}
	if !o.secure {
		if !loopback(o.address) {
			return server.Options{}, fmt.Errorf("%w; it is %s", errPlainMetrics, o.address)
		}
		return server.Options{BindAddress: o.address}, nil
	}
	if o.certDir != "" {
		// The library would make a certificate of its own where there is none.
		if _, err := tls.LoadX509KeyPair(filepath.Join(o.certDir, "tls.crt"), filepath.Join(o.certDir, "tls.key")); err != nil {
			return server.Options{}, fmt.Errorf("--metrics-cert-dir: %w", err)
		}
	}
	return server.Options{
		BindAddress: o.address, SecureServing: true, CertDir: o.certDir,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
	}, nil
}

// loopback reports whether only the own machine reaches an address. A name counts for none: what it stands for may change.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host).IsLoopback()
}
