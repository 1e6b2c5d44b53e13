// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// A timestamp that the agent's clock has not reached is no lower bound of it. Listings that begin there show nothing, and
// with many tasks the looks behind them are hours apart.
func TestATimeInTheFuture(t *testing.T) {
	const tasks = 1000
	cases := []struct {
		name  string
		ahead time.Duration
		// spoil makes a time that is not true, of a task other than those that change.
		spoil func(*lister)
	}{
		{"of one task, a year ahead", 0, func(l *lister) { l.stamp(tasks-1, l.now().AddDate(1, 0, 0)) }},
		{"of one task, an hour ahead", 0, func(l *lister) { l.stamp(tasks-1, l.now().Add(time.Hour)) }},
		{"of one task, where the agent's clock is ahead too", 2 * time.Hour, func(l *lister) { l.stamp(tasks-1, l.now().AddDate(1, 0, 0)) }},
		{"of many tasks: the agent's clock was set back", 0, func(l *lister) {
			for i := tasks / 2; i < tasks; i++ {
				l.stamp(i, l.now().Add(24*time.Hour))
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, l := newDesk(t), opened(tasks)
				l.ahead = c.ahead
				d.follow(l)
				d.wait(5 * time.Minute)
				c.spoil(l)
				d.wait(5 * time.Minute)
				if got := d.latency(t, l, 0, v1alpha1.TaskStateInputRequired); got > longest {
					t.Errorf("the first change after it was told after %s, want %s at the most", got, longest)
				}
				for i := 1; i < 4; i++ {
					d.wait(time.Minute)
					if got := d.latency(t, l, i, v1alpha1.TaskStateInputRequired); got > 2*shortest {
						t.Errorf("change %d was told after %s, want %s at the most", i, got, 2*shortest)
					}
				}
			})
		})
	}
}

// A clock that is really ahead of ours is found to be so: listings begin by it, or each would show the changes of hours. One
// in fifteen begins by ours.
func TestAClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(20)
		l.ahead = 5 * time.Hour
		d.follow(l)
		for i := range l.tasks {
			d.wait(3 * time.Minute)
			if got := d.latency(t, l, i, v1alpha1.TaskStateInputRequired); got > 2*shortest {
				t.Errorf("change %d was told after %s", i, got)
			}
		}
		early := 0
		for i, since := range l.since {
			if since.Before(l.listings[i]) {
				early++
			}
		}
		if early == 0 || early > len(l.since)/15+1 {
			t.Errorf("%d of %d listings began before our time", early, len(l.since))
		}
	})
}
