// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// racers is how many callers meet at one key, half of them at each of two stores.
const racers = 64

var raceTests = map[string]func(*testing.T, Opener){
	"one insert of many wins":             oneInsertWins,
	"one insert over an expired row wins": oneInsertOverAnExpiredRowWins,
	"one take-over of many wins":          oneTakeOverWins,
	"extending against taking over":       extendAgainstTakeOver,
	"one outcome of many wins":            oneOutcomeWins,
	"inserts and releases in turns":       insertsAndReleases,
	"inserts against removal":             insertsAgainstRemoval,
}

// crowd is two stores on one table.
type crowd [2]fixture

func meet(t *testing.T, open Opener) crowd { return crowd{on(t, open), on(t, open)} }

// race calls f for every racer at once, and returns how often it was true.
func (c crowd) race(f func(f fixture, i int) bool) int {
	var (
		yes   atomic.Int32
		group sync.WaitGroup
		gate  = make(chan struct{})
	)
	for i := range racers {
		group.Go(func() {
			<-gate
			if f(c[i%len(c)], i) {
				yes.Add(1)
			}
		})
	}
	close(gate)
	group.Wait()
	return int(yes.Load())
}

// racer is the owner i's claim.
func racer(i int, after time.Duration) dedup.Claim { return claim(fmt.Sprint("owner-", i), after) }

// tryInsert is an insert that may be lost, but must not fail.
func (f fixture) tryInsert(c dedup.Claim) bool {
	row, inserted, err := f.Insert(f.Context(), c)
	if err != nil {
		f.Errorf("Insert: %v", err)
	} else if inserted != (row.Owner == c.Owner) {
		f.Errorf("inserted is %v for %s, and the row says %s", inserted, c.Owner, row.Owner)
	}
	return inserted
}

func (f fixture) tryHold(c dedup.Claim) bool {
	held, err := f.Hold(f.Context(), c)
	if err != nil {
		f.Errorf("Hold: %v", err)
	}
	return held
}

func wantOne(t *testing.T, what string, won int) {
	t.Helper()
	if won != 1 {
		t.Fatalf("%s: %d won, want 1", what, won)
	}
}

func oneInsertWins(t *testing.T, open Opener) {
	c := meet(t, open)
	for round := range 5 {
		k := dedup.Key{MessageID: fmt.Sprint("m-", round)}
		wantOne(t, fmt.Sprintf("round %d, inserts", round), c.race(func(f fixture, i int) bool {
			return f.tryInsert(with(racer(i, 0), func(c *dedup.Claim) { c.Key = k }))
		}))
	}
}

func oneInsertOverAnExpiredRowWins(t *testing.T, open Opener) {
	c := meet(t, open)
	c[0].mustInsert(claim("a", 0))
	c[0].mustBind(key, bound)
	wantOne(t, "inserts", c.race(func(f fixture, i int) bool { return f.tryInsert(racer(i, retention)) }))
}

func oneTakeOverWins(t *testing.T, open Opener) {
	c := meet(t, open)
	c[0].mustInsert(claim("a", 0))
	wantOne(t, "take-overs", c.race(func(f fixture, i int) bool { return f.tryHold(racer(i, lease)) }))
}

// The owner is late with its sign of life: either it or one that takes over holds the row in the end.
func extendAgainstTakeOver(t *testing.T, open Opener) {
	c := meet(t, open)
	for round := range 5 {
		k := dedup.Key{MessageID: fmt.Sprint("m-", round)}
		c[0].mustInsert(with(racer(0, 0), func(c *dedup.Claim) { c.Key = k }))
		var winners sync.Map
		won := c.race(func(f fixture, i int) bool {
			mine := with(racer(i%2, lease), func(c *dedup.Claim) { c.Key = k })
			held := f.tryHold(mine)
			if held {
				winners.Store(mine.Owner, true)
			}
			return held
		})
		owners := 0
		winners.Range(func(any, any) bool { owners++; return true })
		if owners != 1 || won < 1 {
			t.Errorf("round %d: %d owners held the row by %d calls, want one owner", round, owners, won)
		}
	}
}

func oneOutcomeWins(t *testing.T, open Opener) {
	c := meet(t, open)
	c[0].mustInsert(claim("a", 0))
	wantOne(t, "outcomes", c.race(func(f fixture, i int) bool {
		err := f.Bind(t.Context(), key, dedup.Binding{TaskID: a2a.TaskID(fmt.Sprint("t-", i))})
		if err != nil && !errors.Is(err, dedup.ErrBound) {
			t.Errorf("Bind: %v", err)
		}
		return err == nil
	}))
}

// insertsAndReleases gives one key to many holders, each of which owns it between its insert and its
// release: two at once would mean that a release freed somebody else's row.
func insertsAndReleases(t *testing.T, open Opener) {
	c := meet(t, open)
	var holders atomic.Int32
	won := c.race(func(f fixture, i int) bool {
		mine := racer(i, 0)
		if !f.tryInsert(mine) {
			return false
		}
		if holders.Add(1) != 1 {
			t.Error("two holders of one key")
		}
		runtime.Gosched()
		holders.Add(-1)
		if err := f.Release(t.Context(), key, mine.Owner); err != nil {
			t.Errorf("Release: %v", err)
		}
		return true
	})
	if won == 0 {
		t.Error("nobody got the key")
	}
	c[0].mustInsert(claim("a", 0))
}

// A removal that runs while an expired row is replaced must not take the fresh row with it.
func insertsAgainstRemoval(t *testing.T, open Opener) {
	c := meet(t, open)
	for round := range 5 {
		k := dedup.Key{MessageID: fmt.Sprint("m-", round)}
		c[0].mustInsert(with(claim("a", 0), func(c *dedup.Claim) { c.Key = k }))
		wantOne(t, fmt.Sprintf("round %d, inserts", round), c.race(func(f fixture, i int) bool {
			if i%8 == 0 {
				if _, err := f.Expire(t.Context(), start.Add(retention), 100); err != nil {
					t.Errorf("Expire: %v", err)
				}
				return false
			}
			return f.tryInsert(with(racer(i, retention), func(c *dedup.Claim) { c.Key = k }))
		}))
	}
}
