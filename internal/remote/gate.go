// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"io"
	"sync"
)

var errGateShut = errors.New("the exchange is over")

// gate is the body of one request. It knows whether a byte of the message was handed to the transport, and once shut it
// hands out none. That makes "nothing was written" a fact and not an observation: goroutines of net/http may outlive
// RoundTrip, but none of them can get at the message any more.
type gate struct {
	mu   sync.Mutex
	rest []byte
	// allow is asked before bytes are handed out, and begin is told before the first are.
	allow   func() error
	begin   func()
	handed  bool
	refused error
	shut    bool
}

// Read implements io.Reader. It asks allow each time, so that the deadline is checked as late as user space can.
func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.refused != nil:
		return 0, g.refused
	case g.shut:
		return 0, errGateShut
	case len(g.rest) == 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	if g.refused = g.allow(); g.refused != nil {
		return 0, g.refused
	}
	if !g.handed {
		g.begin()
	}
	n := copy(p, g.rest)
	g.rest, g.handed = g.rest[n:], true
	return n, nil
}

// Close implements io.Closer.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	return nil
}

// seal shuts the gate and reports whether a byte of the message was handed out before.
func (g *gate) seal() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	return g.handed
}

// refusal is what allow said when it said no.
func (g *gate) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}
