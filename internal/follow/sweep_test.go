// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

type spoil = func(int, time.Time, []outbox.Task) ([]outbox.Task, outbox.Exchange)

// answering spoils the listings from one on to before another with an exchange.
func answering(from, to int, ex outbox.Exchange) spoil {
	return func(n int, _ time.Time, tasks []outbox.Task) ([]outbox.Task, outbox.Exchange) {
		if n >= from && n < to {
			return nil, ex
		}
		return tasks, outbox.Exchange{Outcome: outbox.Accepted}
	}
}

// showing changes the tasks that listings show.
func showing(change func([]outbox.Task) []outbox.Task) spoil {
	return func(_ int, _ time.Time, tasks []outbox.Task) ([]outbox.Task, outbox.Exchange) {
		return change(tasks), outbox.Exchange{Outcome: outbox.Accepted}
	}
}

const forever = 1 << 30

var (
	unsupported = outbox.Exchange{Outcome: outbox.Refused, Reason: remote.ReasonLookupUnsupported}
	forbidden   = outbox.Exchange{Outcome: outbox.Unauthorized, Reason: "Forbidden"}
	notThere    = outbox.Exchange{Outcome: outbox.NotSent, Reason: remote.ReasonEndpointNotFound}
	unfiltered  = outbox.Exchange{Outcome: outbox.Refused, Reason: remote.ReasonFilterIgnored}
	endless     = outbox.Exchange{Outcome: outbox.Ambiguous, Reason: remote.ReasonListingEndless}
	broken      = outbox.Exchange{Outcome: outbox.Ambiguous, Reason: "BadGateway"}
)

// An hour of each kind of agent: what it costs, and how long a change takes to be told.
func TestSweep(t *testing.T) {
	const (
		// swept is one listing in an interval, and a slow look at one task in half of one at the most.
		swept = int(time.Hour / shortest)
		slow  = int(time.Hour / (shortest / 2))
		// tries is how often in an hour an agent is asked whose listing is of no use.
		tries          = 6
		prompt, polled = 2 * shortest, longest*11/10 + time.Second
	)
	cases := []struct {
		name  string
		tasks int
		agent func(*lister)
		// listings and looks are the most that there may be in the hour, latency the longest time to tell a change.
		listings, looks int
		latency         time.Duration
	}{
		{"listings show what changes", 20, func(*lister) {}, swept, 20 * 66, prompt},
		{"many tasks cost as little", 1000, func(*lister) {}, swept, slow, prompt},
		{"its clock is ahead", 20, func(l *lister) { l.ahead = 5 * time.Hour }, swept, 20 * 66, prompt},
		{"its clock is behind", 20, func(l *lister) { l.ahead = -5 * time.Hour }, swept, 20 * 66, prompt},
		{"three tasks are not worth a listing", 3, func(*lister) {}, 0, 3 * 62, polled},
		{"no timestamps", 20, func(l *lister) { l.untimed = true }, 0, 20 * 62, polled},
		{"there is no such method", 20, func(l *lister) { l.spoil = answering(0, forever, unsupported) }, tries, 20 * 70, polled},
		{"listings alone are forbidden", 20, func(l *lister) { l.spoil = answering(0, forever, forbidden) }, tries, 20 * 70, polled},
		{"listings alone are not found", 20, func(l *lister) { l.spoil = answering(0, forever, notThere) }, tries, 20 * 70, polled},
		{"the filter is ignored", 20, func(l *lister) { l.spoil = answering(0, forever, unfiltered) }, tries, 20 * 70, polled},
		{"the listing has no end", 20, func(l *lister) { l.spoil = answering(0, forever, endless) }, tries, 20 * 70, polled},
		{"listings always fail", 20, func(l *lister) { l.spoil = answering(0, forever, broken) }, 3 * 60 * 2, 20 * 70, polled},
		{"two listings fail", 20, func(l *lister) { l.spoil = answering(100, 102, broken) }, swept, 20 * 66, prompt},
		{"an outage of a minute", 20, func(l *lister) { l.spoil = answering(100, 105, broken) }, swept, 20 * 85, prompt},
		{"half of the entries are lost", 20, func(l *lister) {
			random := rand.New(rand.NewPCG(1, 2))
			l.spoil = showing(func(tasks []outbox.Task) []outbox.Task {
				return slices.DeleteFunc(tasks, func(outbox.Task) bool { return random.IntN(2) == 0 })
			})
		}, swept, 20 * 66, 10 * time.Second},
		{"timestamps are whole seconds in listings", 20, func(l *lister) {
			l.spoil = showing(func(tasks []outbox.Task) []outbox.Task {
				for i := range tasks {
					tasks[i].Timestamp = tasks[i].Timestamp.Truncate(time.Second)
				}
				return tasks
			})
		}, swept, 20 * 66, prompt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, l := newDesk(t), opened(c.tasks)
				c.agent(l)
				d.follow(l)
				d.wait(5 * time.Minute)
				listings, looks := l.counts()
				d.wait(time.Hour)
				moreListings, moreLooks := l.counts()
				if moreListings -= listings; moreListings > c.listings {
					t.Errorf("%d listings in an hour, want %d at the most", moreListings, c.listings)
				}
				if moreLooks -= looks; moreLooks > c.looks {
					t.Errorf("%d looks in an hour in which nothing changed, want %d at the most", moreLooks, c.looks)
				}
				for i := range min(c.tasks, 3) {
					d.wait(time.Duration(i) * time.Minute)
					if got := d.latency(t, l, i, v1alpha1.TaskStateInputRequired); got > c.latency {
						t.Errorf("a change was told after %s, want %s at the most", got, c.latency)
					}
				}
			})
		})
	}
}

// Listings that lack changes cost some time, and then they are not relied on any more.
func TestDistrust(t *testing.T) {
	done := func(t outbox.Task) bool { return t.State == v1alpha1.TaskStateCompleted }
	cases := []struct {
		name  string
		agent func(*lister)
	}{
		{"listings are empty", func(l *lister) {
			l.spoil = showing(func([]outbox.Task) []outbox.Task { return nil })
		}},
		{"what is done is not listed", func(l *lister) {
			l.spoil = showing(func(tasks []outbox.Task) []outbox.Task { return slices.DeleteFunc(tasks, done) })
		}},
		{"timestamps do not change with the state", func(l *lister) { l.frozen = true }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, l := newDesk(t), opened(20)
				c.agent(l)
				d.follow(l)
				// Each of these is told, late: the slow looks are what is left.
				for i := range 3 {
					d.latency(t, l, i, v1alpha1.TaskStateCompleted)
					d.Drop(listedSubject(l, i).Key.UID)
					d.wait(10 * time.Second)
				}
				listings, _ := l.counts()
				d.wait(time.Minute)
				if more, _ := l.counts(); more != listings {
					t.Errorf("%d listings after three changes were missing in them", more-listings)
				}
				if got := d.latency(t, l, 3, v1alpha1.TaskStateCompleted); got > longest*11/10+time.Second {
					t.Errorf("a change was told after %s", got)
				}
				// From time to time they get another chance.
				d.wait(3 * time.Minute)
				if more, _ := l.counts(); more == listings {
					t.Error("no listing for four minutes")
				}
			})
		})
	}
}

// A change costs one look, whatever it is that shows it, and a listing that shows it again costs none.
func TestSweepCostsOneLookPerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(1000)
		d.follow(l)
		d.wait(time.Hour)
		_, before := l.counts()
		for i := range 100 {
			l.set(i, v1alpha1.TaskStateInputRequired)
		}
		d.wait(30 * time.Second)
		if _, after := l.counts(); after-before < 100 || after-before > 100+60 {
			t.Errorf("%d looks for 100 changes, beside a slow one in each second on average", after-before)
		}
	})
}

// A restart tracks all tasks at once. A change has its turn all the same.
func TestAChangeHasItsTurnAmongManyNewTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDesk(t), opened(5000)
		for i := range l.tasks {
			l.set(i, v1alpha1.TaskStateWorking)
			s := listedSubject(l, i)
			s.Limits.PerSecond, s.Limits.InFlight = 50, 16
			d.Track(s)
		}
		d.wait(20 * time.Second)
		if got := d.latency(t, l, 10, v1alpha1.TaskStateInputRequired); got > 2*shortest {
			t.Errorf("a change was told after %s", got)
		}
		listings, looks := l.counts()
		d.wait(10 * time.Second)
		if a, b := l.counts(); a-listings > 6 || b-looks > 10*50 {
			t.Errorf("%d listings and %d looks in 10 seconds", a-listings, b-looks)
		}
	})
}

var _ follow.Lister = (*remote.Client)(nil)

// The first listing begins at the newest state that is known, and not at the one that happened to be looked at first; each
// later one a little before the one before it, though nothing changes.
func TestSinceWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const overlap, idle = 10 * time.Second, 6 * time.Hour
		d, l := newDesk(t), opened(5)
		// More than the overlap while nothing changes.
		l.ahead, l.loses, l.slow = -time.Hour, 3*time.Second, 2*shortest
		for i := range l.tasks {
			l.tasks[i].Timestamp = l.now().Add(-time.Duration(100-10*i) * time.Hour)
			s := listedSubject(l, i)
			s.Limits.InFlight = 2
			d.Track(s)
		}
		newest := l.tasks[4].Timestamp
		d.wait(longest)
		if got := l.since[0]; !got.Equal(newest.Add(-overlap)) {
			t.Errorf("the first listing began at %s, the newest state is of %s", got, newest)
		}
		l.set(0, v1alpha1.TaskStateInputRequired)
		d.wait(idle)
		last := len(l.since) - 1
		if behind := l.now().Sub(l.since[last]); behind < overlap || behind > overlap+3*shortest+idle/1000 {
			t.Errorf("the last listing began %s before the agent's time", behind)
		}
		for i := range l.since[1:] {
			if l.since[i+1].Before(l.since[i]) {
				t.Fatalf("listing %d began %s before the one before it", i+1, l.since[i].Sub(l.since[i+1]))
			}
		}
	})
}
