// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var leaseTests = map[string]func(*testing.T, Opener){
	"owner extends its lease":            ownerExtends,
	"nobody takes over a live row":       nobodyTakesOverALiveRow,
	"an owner that lost its row":         dispossessedOwner,
	"lease given up":                     leaseGivenUp,
	"what can't be held":                 whatCantBeHeld,
	"a held row is remembered longer":    heldRowIsRemembered,
	"holding never shortens the memory":  holdingNeverShortens,
	"an owner may be late when not lost": lateOwner,
}

func ownerExtends(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("extend", claim("a", 10*time.Second), true)
	if row := f.row(); !row.Lease.Equal(start.Add(10*time.Second+lease)) || row.Owner != "a" {
		t.Errorf("after extending: %+v", row)
	}
	f.wantHold("take over when the first lease would have ended", claim("b", lease), false)
	f.wantHold("take over when the second ended", claim("b", 10*time.Second+lease), true)
}

func nobodyTakesOverALiveRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("too early", claim("b", lease-time.Millisecond), false)
	if row := f.row(); row.Owner != "a" || !row.Lease.Equal(start.Add(lease)) {
		t.Errorf("a failed take-over changed the row: %+v", row)
	}
	f.wantHold("when the lease is over", claim("b", lease), true)
	if row := f.row(); row.Owner != "b" || !row.Lease.Equal(start.Add(2*lease)) || row.Digest != "d1" {
		t.Errorf("after the take-over: %+v", row)
	}
}

func dispossessedOwner(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("take over", claim("b", lease), true)
	f.wantHold("the old owner extends", claim("a", lease), false)
	f.wantHold("the new owner extends", claim("b", lease+time.Second), true)
}

func lateOwner(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("extend after the lease, with nobody in between", claim("a", 4*lease), true)
	f.wantHold("take over", claim("b", 5*lease-time.Millisecond), false)
}

func leaseGivenUp(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("give up", with(claim("a", time.Second), func(c *dedup.Claim) { c.Lease = 0 }), true)
	f.wantHold("take over at once", claim("b", time.Second), true)
}

func whatCantBeHeld(t *testing.T, open Opener) {
	f := on(t, open)
	f.wantHold("no row", claim("a", 0), false)
	f.mustInsert(claim("a", 0))
	f.wantHold("another body", with(claim("b", lease), func(c *dedup.Claim) { c.Digest = "d2" }), false)
	f.wantHold("an expired row", claim("b", retention), false)
	f.wantHold("an expired row, by its owner", claim("a", retention), false)
	f.mustBind(key, bound)
	f.wantHold("a bound row", claim("b", lease), false)
	f.wantHold("a bound row, by its owner", claim("a", lease), false)
	if row := f.row(); row.Owner != "a" || !row.Binding.Equal(bound) {
		t.Errorf("the row changed: %+v", row)
	}
}

// The retention counts from when the first copy was last seen alive, so that one that takes longer than
// the retention is not begun again while it runs.
func heldRowIsRemembered(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("extend", claim("a", retention/2), true)
	if _, inserted := f.insert(claim("b", retention)); inserted {
		t.Error("the row expired although its owner was there")
	}
	if _, inserted := f.insert(claim("b", retention+retention/2)); !inserted {
		t.Error("the row did not expire")
	}
}

// A replica whose clock is behind, or whose retention is shorter, must not make a row forgotten sooner.
func holdingNeverShortens(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("extend with a shorter retention", with(claim("a", time.Second), func(c *dedup.Claim) { c.Retention = lease }), true)
	if row := f.row(); !row.Expires.Equal(start.Add(retention)) {
		t.Errorf("row expires at %v, want %v", row.Expires, start.Add(retention))
	}
}
