// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Another endpoint, or other credentials, may list what these did not.
func TestAnotherAgentGetsItsChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(20)
		l.spoil = answering(0, forever, unsupported)
		d.follow(l)
		d.wait(35 * time.Minute) // the fifth try is at 62 minutes
		other := opened(20)
		for i := range other.tasks {
			other.set(i, v1alpha1.TaskStateWorking)
			s := listedSubject(other, i)
			d.Track(s)
		}
		d.wait(longest * 2)
		if listings, _ := other.counts(); listings < 30 {
			t.Errorf("%d listings in two minutes", listings)
		}
	})
}

// Few tasks are looked at one by one again, and many that come back are swept again.
func TestSweepsEndWithTheirTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(8)
		d.follow(l)
		for i := range 5 {
			d.Drop(listedSubject(l, i).Key.UID)
		}
		d.wait(10 * time.Second)
		listings, _ := l.counts()
		d.wait(10 * time.Minute)
		if more, _ := l.counts(); more != listings {
			t.Errorf("%d listings for three tasks", more-listings)
		}
		if got := d.latency(t, l, 6, v1alpha1.TaskStateInputRequired); got > longest*11/10+time.Second {
			t.Errorf("a change was told after %s", got)
		}
		for i := range 5 {
			d.Track(listedSubject(l, i))
		}
		d.wait(longest)
		if got := d.latency(t, l, 7, v1alpha1.TaskStateInputRequired); got > 2*shortest {
			t.Errorf("a change was told after %s", got)
		}
	})
}

// One listing that fails, or two, is no reason to look at every task.
func TestAFailedListingIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(20)
		l.spoil = answering(10, 12, broken)
		d.follow(l)
		for i, want := range map[int]time.Duration{10: shortest, 11: 2 * shortest, 12: 4 * shortest, 13: shortest} {
			if got := l.listings[i].Sub(l.listings[i-1]); got.Round(time.Second) != want {
				t.Errorf("listing %d came %s after the one before it, want %s", i, got, want)
			}
		}
	})
}

// While listings work a task is looked at so rarely that none may be left to that when they end.
func TestGivingUpLooksAtEachTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(1000)
		works := int(10 * time.Minute / shortest)
		l.spoil = answering(works, forever, unsupported)
		d.follow(l)
		d.wait(11 * time.Minute)
		for i := range 3 {
			if got := d.latency(t, l, i, v1alpha1.TaskStateInputRequired); got > longest*11/10+time.Second {
				t.Errorf("a change was told after %s", got)
			}
		}
		if listings, _ := l.counts(); listings < works {
			t.Errorf("%d listings, they were to work %d times", listings, works)
		}
	})
}
