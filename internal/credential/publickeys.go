// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/cardsign"
)

// PublicKeys reads the keys that an agent's card has to be signed by from the Secret that the RemoteAgent names for them. An
// error that Explain knows is the user's to mend; others are to be retried.
func (k *Keeper) PublicKeys(ctx context.Context, ra *v1alpha1.RemoteAgent) (cardsign.Keys, error) {
	r, ref := reading{Keeper: k, ra: ra}, keyOf(KindSecret, *ra.Spec.Verification.SecretRef)
	values, err := r.values(ctx, ref)
	if err != nil {
		return nil, err
	}
	keys, err := cardsign.ParseKeys(values[0])
	if err != nil {
		return nil, r.wrong(ref, err)
	}
	return keys, nil
}
