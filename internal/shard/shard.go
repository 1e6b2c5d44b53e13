// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard says which of several managers works on an object. It is pure: the answer follows from the object's
// namespace and name and from the number of managers, and from nothing that changes while they run.
//
// Safety does not depend on it. While the number changes, two managers may own one object, or none: two are kept apart by the
// compare-and-swap of each journal write, as replicas without a leader are, and what has none waits.
package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Shard is one manager's part of the objects. The zero value is all of them.
type Shard struct {
	index, count int
}

// Max is how many shards there can be. Each watches all objects, so that the API server has as many copies of each event to
// send: far fewer are of use.
const Max = 64

// Parse reads i/n, the part i of n, counted from 0; empty is all. The error says what i/n may be.
func Parse(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	first, second, found := strings.Cut(s, "/")
	index, indexErr := strconv.Atoi(first)
	count, countErr := strconv.Atoi(second)
	switch {
	case !found || indexErr != nil || countErr != nil:
		return Shard{}, fmt.Errorf("%s: is no part of a whole: it must be i/n, such as 0/3, 1/3 and 2/3 for three managers", s)
	case count < 1 || count > Max:
		return Shard{}, fmt.Errorf("%s: there are from 1 to %d parts: it must be i/n, such as 0/3, 1/3 and 2/3 for three managers", s, Max)
	case index < 0 || index >= count:
		return Shard{}, fmt.Errorf("%s: parts are counted from 0: it must be 0/%d to %d/%d", s, count, count-1, count)
	case count == 1:
		return Shard{}, nil
	}
	return Shard{index, count}, nil
}

// All reports whether the shard is all objects.
func (s Shard) All() bool { return s.count == 0 }

// Index is the shard's number, counted from 0, and Count how many there are; all objects are shard 0 of 1.
func (s Shard) Index() int { return s.index }

// Count is how many shards there are.
func (s Shard) Count() int { return max(s.count, 1) }

// Owns reports whether the object of a name is this shard's. Of all shards of a number one owns it.
//
// The key is what is certain before anything is read, stays the same for the object's life and comes back with it from a
// backup, which a UID does not. A conversation is not kept together: its root is known only once all of it is there, and goes
// away, so that an owner by the root would change while a message is out. The members need not have one owner: who decides
// reads the others from the cache, which has all of the watched namespaces, and the claim on a question is a compare-and-swap
// on the root, whoever owns that.
func (s Shard) Owns(name types.NamespacedName) bool {
	return s.All() || bucket(digest(name), s.count) == s.index
}

// Share is this shard's part of a limit that was promised for all of them, in whole units: the shards' shares add up to the
// limit, but for one that is lower than their number, since each has at least 1. Zero is no limit and stays so.
func (s Shard) Share(limit int) int {
	if s.All() || limit == 0 {
		return limit
	}
	share := limit / s.count
	if s.index < limit%s.count {
		share++
	}
	return max(share, 1)
}

// Lease is the name of the lease of a shard's replicas. It does not have the number of shards: what 0/3 owns is a part of what
// 0/2 does, so that while their number grows the one may wait for the other to end.
func (s Shard) Lease(name string) string {
	if s.All() {
		return name
	}
	return name + "-" + strconv.Itoa(s.index)
}

// String is the shard as Parse reads it.
func (s Shard) String() string {
	if s.All() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.count)
}

func digest(name types.NamespacedName) uint64 {
	sum := sha256.Sum256([]byte(name.String()))
	return binary.BigEndian.Uint64(sum[:])
}

// bucket is Lamping and Veach's jump consistent hash (arXiv:1406.2294), for shards that are numbered: with one shard more, a
// key stays or goes to the new one, and one in n of them goes. Rendezvous hashing does the same at n digests a key. The
// libraries that there are for it are these lines.
func bucket(key uint64, n int) int {
	b, next := int64(-1), int64(0)
	for next < int64(n) {
		b = next
		key = key*2862933555777941757 + 1
		next = int64(float64(b+1) * (float64(1<<31) / float64(key>>33+1)))
	}
	return int(b)
}
