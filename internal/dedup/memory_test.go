// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedup/storetest"
)

func TestMemoryConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opener {
		store := dedup.NewMemory()
		return func(*testing.T) dedup.Store { return store }
	})
}

// Expired rows go away by later inserts alone, in bounded steps.
func TestMemoryForgetsExpiredRows(t *testing.T) {
	const rows = 1000
	store, at := dedup.NewMemory(), time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	insert := func(i int, at time.Time) {
		t.Helper()
		key := dedup.Key{MessageID: fmt.Sprint("m-", i)}
		if _, inserted, err := store.Insert(t.Context(), dedup.Claim{Key: key, Digest: "d", Now: at, Retention: time.Hour}); err != nil || !inserted {
			t.Fatalf("Insert %d: %v, %v", i, inserted, err)
		}
	}
	for i := range rows {
		insert(i, at)
	}
	later := at.Add(2 * time.Hour)
	insert(rows, later)
	if n := store.Len(); n <= rows/2 {
		t.Errorf("one insert evicted down to %d rows: its work is not bounded", n)
	}
	for i := range rows / 10 {
		insert(rows+1+i, later)
	}
	if n, want := store.Len(), rows/10+1; n != want {
		t.Errorf("%d rows held, want the %d live ones", n, want)
	}
}

// A key that is refused again and again must not grow the table's bookkeeping.
func TestMemoryReleaseLeavesNothing(t *testing.T) {
	store, key := dedup.NewMemory(), dedup.Key{MessageID: "m-72"}
	for i := range 10_000 {
		if _, inserted, err := store.Insert(t.Context(), dedup.Claim{Key: key, Digest: "d", Now: time.Unix(0, 0), Retention: time.Hour}); err != nil || !inserted {
			t.Fatalf("Insert %d: %v, %v", i, inserted, err)
		}
		if err := store.Release(t.Context(), key, ""); err != nil {
			t.Fatalf("Release %d: %v", i, err)
		}
	}
	if n := store.Len(); n != 0 {
		t.Errorf("%d rows held, want none", n)
	}
}
