// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var expiryTests = map[string]func(*testing.T, Opener){
	"expiry":                    expiry,
	"expired bound row":         expiredBoundRow,
	"removal of expired rows":   removal,
	"removal leaves live rows":  removalLeavesLiveRows,
	"removal without a budget":  removalWithoutBudget,
	"outcome of a removed row":  outcomeOfARemovedRow,
	"release of an expired row": releaseOfAnExpiredRow,
}

func expiry(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	if _, inserted := f.insert(claim("b", retention-time.Millisecond)); inserted {
		t.Error("row expired early")
	}
	row, inserted := f.insert(with(claim("b", retention), func(c *dedup.Claim) { c.Digest = "d2" }))
	if !inserted || row.Digest != "d2" || row.Owner != "b" || !row.Expires.Equal(start.Add(2*retention)) || !row.Lease.Equal(start.Add(retention+lease)) {
		t.Errorf("at the time of expiry: %+v, %v", row, inserted)
	}
}

func expiredBoundRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.mustBind(key, dedup.Binding{Reply: []byte(`{}`)})
	row, inserted := f.insert(claim("b", retention))
	if !inserted || row.Binding.Known() {
		t.Errorf("expired bound row: %+v, %v: want a fresh row", row, inserted)
	}
	if row, _ = f.insert(claim("c", retention)); row.Binding.Known() || row.Owner != "b" {
		t.Errorf("fresh row reads %+v", row)
	}
	f.mustBind(key, bound) // to another outcome than the expired row's
}

func (f fixture) wantRemoved(after time.Duration, limit, want int) {
	f.Helper()
	removed, err := f.Expire(f.Context(), start.Add(after), limit)
	if err != nil {
		f.Fatalf("Expire: %v", err)
	}
	if removed != want {
		f.Errorf("%v after the start %d rows were removed, want %d", after, removed, want)
	}
}

func removal(t *testing.T, open Opener) {
	f := on(t, open)
	for i := range 10 {
		f.mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Key.MessageID = fmt.Sprint("m-", i) }))
	}
	f.wantRemoved(retention-time.Millisecond, 100, 0)
	f.wantRemoved(retention, 4, 4)
	f.wantRemoved(retention, 100, 6)
	f.wantRemoved(retention, 100, 0)
}

func removalLeavesLiveRows(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.mustBind(key, bound)
	f.mustInsert(with(claim("a", time.Minute), func(c *dedup.Claim) { c.Key = otherKey }))
	f.wantRemoved(retention, 100, 1)
	if _, inserted := f.insert(with(claim("b", retention), func(c *dedup.Claim) { c.Key = otherKey })); inserted {
		t.Error("a live row was removed")
	}
	f.mustInsert(claim("b", retention))
	f.wantRemoved(retention, 100, 0)
}

func removalWithoutBudget(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantRemoved(retention, 0, 0)
	f.wantRemoved(retention, 1, 1)
}

func outcomeOfARemovedRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantRemoved(retention, 1, 1)
	f.wantErr("Bind", f.Bind(t.Context(), key, bound), dedup.ErrNoRow)
	f.wantErr("Release", f.Release(t.Context(), key, "a"), nil)
}

func releaseOfAnExpiredRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.mustInsert(claim("b", retention))
	f.wantErr("Release by the owner of the expired row", f.Release(t.Context(), key, "a"), dedup.ErrNotHeld)
	if row, inserted := f.insert(claim("c", retention)); inserted || row.Owner != "b" {
		t.Errorf("the fresh row reads %+v, %v", row, inserted)
	}
}
