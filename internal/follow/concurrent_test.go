// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// A task costs no goroutine: those that are out are bounded by the agent's limit.
func TestManyTasks(t *testing.T) {
	const tasks, inFlight = 10_000, 8
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		synctest.Wait()
		before := runtime.NumGoroutine()
		var most atomic.Int64
		a := &agent{answer: func(context.Context, int) outbox.Exchange {
			for now := int64(runtime.NumGoroutine()); ; {
				if old := most.Load(); now <= old || most.CompareAndSwap(old, now) {
					break
				}
			}
			time.Sleep(time.Millisecond)
			return working
		}}
		for i := range tasks {
			s := subject(strconv.Itoa(i), a)
			s.Limits.InFlight, s.MinInterval = inFlight, longest
			d.Track(s)
		}
		d.wait(longest * 3 / 2)
		if got := len(d.results()); got != tasks {
			t.Errorf("%d of %d tasks were looked at", got, tasks)
		}
		if a.peak > inFlight {
			t.Errorf("%d looks were out at once, want at most %d", a.peak, inFlight)
		}
		// A goroutine that ends is counted until it is gone.
		if got := int(most.Load()) - before; got > 4*inFlight {
			t.Errorf("%d goroutines for %d tasks", got, tasks)
		}
	})
}

// Decisions track tasks while looks at them are out. Without a bubble, for the race detector.
func TestTrackDuringLooks(t *testing.T) {
	d, a := newDesk(t), scripted(working)
	giveUp := time.After(time.Minute)
	for a.count() < 200 {
		select {
		case <-giveUp:
			t.Fatalf("%d looks in a minute", a.count())
		default:
		}
		for _, name := range []string{"reconcile", "approve"} {
			s := subject(name, a)
			s.MinInterval, s.MaxInterval = time.Millisecond, time.Millisecond
			d.Track(s)
		}
	}
}

// Once Drop returned, nothing more is delivered: who drops a task forgets what was delivered of it right after. Without a
// bubble, which does not see that a goroutine waits for a lock.
func TestDropWaitsForADelivery(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pool, began, over := courier.NewPool(), make(chan struct{}), atomic.Bool{}
	f := follow.New(pool, clock.RealClock{}, func(courier.Key, *outbox.Result) bool {
		close(began)
		// Long enough for a Drop that does not wait.
		time.Sleep(50 * time.Millisecond)
		over.Store(true)
		return true
	})
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx) }()
	s := subject("reconcile", scripted(working))
	s.MinInterval = time.Millisecond
	f.Track(s)
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("nothing was delivered in a minute")
	}
	f.Drop(s.Key.UID)
	if !over.Load() {
		t.Error("Drop returned during a delivery")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	pool.Drain(t.Context())
}
