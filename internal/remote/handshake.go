// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"net"
	"slices"
)

// refusals are the alerts by which a server refuses a client's certificate (RFC 8446, section 6.2; RFC 5246, section 7.2.2),
// as crypto/tls has them. Their type is not exported.
var refusals = []string{
	"tls: handshake failure", "tls: bad certificate", "tls: unsupported certificate", "tls: revoked certificate",
	"tls: expired certificate", "tls: unknown certificate", "tls: unknown certificate authority", "tls: access denied",
	"tls: error decrypting message", "tls: certificate required",
}

// refusesHandshake reports whether the server refused the handshake of a connection that served nothing before. In TLS 1.3
// a client may write as soon as it has sent its certificate, and hears only then that the server does not take it. The
// server can't have read the message: it reads what comes after the handshake once that is complete. In TLS 1.2 that is true of both sides, and a later refusal is
// of something else.
func (p *probe) refusesHandshake(err error) bool {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" || !slices.Contains(refusals, remote.Err.Error()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.early || p.reused || p.firstByte {
		return false
	}
	p.tlsErr, p.connected = err, false
	return true
}
