// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// DefaultAge is how long an id is remembered where nobody asks for another time: as long as an agent that deduplicates
// remembers a messageId.
const DefaultAge = 72 * time.Hour

// Errors of the stores' constructors, to be matched with errors.Is.
var (
	// ErrAge says that ids were to be remembered for no time or less.
	ErrAge = errors.New("seen: the age must be positive, such as 72h")
	// ErrEntries says that room for no id was asked for.
	ErrEntries = errors.New("seen: the number of entries must be positive, such as 100000")
)

// Store is the set of the ids that were processed. Implementations are safe for concurrent use, by several processes where
// they share one database. Every call returns the context's error, and changes nothing, when the context is already done.
// The package seentest holds the behaviour that every implementation has to show.
type Store interface {
	// Seen reports whether the id was remembered and neither forgotten, evicted nor too old since. It changes nothing.
	Seen(ctx context.Context, id string) (bool, error)
	// Remember adds the id. One that is there already is as if it was added now: its age begins anew.
	Remember(ctx context.Context, id string) error
	// Forget removes the id. One that is not there is no error.
	Forget(ctx context.Context, id string) error
}

// Digest is what the stores keep of an id: its SHA-256, which is of one size for every id and says nothing about it.
type Digest [sha256.Size]byte

// DigestOf returns the digest of an id.
func DigestOf(id string) Digest { return sha256.Sum256([]byte(id)) }
