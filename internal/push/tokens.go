// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// KeyBytes is how long a key is at least, in bytes: as long as the digest (RFC 2104, section 3).
const KeyBytes = sha256.Size

// ErrKey says that a key is shorter than KeyBytes.
var ErrKey = errors.New("the push key is too short")

// purpose keeps the tokens apart from whatever else may be derived from the key.
const purpose = "a2a.delegation.dev/push/v1:"

// Tokens derives the token of each Delegation from one key.
type Tokens struct{ key []byte }

// NewTokens returns the tokens of a key. The error wraps ErrKey.
func NewTokens(key []byte) (*Tokens, error) {
	if len(key) < KeyBytes {
		return nil, fmt.Errorf("%w: %d bytes, and at least %d are needed", ErrKey, len(key), KeyBytes)
	}
	return &Tokens{key: append([]byte(nil), key...)}, nil
}

// Of returns the token of a Delegation: HMAC-SHA256 (RFC 2104) of its UID, in characters that may stand in a header.
func (t *Tokens) Of(delegation types.UID) string {
	mac := hmac.New(sha256.New, t.key)
	// A hash takes all that it is given.
	_, _ = mac.Write([]byte(purpose + string(delegation)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Valid reports whether a token is the Delegation's, in a time that does not depend on how much of it is right. Whether
// there is such a Delegation has no part in it.
func (t *Tokens) Valid(delegation types.UID, token string) bool {
	return hmac.Equal([]byte(t.Of(delegation)), []byte(token))
}
