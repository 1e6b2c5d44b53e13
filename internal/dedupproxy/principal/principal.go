// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package principal tells the callers of an HTTP server apart by something that was verified. Each kind gives names of
// its own form, so that a caller of one kind is never taken for one of another.
package principal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
)

// What is missing where there is no principal.
var (
	ErrCredential  = errors.New("the request carries no credential")
	ErrToken       = errors.New("the bearer token is not valid")
	ErrCertificate = errors.New("the request came without a verified client certificate that names its holder")
	ErrUntrusted   = errors.New("the request came from no trusted proxy")
	ErrHeader      = errors.New("the trusted proxy names no caller, or more than one")
	// ErrKey says that a key for credentials is too short to keep them secret.
	ErrKey = errors.New("a key must have at least 32 bytes, such as of head -c 32 /dev/urandom")
)

// Anonymous takes everybody for one caller: whoever knows a messageId of another gets its task.
type Anonymous struct{}

// Of returns "anonymous".
func (Anonymous) Of(*http.Request) (string, error) { return "anonymous", nil }

// Certificate takes the verified client certificate: its first URI, such as a SPIFFE id, else its subject.
type Certificate struct{}

// Of returns ErrCertificate where the connection has no certificate that was verified, or one without a name.
func (Certificate) Of(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return "", ErrCertificate
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if len(leaf.URIs) > 0 {
		return "mtls:uri:" + leaf.URIs[0].String(), nil
	}
	if subject := leaf.Subject.String(); subject != "" {
		return "mtls:subject:" + subject, nil
	}
	return "", ErrCertificate
}

// Header takes the word of a proxy in front, which authenticates callers and names them in a header.
type Header struct {
	// Name is the header's.
	Name string
	// Trusted are the addresses of such proxies. Nobody else is believed.
	Trusted []netip.Prefix
}

// Of returns ErrUntrusted and ErrHeader.
func (h Header) Of(r *http.Request) (string, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	for _, prefix := range h.Trusted {
		if !prefix.Contains(peer.Addr().Unmap()) {
			continue
		}
		values := r.Header.Values(h.Name)
		if len(values) != 1 || values[0] == "" {
			return "", ErrHeader
		}
		return "header:" + values[0], nil
	}
	return "", fmt.Errorf("%w: %s", ErrUntrusted, peer.Addr())
}

// Credential takes the Authorization header, which the agent behind verifies, as a caller's mark. Only a keyed hash of
// it is used as the name, so that the table holds no credentials. Another credential of the same caller is another
// principal: repeat a message with the credential it was sent with.
type Credential struct{ key []byte }

// NewCredential returns ErrKey for a key of less than 32 bytes.
func NewCredential(key []byte) (*Credential, error) {
	if len(key) < sha256.Size {
		return nil, ErrKey
	}
	return &Credential{key: key}, nil
}

// Of returns ErrCredential where there is none, or more than one.
func (c *Credential) Of(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 || values[0] == "" {
		return "", ErrCredential
	}
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(values[0]))
	return "credential:" + hex.EncodeToString(mac.Sum(nil)), nil
}

// pair joins two names so that no other two give the same.
func pair(a, b string) string { return url.QueryEscape(a) + "|" + url.QueryEscape(b) }
