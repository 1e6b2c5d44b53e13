// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cardsign

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// maxSignatures bounds what one card costs. Several are there while a key is replaced.
const maxSignatures = 8

// algorithms are those that a card may be signed by. None of them is symmetric: who can verify must not be able to sign.
// RFC 7515's none is not among them.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.PS256, jose.EdDSA}

var (
	// ErrMalformed says that the document has no canonical form, such as one with a member that occurs twice.
	ErrMalformed = errors.New("the agent card has no canonical form")
	// ErrUnsigned says that the card has no signature.
	ErrUnsigned = errors.New("the agent card is not signed")
	// ErrKeyUnknown says that the card is signed, and by none of the keys.
	ErrKeyUnknown = errors.New("the agent card is signed by a key that is not known")
	// ErrInvalid says that no signature of the card is good, and at least one of them should be.
	ErrInvalid = errors.New("no signature of the agent card is valid")
)

// What is wrong about single signatures.
var (
	errNoJWS     = errors.New("it is no JWS with a protected header and a signature")
	errAlgorithm = errors.New("its algorithm is none of ES256, ES384, ES512, RS256, PS256 and EdDSA")
	errCritical  = errors.New("its header has crit, and no extension is understood")
	errMismatch  = errors.New("it is not of this card")
	errManyOf    = fmt.Errorf("there are more than %d", maxSignatures)
)

// Verified is a card that a trusted key vouches for.
type Verified struct {
	// Payload is the card as it was signed: JSON, canonical. Whatever else the document had is not part of it.
	Payload []byte
	// Algorithm, KeyID and Thumbprint (RFC 7638, SHA-256, base64url) tell which key signed. KeyID is the kid of the key that
	// verified, empty where it has none.
	Algorithm, KeyID, Thumbprint string
}

// UnknownKeyError names the keys that a card was signed by where none of them is known. It is an ErrKeyUnknown.
type UnknownKeyError struct {
	// IDs are the kid of the signatures, as they came.
	IDs []string
}

// Error implements error. It does not show the ids, which come from outside.
func (e *UnknownKeyError) Error() string { return ErrKeyUnknown.Error() }

// Is makes it an ErrKeyUnknown.
func (e *UnknownKeyError) Is(target error) bool { return target == ErrKeyUnknown }

// Verify checks a card against keys. One good signature is enough, as section 8.4.3 of A2A 1.0 has it: there may be several
// while a key is replaced. What comes of it is the card as it was signed, and nothing else of the document may be used.
//
// It returns ErrMalformed, ErrUnsigned, ErrKeyUnknown as an *UnknownKeyError, or ErrInvalid.
func Verify(document []byte, keys Keys) (Verified, error) {
	c, err := read(document)
	if err != nil {
		return Verified{}, err
	}
	list, err := c.signatures()
	if err != nil {
		return Verified{}, err
	}
	payloads, err := c.payloads()
	if err != nil {
		return Verified{}, err
	}
	var unknown []string
	var wrong []error
	for i, s := range list {
		candidates, err := s.candidates(keys)
		if err == nil && len(candidates) == 0 {
			unknown = append(unknown, s.keyID())
			continue
		}
		if v, ok := s.verify(payloads, candidates); ok {
			return v, nil
		}
		if err == nil {
			err = errMismatch
		}
		wrong = append(wrong, fmt.Errorf("signature %d: %w", i, err))
	}
	// A signature by a key that nobody here knows may be good, and one that is wrong is not made good by it.
	if wrong == nil {
		return Verified{}, &UnknownKeyError{IDs: unknown}
	}
	return Verified{}, fmt.Errorf("%w: %w", ErrInvalid, errors.Join(wrong...))
}

// signature is one entry of a card's signatures.
type signature struct {
	jws *jose.JSONWebSignature
	err error
}

// signatures reads those of a card. One that can't be read takes nothing from the others.
func (c card) signatures() ([]signature, error) {
	raw, there := c.members[signaturesMember]
	list, isList := raw.([]any)
	switch {
	case !there, raw == nil, isList && len(list) == 0:
		return nil, ErrUnsigned
	case !isList:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, errNoJWS)
	case len(list) > maxSignatures:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, errManyOf)
	}
	out := make([]signature, len(list))
	for i, one := range list {
		out[i] = parse(one)
	}
	return out, nil
}

// parse reads an AgentCardSignature (A2A 1.0, section 4.4.7). The unprotected header is left out: nothing vouches for it.
func parse(entry any) signature {
	members, _ := entry.(map[string]any)
	protected, _ := members["protected"].(string)
	value, _ := members["signature"].(string)
	if protected == "" || value == "" {
		return signature{err: errNoJWS}
	}
	if err := checkHeader(protected); err != nil {
		return signature{err: err}
	}
	// The payload is the card, and is given when the signature is verified. The one that is given here is not used.
	jws, err := jose.ParseDetached(protected+".."+value, []byte("{}"), algorithms)
	var refused *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &refused):
		return signature{err: errAlgorithm}
	case err != nil:
		return signature{err: errNoJWS}
	}
	return signature{jws: jws}
}

// checkHeader refuses a header that readers don't agree on (RFC 7515, section 4: names must be unique), and one that asks
// for an extension to be understood (section 4.1.11), since none is. b64 (RFC 7797) is one that the library would follow
// without being asked to.
func checkHeader(protected string) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(protected)
	if err != nil {
		return errNoJWS
	}
	header, err := read(text)
	if err != nil {
		return errNoJWS
	}
	_, crit := header.members["crit"]
	_, b64 := header.members["b64"]
	if crit || b64 {
		return errCritical
	}
	return nil
}

func (s signature) keyID() string { return s.jws.Signatures[0].Protected.KeyID }

// candidates are the keys that the signature may be of: those with its kid, and those that have none, as in PEM. A signature
// without a kid may be of any.
func (s signature) candidates(keys Keys) (Keys, error) {
	if s.err != nil {
		return nil, s.err
	}
	id, algorithm := s.keyID(), jose.SignatureAlgorithm(s.jws.Signatures[0].Protected.Algorithm)
	var out Keys
	for _, k := range keys {
		if (id == "" || k.id == "" || k.id == id) && slices.Contains(k.algorithms, algorithm) {
			out = append(out, k)
		}
	}
	if len(out) == 0 && slices.ContainsFunc(keys, func(k key) bool { return id != "" && k.id == id }) {
		// The key is there and is of another algorithm.
		return nil, errMismatch
	}
	return out, nil
}

// verify finds what the signature is of.
func (s signature) verify(payloads [][]byte, candidates Keys) (Verified, bool) {
	for _, k := range candidates {
		for _, payload := range payloads {
			if s.jws.DetachedVerify(payload, k.public) == nil {
				return Verified{
					Payload: payload, Algorithm: s.jws.Signatures[0].Protected.Algorithm, KeyID: k.id, Thumbprint: k.thumbprint,
				}, true
			}
		}
	}
	return Verified{}, false
}
