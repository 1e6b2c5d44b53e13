// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// minRSA is the smallest modulus of RS256 and PS256 keys in bits (RFC 7518, sections 3.3 and 3.5).
	minRSA = 2048
	// maxRSA bounds what one verification costs.
	maxRSA = 8192
	// maxKeys bounds what one card costs.
	maxKeys = 64
)

// ErrKeys says that a text holds no keys that cards can be verified with.
var ErrKeys = errors.New("no public keys that cards can be verified with")

// What is wrong about keys. They are wrapped together with ErrKeys.
var (
	errPrivate    = errors.New("it holds a private or a symmetric key: give the public key only")
	errNoKeys     = errors.New("it holds no key of RSA with 2048 to 8192 bits, P-256, P-384, P-521 or Ed25519 for signatures")
	errTooMany    = fmt.Errorf("it holds more than %d keys", maxKeys)
	errNoKeyTexts = errors.New("it is neither a JWK set (RFC 7517) nor public keys in PEM (RFC 7468)")
)

// key is a public key that cards are verified with.
type key struct {
	public any
	// id is the key's kid; empty for a key that has none, as in PEM.
	id string
	// algorithms are those that the key is for.
	algorithms []jose.SignatureAlgorithm
	// thumbprint is that of RFC 7638, in SHA-256 and base64url.
	thumbprint string
}

// Keys are those that a card may be signed by.
type Keys []key

// Thumbprints names each of them, by RFC 7638 in SHA-256 and base64url.
func (k Keys) Thumbprints() []string {
	var all []string
	for _, one := range k {
		all = append(all, one.thumbprint)
	}
	return all
}

// ParseKeys reads keys that somebody wrote down: a JWK set (RFC 7517, section 5), a single JWK, or one or more public keys in
// PEM with the label PUBLIC KEY (RFC 7468, section 13). A key of another kind in it is an error, since it would be missing
// without a word. Errors wrap ErrKeys and show nothing of the text.
func ParseKeys(text []byte) (Keys, error) {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("{")) {
		raw, err := setMembers(text)
		if err != nil {
			return nil, err
		}
		keys, err := parseJWKs(raw, true)
		if err == nil && len(keys) == 0 {
			err = fmt.Errorf("%w: %w", ErrKeys, errNoKeys)
		}
		return keys, err
	}
	return parsePEM(text)
}

// ParseSet reads a published JWK set (RFC 7517, section 5). Keys of other kinds and for other purposes are passed over, as
// that section says. A set without one for signatures is no error: its owner has withdrawn them all, and the keys of before
// must not count on. Errors wrap ErrKeys and show nothing of the text.
func ParseSet(text []byte) (Keys, error) {
	raw, err := setMembers(text)
	if err != nil {
		return nil, err
	}
	return parseJWKs(raw, false)
}

// setMembers returns the keys of a set, or the one that stands alone.
func setMembers(text []byte) ([]json.RawMessage, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
		Type string            `json:"kty"`
	}
	switch err := json.Unmarshal(text, &set); {
	case err != nil:
		// The cause may show parts of the text.
		return nil, fmt.Errorf("%w: %w", ErrKeys, errNoKeyTexts)
	case len(set.Keys) > maxKeys:
		return nil, fmt.Errorf("%w: %w", ErrKeys, errTooMany)
	case set.Type != "":
		return []json.RawMessage{text}, nil
	case set.Keys == nil:
		return nil, fmt.Errorf("%w: %w", ErrKeys, errNoKeyTexts)
	}
	return set.Keys, nil
}

func parseJWKs(all []json.RawMessage, strict bool) (Keys, error) {
	var out Keys
	for _, raw := range all {
		k, err := parseJWK(raw)
		switch {
		case err == nil:
			out = append(out, k)
		case strict:
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	return out, nil
}

func parseJWK(raw json.RawMessage) (key, error) {
	var j jose.JSONWebKey
	if err := j.UnmarshalJSON(raw); err != nil {
		return key{}, errNoKeys
	}
	switch {
	case !j.IsPublic():
		return key{}, errPrivate
	case j.Use != "" && j.Use != "sig":
		return key{}, errNoKeys
	}
	k, err := newKey(j.Key)
	if err != nil {
		return key{}, err
	}
	k.id = j.KeyID
	if j.Algorithm != "" {
		// The key's owner has narrowed it (RFC 7517, section 4.4).
		k.algorithms = slices.DeleteFunc(k.algorithms, func(a jose.SignatureAlgorithm) bool { return string(a) != j.Algorithm })
		if len(k.algorithms) == 0 {
			return key{}, errNoKeys
		}
	}
	return k, nil
}

func parsePEM(text []byte) (Keys, error) {
	var out Keys
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return nil, fmt.Errorf("%w: %w", ErrKeys, errPrivate)
		case block.Type != "PUBLIC KEY":
			return nil, fmt.Errorf("%w: %w", ErrKeys, errNoKeyTexts)
		}
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, errNoKeys)
		}
		k, err := newKey(public)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		out, text = append(out, k), rest
	}
	switch {
	case len(out) == 0, bytes.Contains(text, []byte("-----BEGIN")):
		return nil, fmt.Errorf("%w: %w", ErrKeys, errNoKeyTexts)
	case len(out) > maxKeys:
		return nil, fmt.Errorf("%w: %w", ErrKeys, errTooMany)
	}
	return out, nil
}

// newKey binds a public key to the algorithms that it is of, so that a header can't choose another way to read it.
func newKey(public any) (key, error) {
	k := key{public: public}
	switch p := public.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < minRSA || bits > maxRSA {
			return key{}, errNoKeys
		}
		k.algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256}
	case *ecdsa.PublicKey:
		k.algorithms = curveAlgorithm(p.Curve)
	case ed25519.PublicKey:
		k.algorithms = []jose.SignatureAlgorithm{jose.EdDSA}
	}
	if k.algorithms == nil {
		return key{}, errNoKeys
	}
	sum, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return key{}, errNoKeys
	}
	k.thumbprint = base64.RawURLEncoding.EncodeToString(sum)
	return k, nil
}

// curveAlgorithm is the one algorithm of a curve (RFC 7518, section 3.4); none for another curve.
func curveAlgorithm(curve elliptic.Curve) []jose.SignatureAlgorithm {
	switch curve {
	case elliptic.P256():
		return []jose.SignatureAlgorithm{jose.ES256}
	case elliptic.P384():
		return []jose.SignatureAlgorithm{jose.ES384}
	case elliptic.P521():
		return []jose.SignatureAlgorithm{jose.ES512}
	}
	return nil
}
