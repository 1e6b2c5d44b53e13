// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest holds the behaviour that every dedup.Store has to show, so that each implementation
// runs the same tests.
package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

const (
	retention = time.Hour
	lease     = 15 * time.Second
)

var (
	// start is where the tests' clock begins. Stores get the time as an argument, so no test waits.
	start = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

	key      = dedup.Key{Principal: "orchestrator", MessageID: "m-71"}
	otherKey = dedup.Key{Principal: "orchestrator", MessageID: "m-72"}
	bound    = dedup.Binding{TaskID: "t-5a"}
)

// Opener opens one table each time it is called, at least twice: the stores it returns share that table,
// as those of two processes would, as far as the implementation allows it. It arranges for them to be
// closed. Every test gets an Opener of its own, whose table is empty at first.
type Opener func(t *testing.T) dedup.Store

// Run runs the conformance tests.
func Run(t *testing.T, table func(t *testing.T) Opener) {
	for _, tests := range []map[string]func(*testing.T, Opener){rowTests, leaseTests, expiryTests, failureTests, raceTests} {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) { test(t, table(t)) })
		}
	}
}

// fixture is one store with the calls most tests make. Its owner is "a" unless a test says otherwise.
type fixture struct {
	*testing.T
	dedup.Store
}

func on(t *testing.T, open Opener) fixture { return fixture{t, open(t)} }

// claim is a claim of key by an owner at a time after start.
func claim(owner string, after time.Duration) dedup.Claim {
	return dedup.Claim{
		Key: key, Digest: "d1", Owner: owner,
		Now: start.Add(after), Retention: retention, Lease: lease,
	}
}

func with(c dedup.Claim, change func(*dedup.Claim)) dedup.Claim {
	change(&c)
	return c
}

func (f fixture) insert(c dedup.Claim) (dedup.Row, bool) {
	f.Helper()
	row, inserted, err := f.Insert(f.Context(), c)
	if err != nil {
		f.Fatalf("Insert(%v): %v", c.Key, err)
	}
	return row, inserted
}

func (f fixture) mustInsert(c dedup.Claim) {
	f.Helper()
	if row, inserted := f.insert(c); !inserted {
		f.Fatalf("Insert(%v): not inserted: there is %+v", c.Key, row)
	}
}

func (f fixture) mustBind(k dedup.Key, outcome dedup.Binding) {
	f.Helper()
	if err := f.Bind(f.Context(), k, outcome); err != nil {
		f.Fatalf("Bind(%v): %v", k, err)
	}
}

// row looks at the row of key shortly after start by an insert that has to fail.
func (f fixture) row() dedup.Row {
	f.Helper()
	row, inserted := f.insert(claim("onlooker", 0))
	if inserted {
		f.Fatal("there is no row")
	}
	return row
}

func (f fixture) wantHold(what string, c dedup.Claim, want bool) {
	f.Helper()
	held, err := f.Hold(f.Context(), c)
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	if held != want {
		f.Errorf("%s: held is %v, want %v", what, held, want)
	}
}

func (f fixture) wantErr(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: error %v, want %v", what, err, want)
	}
}
