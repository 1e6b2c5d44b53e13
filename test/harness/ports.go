// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports are below those that kernels give out by themselves, so that one which is free now is free in a while.
const (
	firstPort = 20000
	lastPort  = 29999
)

// FreeAddress returns an address on loopback at which nothing listens, for an agent that is started later.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort+1)))
		l, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatal("no free port found")
	return ""
}
