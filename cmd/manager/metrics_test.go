// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"testing"
)

// Metrics without a question about who reads them stay on the machine, and a certificate that is missing is not made up.
func TestMetricsFlags(t *testing.T) {
	for _, c := range []struct {
		name, args, address string
		secure              bool
		want                error
	}{
		{"none", "", "0", false, nil},
		{"none, by hand", "--metrics-bind-address=0 --metrics-secure=false", "0", false, nil},
		{"all addresses", "--metrics-bind-address=:8443", ":8443", true, nil},
		{"loopback", "--metrics-bind-address=127.0.0.1:8443", "127.0.0.1:8443", true, nil},
		{"plain on loopback", "--metrics-bind-address=127.0.0.1:8080 --metrics-secure=false", "127.0.0.1:8080", false, nil},
		{"plain on loopback of IPv6", "--metrics-bind-address=[::1]:8080 --metrics-secure=false", "[::1]:8080", false, nil},
		{"plain on all addresses", "--metrics-bind-address=:8080 --metrics-secure=false", "", false, errPlainMetrics},
		{"plain on another address", "--metrics-bind-address=10.0.0.1:8080 --metrics-secure=false", "", false, errPlainMetrics},
		{"plain on a name", "--metrics-bind-address=localhost:8080 --metrics-secure=false", "", false, errPlainMetrics},
		{"plain on what is no address", "--metrics-bind-address=8080 --metrics-secure=false", "", false, errPlainMetrics},
		{"a directory without a certificate", "--metrics-bind-address=:8443 --metrics-cert-dir=" + t.TempDir(), "", false, fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parse(t, c.args).metrics.server()
			if !errors.Is(err, c.want) || got.BindAddress != c.address || got.SecureServing != c.secure || (got.FilterProvider != nil) != c.secure {
				t.Errorf("%+v, error %v; want address %q, secure %t, error %v", got, err, c.address, c.secure, c.want)
			}
		})
	}
}
