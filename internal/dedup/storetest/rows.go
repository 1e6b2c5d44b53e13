// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

var rowTests = map[string]func(*testing.T, Opener){
	"first insert wins":            firstInsertWins,
	"keys do not run together":     keysDoNotRunTogether,
	"bound row":                    boundRow,
	"reply is kept byte by byte":   replyIsKept,
	"another outcome is refused":   anotherOutcomeIsRefused,
	"bind without a row":           bindWithoutRow,
	"release frees the key":        releaseFreesTheKey,
	"bound row can't be released":  boundRowCantBeReleased,
	"release by another owner":     releaseByAnotherOwner,
	"rows outlive the store":       rowsOutliveTheStore,
	"bind is not the owner's only": bindByAnybody,
}

func firstInsertWins(t *testing.T, open Opener) {
	f := on(t, open)
	first, inserted := f.insert(claim("a", 0))
	if !inserted || first.Digest != "d1" || first.Binding.Known() || first.Owner != "a" {
		t.Errorf("first insert: %+v, %v", first, inserted)
	}
	if !first.Expires.Equal(start.Add(retention)) || !first.Lease.Equal(start.Add(lease)) {
		t.Errorf("first insert expires at %v, its lease is over at %v", first.Expires, first.Lease)
	}
	second, inserted := f.insert(with(claim("b", time.Minute), func(c *dedup.Claim) { c.Digest = "d2" }))
	if inserted || second.Digest != "d1" || second.Owner != "a" || !second.Expires.Equal(first.Expires) || !second.Lease.Equal(first.Lease) {
		t.Errorf("second insert: %+v, %v: want the first row as it was", second, inserted)
	}
}

func keysDoNotRunTogether(t *testing.T, open Opener) {
	f := on(t, open)
	long := strings.Repeat("m", 100_000)
	keys := []dedup.Key{
		{Principal: "a", MessageID: "b"}, {Principal: "", MessageID: "b"}, {Principal: "b", MessageID: "a"},
		{Principal: "a/b", MessageID: "c"}, {Principal: "a", MessageID: "b/c"}, {Principal: "ab", MessageID: ""},
		{Principal: "A", MessageID: "b"}, {Principal: "a", MessageID: "b "}, {Principal: "a'--", MessageID: "\x00"},
		{Principal: "a'--", MessageID: ""}, {Principal: "a", MessageID: "\xff"}, {Principal: "a", MessageID: "\ufffd"},
		{Principal: "é", MessageID: "b"}, {Principal: "e\u0301", MessageID: "b"},
		{MessageID: long}, {MessageID: long + "m"}, {Principal: long, MessageID: long},
	}
	for _, k := range keys {
		f.mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Key = k }))
	}
	for _, k := range keys {
		if _, inserted := f.insert(with(claim("b", 0), func(c *dedup.Claim) { c.Key = k })); inserted {
			t.Errorf("the row of %.20q, %.20q is not found again", k.Principal, k.MessageID)
		}
	}
}

func boundRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	for range 2 { // the same outcome twice is no conflict
		f.mustBind(key, bound)
	}
	if row := f.row(); !row.Binding.Equal(bound) || row.Digest != "d1" {
		t.Errorf("after Bind: %+v", row)
	}
}

func replyIsKept(t *testing.T, open Opener) {
	f := on(t, open)
	const reply = `{ "messageId":"r-1",  "parts":[{"text":"ünïcode \u0000"}] }`
	f.mustInsert(claim("a", 0))
	given := []byte(reply)
	f.mustBind(key, dedup.Binding{Reply: given})
	clear(given) // what a caller does to its copy must not reach the table
	row := f.row()
	if string(row.Binding.Reply) != reply || row.Binding.TaskID != "" {
		t.Fatalf("reply is %q", row.Binding.Reply)
	}
	clear(row.Binding.Reply)
	if row = f.row(); string(row.Binding.Reply) != reply {
		t.Errorf("reply changed through a returned row: %q", row.Binding.Reply)
	}
}

func anotherOutcomeIsRefused(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.mustBind(key, bound)
	f.wantErr("Bind to another task", f.Bind(t.Context(), key, dedup.Binding{TaskID: "t-2"}), dedup.ErrBound)
	// A reply that reads like the task's id is not that task.
	f.wantErr("Bind to a reply", f.Bind(t.Context(), key, dedup.Binding{Reply: []byte(bound.TaskID)}), dedup.ErrBound)
	if row := f.row(); !row.Binding.Equal(bound) {
		t.Errorf("outcome is %+v, want the first", row.Binding)
	}
}

func bindWithoutRow(t *testing.T, open Opener) {
	f := on(t, open)
	f.wantErr("Bind", f.Bind(t.Context(), key, bound), dedup.ErrNoRow)
	f.mustInsert(claim("a", 0)) // and the failed Bind left nothing behind
}

func bindByAnybody(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantHold("take over", claim("b", lease), true)
	f.mustBind(key, bound) // the late answer of the first owner, or the look-up of the second
	if row := f.row(); !row.Binding.Equal(bound) {
		t.Errorf("outcome is %+v", row.Binding)
	}
}

func releaseFreesTheKey(t *testing.T, open Opener) {
	f := on(t, open)
	f.wantErr("Release without a row", f.Release(t.Context(), key, "a"), nil)
	f.mustInsert(claim("a", 0))
	f.mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Key = otherKey }))
	f.wantErr("Release", f.Release(t.Context(), key, "a"), nil)
	f.mustInsert(with(claim("b", 0), func(c *dedup.Claim) { c.Digest = "d2" }))
	if _, inserted := f.insert(with(claim("b", 0), func(c *dedup.Claim) { c.Key = otherKey })); inserted {
		t.Error("releasing one key released another")
	}
}

func boundRowCantBeReleased(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.mustBind(key, bound)
	f.wantErr("Release", f.Release(t.Context(), key, "a"), dedup.ErrBound)
	if row := f.row(); !row.Binding.Equal(bound) {
		t.Errorf("after Release: %+v", row)
	}
}

func releaseByAnotherOwner(t *testing.T, open Opener) {
	f := on(t, open)
	f.mustInsert(claim("a", 0))
	f.wantErr("Release", f.Release(t.Context(), key, "b"), dedup.ErrNotHeld)
	f.wantHold("take over", claim("b", lease), true)
	f.wantErr("Release by the owner that lost it", f.Release(t.Context(), key, "a"), dedup.ErrNotHeld)
	if row := f.row(); row.Owner != "b" {
		t.Errorf("owner is %q, want the one that took over", row.Owner)
	}
	f.wantErr("Release by the owner", f.Release(t.Context(), key, "b"), nil)
	f.mustInsert(claim("c", 0))
}

// closer is a store that can be closed before the test ends. One in the memory of a process has no need to.
type closer interface{ Close() error }

func rowsOutliveTheStore(t *testing.T, open Opener) {
	before := on(t, open)
	before.mustInsert(claim("a", 0))
	before.mustBind(key, bound)
	before.mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Key = otherKey }))
	if c, ok := before.Store.(closer); ok {
		if err := c.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	after := on(t, open)
	if row := after.row(); !row.Binding.Equal(bound) || row.Digest != "d1" || !row.Expires.Equal(start.Add(retention)) {
		t.Errorf("bound row reads %+v after reopening", row)
	}
	row, inserted := after.insert(with(claim("b", 0), func(c *dedup.Claim) { c.Key = otherKey }))
	if inserted || row.Owner != "a" || row.Binding.Known() || !row.Lease.Equal(start.Add(lease)) {
		t.Errorf("open row reads %+v, %v after reopening", row, inserted)
	}
}
