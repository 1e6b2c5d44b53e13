// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jwks keeps the keys that are published at URLs, so that not every card that is read asks for them.
package jwks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	// maxAge is how long keys are used without being fetched again. One that its owner takes out of the set is used that
	// long at most.
	maxAge = 10 * time.Minute
	// pause is how long after a request the next one to the same place may be made, whatever a card says: who serves a
	// card chooses the key that it names, and must not be able to turn that into requests.
	pause = 10 * time.Second
)

// Place is where keys are published, and whom they are for.
type Place struct {
	// Owner is the object on whose behalf they are fetched. Nothing is shared between owners: what one of them trusts to be
	// the server is not for others to rely on.
	Owner types.UID
	// URL of the set.
	URL string
	// Network is how connections are made. Trust stands for what it trusts to be the server: with another, keys are fetched
	// anew.
	Network remote.Network
	Trust   []byte
}

// Keeper keeps the keys of each owner. Its zero value is ready for use, and its methods may be called at the same time.
type Keeper struct {
	mu   sync.Mutex
	kept map[types.UID]*entry
}

// entry is what is kept for one owner.
type entry struct {
	made [sha256.Size]byte

	// mu is held during a request, so that at most one is out for an owner.
	mu sync.Mutex
	// tried is when the last request was made, and fetched when the keys came.
	tried, fetched time.Time
	keys           cardsign.Keys
	// failed is why the last request brought no keys.
	failed error
}

// Get returns the keys at a place. They are those that are kept, unless these are older than 10 minutes. With renew they are
// fetched again, for a signature that none of those is good for. Within 10 seconds of a request the place is not asked
// again, and its last answer counts, also where that was an error. A set may be empty: then no key is trusted. Errors wrap
// remote.ErrKeysUnavailable.
func (k *Keeper) Get(ctx context.Context, p Place, now time.Time, renew bool) (cardsign.Keys, error) {
	e := k.entry(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := e.failed == nil && !e.fetched.IsZero() && now.Sub(e.fetched) < maxAge && !renew
	if fresh || !e.tried.IsZero() && now.Sub(e.tried) < pause {
		return e.keys, e.failed
	}
	e.tried = now
	e.keys, e.failed = fetch(ctx, p)
	if e.failed == nil {
		e.fetched = now
	}
	return e.keys, e.failed
}

func fetch(ctx context.Context, p Place) (cardsign.Keys, error) {
	text, err := remote.FetchKeySet(ctx, p.Network, p.URL)
	if err != nil {
		return nil, err
	}
	keys, err := cardsign.ParseSet(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", remote.ErrKeysUnavailable, err)
	}
	return keys, nil
}

func (k *Keeper) entry(p Place) *entry {
	text, _ := json.Marshal([]any{p.URL, p.Trust}) // strings and bytes always have a JSON form
	made := sha256.Sum256(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if held := k.kept[p.Owner]; held != nil && held.made == made {
		return held
	}
	if k.kept == nil {
		k.kept = map[types.UID]*entry{}
	}
	k.kept[p.Owner] = &entry{made: made}
	return k.kept[p.Owner]
}

// Forget drops the keys of an owner that is gone.
func (k *Keeper) Forget(owner types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, owner)
}
