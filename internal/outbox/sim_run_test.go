// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	simSeed      = flag.Uint64("seed", 1, "the first seed of TestSimulation")
	simSchedules = flag.Int("schedules", 0, "how many schedules TestSimulation runs; of one alone it prints the transcript")
)

const (
	simMany = 100_000
	simFew  = 5_000
	// simBreak is how many schedules it may take to find a break that was made on purpose.
	simBreak = 20_000
)

// TestSimulation plays many schedules of faults against the decision and watches over what it promises. To see one:
//
//	go test ./internal/outbox -run 'TestSimulation$' -seed=123 -schedules=1 -v
func TestSimulation(t *testing.T) {
	count := *simSchedules
	switch {
	case count == 1:
		broken, story := transcript(*simSeed, simHooks{})
		t.Log("\n" + story)
		if broken != nil {
			t.Errorf("%s: %s", broken.promise, broken.what)
		}
		return
	case count > 0:
	case testing.Short():
		count = simFew
	default:
		count = simMany
	}
	seed, found := simulate(*simSeed, count, simHooks{})
	if found == nil {
		return
	}
	broken, story := transcript(seed, simHooks{})
	if broken == nil || *broken != *found {
		t.Fatalf("seed %d is not the same schedule each time: %v, then %v", seed, found, broken)
	}
	t.Fatalf("seed %d breaks %s: %s\nto see it again: go test ./internal/outbox -run 'TestSimulation$' -seed=%d -schedules=1 -v\n%s",
		seed, broken.promise, broken.what, seed, story)
}

// simulate plays seeds on all cores and returns the lowest that breaks a promise.
func simulate(from uint64, count int, hooks simHooks) (uint64, *simViolation) {
	var (
		next   atomic.Uint64
		mu     sync.Mutex
		lowest uint64
		found  *simViolation
		work   sync.WaitGroup
	)
	// What a schedule leaves behind is garbage at once; memory is cheaper here than time.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	worker := func() {
		for n := next.Add(1) - 1; n < uint64(count); n = next.Add(1) - 1 {
			broken := newSim(from+n, hooks, false).run()
			if broken == nil {
				continue
			}
			next.Store(uint64(count))
			mu.Lock()
			if found == nil || from+n < lowest {
				lowest, found = from+n, broken
			}
			mu.Unlock()
		}
	}
	for range runtime.GOMAXPROCS(0) {
		work.Go(worker)
	}
	work.Wait()
	return lowest, found
}
