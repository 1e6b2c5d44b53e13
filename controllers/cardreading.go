// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/jwks"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// The reasons of a RemoteAgent whose card is not used because of its signature.
const (
	reasonCardUnsigned         = "CardUnsigned"
	reasonCardSignatureInvalid = "CardSignatureInvalid"
	reasonCardKeyUnknown       = "CardKeyUnknown"
	reasonCardKeysUnavailable  = "CardKeysUnavailable"
)

// errKeyWithdrawn says that a card could not be read, and that the one that was read before was signed by a key that is not
// trusted any more.
var errKeyWithdrawn = errors.New("the key that the last card was signed by is not among the keys any more")

// readCard reads an agent's card, and verifies it where the RemoteAgent says by which keys. The signature is nil where it
// does not.
func (r *RemoteAgentReconciler) readCard(ctx context.Context, ra *v1alpha1.RemoteAgent, creds credential.Credentials) (*a2a.AgentCard, *v1alpha1.CardSignature, error) {
	n := r.Agents.network(creds.TLS)
	if ra.Spec.Verification == nil {
		card, err := remote.FetchCard(ctx, n, ra.Spec.CardURL)
		return card, nil, err
	}
	keys, err := r.publicKeys(ctx, ra, creds, false)
	if err != nil {
		return nil, nil, err
	}
	var by cardsign.Verified
	card, err := remote.FetchVerifiedCard(ctx, n, ra.Spec.CardURL, func(document []byte) ([]byte, error) {
		verified, err := cardsign.Verify(document, keys)
		if replaced(err) {
			// A failure to get the keys again leaves the verdict as it is.
			if renewed, renewErr := r.publicKeys(ctx, ra, creds, true); renewErr == nil {
				verified, err = cardsign.Verify(document, renewed)
			}
		}
		by = verified
		return verified.Payload, err
	})
	if errors.Is(err, remote.ErrCardUnavailable) && withdrawn(ra, keys) {
		err = fmt.Errorf("%w; %w", err, errKeyWithdrawn)
	}
	if err != nil {
		return nil, nil, err
	}
	return card, &v1alpha1.CardSignature{Algorithm: by.Algorithm, KeyID: shown(by.KeyID), Thumbprint: by.Thumbprint}, nil
}

// replaced reports whether a card may have been signed by a key that is newer than those that are kept.
func replaced(err error) bool {
	return errors.Is(err, cardsign.ErrKeyUnknown) || errors.Is(err, cardsign.ErrInvalid)
}

// withdrawn reports whether the card in the status was signed by a key that is not among the keys.
func withdrawn(ra *v1alpha1.RemoteAgent, keys cardsign.Keys) bool {
	card := ra.Status.Card
	return card == nil || card.Signature == nil || !slices.Contains(keys.Thumbprints(), card.Signature.Thumbprint)
}

// publicKeys are those that the card has to be signed by. With renew, published ones are fetched again; a Secret is read each
// time.
func (r *RemoteAgentReconciler) publicKeys(ctx context.Context, ra *v1alpha1.RemoteAgent, creds credential.Credentials, renew bool) (cardsign.Keys, error) {
	if ra.Spec.Verification.SecretRef != nil {
		return r.Agents.Credentials.PublicKeys(ctx, ra)
	}
	return r.Agents.keys.Get(ctx, jwks.Place{
		Owner: ra.UID, URL: ra.Spec.Verification.JWKSURL, Trust: creds.Authorities,
		Network: r.Agents.network(credential.Trusting(creds.Authorities)),
	}, r.Clock.Now(), renew)
}

// cardProblem decides what a failed reading means. A card or keys that are away for a while do not move the endpoint of an
// agent whose card was read for this very spec before. A card that is there and that nobody vouches for is not away, and one
// that must not be read is not either. The error is one to be retried.
func (a *Agents) cardProblem(ra *v1alpha1.RemoteAgent, err error) (verdict, error) {
	if v := denial(err); v.problem != nil {
		return v, nil
	}
	if p := credential.Explain(ra, err); p != nil {
		return verdict{problem: p, retry: !a.watched(err)}, nil
	}
	if p := signatureProblem(ra, err); p != nil {
		return verdict{retry: true, problem: p}, nil
	}
	keys := errors.Is(err, remote.ErrKeysUnavailable)
	if !keys && !errors.Is(err, remote.ErrCardUnavailable) && !errors.Is(err, remote.ErrCardInvalid) {
		return verdict{}, err
	}
	// What is served in the place of a signed card is there, however large it is, and nobody vouches for it.
	swapped := ra.Spec.Verification != nil && errors.Is(err, remote.ErrCardInvalid)
	known := ra.Status.ObservedGeneration == ra.Generation && ra.Status.Endpoint != nil &&
		meta.IsStatusConditionTrue(ra.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case known && !swapped && !errors.Is(err, errKeyWithdrawn):
		return verdict{retry: true}, nil
	case keys:
		return verdict{retry: true, problem: &outbox.Problem{Reason: reasonCardKeysUnavailable, Message: fmt.Sprintf(
			"%v; it is tried again. Correct spec.verification.jwksURL, or give the keys in a Secret by spec.verification.secretRef", err)}}, nil
	case ra.Spec.Verification != nil:
		return verdict{retry: true, problem: &outbox.Problem{Reason: "CardUnavailable", Message: fmt.Sprintf(
			"%v; it is tried again", err)}}, nil
	}
	return verdict{retry: true, problem: &outbox.Problem{Reason: "CardUnavailable", Message: fmt.Sprintf(
		"%v; it is tried again. Without a card, give the endpoint in spec.interfaces", err)}}, nil
}

// signatureProblem says why nobody vouches for a card, and what ends it; nil for an error about something else.
func signatureProblem(ra *v1alpha1.RemoteAgent, err error) *outbox.Problem {
	const tail = ". Nothing is sent meanwhile, and the card is read again"
	var unknown *cardsign.UnknownKeyError
	switch {
	case errors.Is(err, cardsign.ErrUnsigned):
		return &outbox.Problem{Reason: reasonCardUnsigned, Message: fmt.Sprintf(
			"%v, and spec.verification asks for a signature: have the agent's owner sign the card, or remove spec.verification%s", err, tail)}
	case errors.As(err, &unknown):
		return &outbox.Problem{Reason: reasonCardKeyUnknown, Message: fmt.Sprintf(
			"%v: it names %s. Ask the agent's owner whether the key is theirs, and add it to %s%s", err, keyNames(unknown.IDs), keysOf(ra), tail)}
	case errors.Is(err, cardsign.ErrInvalid), errors.Is(err, cardsign.ErrMalformed):
		return &outbox.Problem{Reason: reasonCardSignatureInvalid, Message: fmt.Sprintf(
			"%s: the card was changed after it was signed, or signed by others. Ask the agent's owner, who has to sign it with a key of %s%s",
			shown(err.Error()), keysOf(ra), tail)}
	}
	return nil
}

// keysOf names the place of the keys. A URL is not repeated, since its query may hold a secret.
func keysOf(ra *v1alpha1.RemoteAgent) string {
	if ref := ra.Spec.Verification.SecretRef; ref != nil {
		return fmt.Sprintf("key %q of Secret %q in namespace %s", ref.Key, ref.Name, ra.Namespace)
	}
	return "the set at spec.verification.jwksURL"
}

// keyNames shows the kid of each signature. They come from outside.
func keyNames(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = "no key"
		if id != "" {
			names[i] = fmt.Sprintf("key %q", truncate(remote.Clean(id), maxKeyName))
		}
	}
	return strings.Join(names, ", ")
}

// maxKeyName bounds a kid that is shown, in bytes.
const maxKeyName = 64
