// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var failureTests = map[string]func(*testing.T, Opener){
	"claims that no store takes":   badClaims,
	"outcomes that no store takes": badOutcomes,
	"done context changes nothing": doneContext,
}

func badClaims(t *testing.T, open Opener) {
	f := on(t, open)
	tests := map[string]struct {
		retention, lease time.Duration
		want             error
	}{
		"no retention":                  {0, 0, dedup.ErrRetention},
		"negative retention":            {-time.Second, 0, dedup.ErrRetention},
		"retention shorter than lease":  {lease - 1, lease, dedup.ErrRetention},
		"negative lease":                {retention, -1, dedup.ErrLease},
		"neither retention nor a lease": {-1, -1, dedup.ErrLease},
	}
	for name, test := range tests {
		bad := with(claim("a", 0), func(c *dedup.Claim) { c.Retention, c.Lease = test.retention, test.lease })
		_, inserted, err := f.Insert(t.Context(), bad)
		f.wantErr("Insert, "+name, err, test.want)
		held, err := f.Hold(t.Context(), bad)
		f.wantErr("Hold, "+name, err, test.want)
		if inserted || held {
			t.Errorf("%s: inserted %v, held %v in spite of the error", name, inserted, held)
		}
	}
	f.mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Retention = c.Lease }))
}

func badOutcomes(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantErr("Bind to nothing", f.Bind(t.Context(), key, dedup.Binding{}), dedup.ErrOutcome)
	f.wantErr("Bind to an empty reply", f.Bind(t.Context(), key, dedup.Binding{Reply: []byte{}}), dedup.ErrOutcome)
	f.wantErr("Bind to both", f.Bind(t.Context(), key, dedup.Binding{TaskID: "t", Reply: []byte(`{}`)}), dedup.ErrOutcome)
	if row := f.row(); row.Binding.Known() {
		t.Errorf("outcome is %+v", row.Binding)
	}
}

func doneContext(t *testing.T, open Opener) {
	f := on(t, open)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, inserted, err := f.Insert(done, claim("a", 0))
	f.wantErr("Insert", err, context.Canceled)
	if inserted {
		t.Error("inserted in spite of the error")
	}
	f.mustInsert(claim("a", 0))
	before := f.row()
	held, err := f.Hold(done, claim("b", lease))
	f.wantErr("Hold", err, context.Canceled)
	f.wantErr("Bind", f.Bind(done, key, bound), context.Canceled)
	f.wantErr("Release", f.Release(done, key, "a"), context.Canceled)
	removed, err := f.Expire(done, start.Add(retention), 100)
	f.wantErr("Expire", err, context.Canceled)
	if after := f.row(); held || removed != 0 || after.Owner != before.Owner || after.Binding.Known() || !after.Lease.Equal(before.Lease) {
		t.Errorf("calls with a done context changed %+v to %+v", before, after)
	}
}
