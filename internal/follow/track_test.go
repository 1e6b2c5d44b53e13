// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// lasting answers after a time, or when the look's time is over.
func lasting(d time.Duration, ex outbox.Exchange) *agent {
	return &agent{answer: func(ctx context.Context, _ int) outbox.Exchange {
		select {
		case <-time.After(d):
			return ex
		case <-ctx.Done():
			return failed
		}
	}}
}

// waitForDelivery lets time pass until something was delivered.
func (d *desk) waitForDelivery() {
	for range 600 {
		if d.wait(100 * time.Millisecond); len(d.results()) > 0 {
			return
		}
	}
}

func TestDrop(t *testing.T) {
	cases := []struct {
		name string
		do   func(*desk, follow.Subject)
		// looks and deliveries that there are in the end.
		looks, delivered int
	}{
		{"before the first look", func(d *desk, s follow.Subject) { d.Drop(s.Key.UID) }, 0, 0},
		{"during the first look: what it brings is nobody's", func(d *desk, s follow.Subject) {
			d.wait(shortest * 12 / 10)
			d.Drop(s.Key.UID)
		}, 1, 0},
		{"between two looks", func(d *desk, s follow.Subject) {
			d.waitForDelivery()
			d.Drop(s.Key.UID)
		}, 1, 1},
		{"during the second look", func(d *desk, s follow.Subject) {
			d.waitForDelivery()
			d.wait(shortest * 12 / 10)
			d.Drop(s.Key.UID)
		}, 2, 1},
		{"twice, and another one", func(d *desk, s follow.Subject) {
			d.Drop(s.Key.UID)
			d.Drop(s.Key.UID)
			d.Drop("uid-another")
		}, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), lasting(time.Second, working)
				s := subject("reconcile", a)
				d.Track(s)
				c.do(d, s)
				d.wait(time.Hour)
				if looks, delivered := a.count(), len(d.results()); looks != c.looks || delivered != c.delivered {
					t.Errorf("%d looks and %d deliveries, want %d and %d", looks, delivered, c.looks, c.delivered)
				}
			})
		})
	}
}

// A look that waits for room at the agent is not made any more once its task is dropped.
func TestDropOfAQueuedLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, slow, a := newDesk(t), lasting(10*time.Second, working), scripted(working)
		first, second := subject("reconcile", slow), subject("approve", a)
		first.Limits.InFlight, second.Limits.InFlight = 1, 1
		second.MinInterval = 2 * shortest
		d.Track(first)
		d.Track(second)
		d.wait(3 * shortest)
		d.Drop(second.Key.UID)
		d.wait(time.Hour)
		if a.count() != 0 {
			t.Errorf("%d looks at a task that is not followed", a.count())
		}
	})
}

func TestTrackAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, before, after := newDesk(t), scripted(working), scripted(working)
		d.Track(subject("reconcile", before))
		// Each decision tracks anew, however often it is made.
		for range 100 {
			d.wait(10 * time.Millisecond)
			d.Track(subject("reconcile", before))
		}
		d.wait(longest)
		looks := before.count()
		wantGaps(t, before.gaps(d.start), append([]time.Duration{shortest}, grown(looks-1)...)...)
		for range 100 {
			d.Track(subject("reconcile", after))
		}
		d.wait(10 * longest)
		if before.count() != looks {
			t.Error("the old agent was asked again")
		}
		// The interval goes on growing where it was.
		wantGaps(t, after.gaps(before.visits[looks-1].at), grown(looks + 4)[looks-1:]...)
		if got := len(d.results()); got != 1 {
			t.Errorf("%d deliveries of a task that does not change, want 1", got)
		}
	})
}

// A look that waits for room uses what is known when its turn comes: the client of before may be closed.
func TestQueuedLookUsesTheNewAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, before, after := newDesk(t), scripted(working), scripted(working)
		one := courier.Limits{InFlight: 1, PerSecond: 100}
		gate := make(chan struct{})
		d.pool.Run("finance", one, func(context.Context) { <-gate })
		s := subject("reconcile", before)
		s.Limits = one
		d.Track(s)
		d.wait(2 * shortest)
		s.Agent = after
		d.Track(s)
		close(gate)
		synctest.Wait()
		if before.count() != 0 || after.count() != 1 {
			t.Errorf("%d looks with the old agent and %d with the new one, want 0 and 1", before.count(), after.count())
		}
	})
}

func TestTrackAnotherTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a := newDesk(t), scripted(working)
		s := subject("reconcile", a)
		d.Track(s)
		d.wait(10 * longest)
		began, looks := time.Now(), a.count()
		s.TaskID = "t-2"
		d.Track(s)
		d.wait(10 * longest)
		for _, v := range a.visits[looks:] {
			if v.task != "t-2" {
				t.Fatalf("a look at %s", v.task)
			}
		}
		got := a.gaps(began)[looks:]
		got[0] = a.visits[looks].at.Sub(began)
		if got[0] > shortest*11/10 {
			t.Errorf("the first look after %s, want at most %s", got[0], shortest*11/10)
		}
		wantGaps(t, got[1:], grown(8)...)
		if n := len(d.results()); n != 2 {
			t.Errorf("%d deliveries, want one for each task", n)
		}
	})
}

// What a look at the task of before brings is nobody's, and plans nothing.
func TestTrackAnotherTaskDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, slow, a := newDesk(t), lasting(time.Second, completed), scripted(working)
		s := subject("reconcile", slow)
		d.Track(s)
		d.wait(shortest * 12 / 10)
		s.TaskID, s.Agent = "t-2", a
		began := time.Now()
		d.Track(s)
		d.wait(10 * longest)
		wantGaps(t, a.gaps(began), append([]time.Duration{shortest}, grown(8)...)...)
		if got := d.results(); len(got) != 1 || got[0].Task != working.Task {
			t.Errorf("delivered: %+v", got)
		}
	})
}

func TestOneLookAtATime(t *testing.T) {
	for name, takes := range map[string]time.Duration{"slow": 20 * time.Second, "silent": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), lasting(takes, working)
				d.Track(subject("reconcile", a))
				// A decision in between does not begin another.
				for range 100 {
					d.wait(3 * time.Second)
					d.Track(subject("reconcile", a))
				}
				if a.peak != 1 {
					t.Errorf("%d looks were out at once", a.peak)
				}
				// The next interval begins when the look ends, at its timeout at the latest.
				if gap, least := a.gaps(d.start)[1], min(takes, follow.Timeout)+shortest*9/10; gap < least || gap > least+2*shortest {
					t.Errorf("the second look began %s after the first, want about %s", gap, least)
				}
			})
		})
	}
}

func TestEnd(t *testing.T) {
	cases := map[string]func(*desk){
		"the follower before the pool": func(d *desk) { d.stop() },
		"the pool before the follower": func(d *desk) { d.pool.Drain(context.Background()) },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), scripted(working)
				d.Track(subject("reconcile", a))
				d.wait(longest)
				end(d)
				synctest.Wait()
				looks := a.count()
				d.Track(subject("approve", a))
				d.wait(time.Hour)
				if a.count() != looks {
					t.Errorf("%d looks after the end", a.count()-looks)
				}
			})
		})
	}
}
