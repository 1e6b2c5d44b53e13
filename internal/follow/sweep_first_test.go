// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// crowd follows all tasks of an agent that takes 50 calls a second, as after a restart: each is known to be at work.
func (d *desk) crowd(l *lister) {
	for i := range l.tasks {
		l.set(i, v1alpha1.TaskStateWorking)
		d.Track(crowded(l, i))
	}
}

func crowded(l *lister, i int) follow.Subject {
	s := listedSubject(l, i)
	s.State, s.Limits.PerSecond, s.Limits.InFlight = l.tasks[i].State, 50, 16
	return s
}

// A task whose first look has its turn in minutes may have changed meanwhile: before the restart ended, or before the agent's
// answer was recorded. The first listing shows it, and that it is another state than the status has is news.
func TestAChangeBeforeTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(5000)
		d.crowd(l)
		if got := d.latency(t, l, 4999, v1alpha1.TaskStateCompleted); got > 2*shortest {
			t.Errorf("a change was told after %s, want %s at the most", got, 2*shortest)
		}
	})
}

// Listings that break down again and again do not put off the first look at a new task for longer and longer.
func TestListingsThatBreakDownAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(5001)
		late := l.tasks[5000]
		l.tasks = l.tasks[:5000]
		d.crowd(l)
		d.wait(5 * time.Minute)
		l.spoil = func(n int, _ time.Time, shown []outbox.Task) ([]outbox.Task, outbox.Exchange) {
			if n%4 != 0 {
				return nil, broken
			}
			return shown, outbox.Exchange{Outcome: outbox.Accepted}
		}
		d.wait(20 * time.Minute)
		l.spoil = answering(0, forever, unsupported)
		l.tasks = append(l.tasks, late)
		l.set(5000, v1alpha1.TaskStateSubmitted)
		d.Track(crowded(l, 5000))
		// One round of all tasks at half of the agent's rate, behind as many looks as are queued at the full one.
		d.wait(5000/25*time.Second + 5000/50*time.Second + longest)
		if !slices.ContainsFunc(d.results(), func(r *outbox.Result) bool { return r.Task != nil && r.Task.ID == late.ID }) {
			t.Error("a new task was not looked at in the time that a look at each takes")
		}
	})
}
