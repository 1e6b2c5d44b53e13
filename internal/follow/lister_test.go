// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// lister is an agent that lists its tasks. Its clock is so far ahead of ours, and loses so much of each hour.
type lister struct {
	ahead, loses time.Duration
	begun        time.Time
	// slow is how long a look takes.
	slow time.Duration
	// untimed says that states have no timestamps; frozen, that they keep their first.
	untimed, frozen bool
	// spoil changes the nth listing, the first is 0; nil for a good one.
	spoil func(n int, since time.Time, tasks []outbox.Task) ([]outbox.Task, outbox.Exchange)

	mu    sync.Mutex
	tasks []outbox.Task
	// listings and looks are when the agent was asked.
	listings, looks []time.Time
	// since is what was asked for, listing by listing.
	since []time.Time
}

// opened returns an agent with so many tasks at work, which began one after the other.
func opened(n int) *lister {
	l := &lister{}
	for i := range n {
		l.tasks = append(l.tasks, outbox.Task{ID: fmt.Sprintf("t-%d", i), State: v1alpha1.TaskStateWorking})
	}
	return l
}

func (l *lister) now() time.Time {
	if l.untimed {
		return time.Time{}
	}
	if l.begun.IsZero() {
		l.begun = time.Now()
	}
	lost := time.Duration(time.Since(l.begun).Hours() * float64(l.loses))
	return time.Now().Add(l.ahead - lost).UTC()
}

// Get implements follow.Agent.
func (l *lister) Get(_ context.Context, id string) outbox.Exchange {
	time.Sleep(max(l.slow, 10*time.Millisecond))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks = append(l.looks, time.Now())
	for _, t := range l.tasks {
		if t.ID == id {
			return outbox.Exchange{Outcome: outbox.Accepted, Task: &t}
		}
	}
	return outbox.Exchange{Outcome: outbox.Absent, Reason: remote.ReasonTaskNotFound}
}

// Changes implements follow.Lister.
func (l *lister) Changes(_ context.Context, since time.Time) ([]outbox.Task, outbox.Exchange) {
	time.Sleep(10 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listings, l.since = append(l.listings, time.Now()), append(l.since, since)
	var shown []outbox.Task
	for _, t := range l.tasks {
		if !t.Timestamp.Before(since.Truncate(time.Second)) {
			shown = append(shown, t)
		}
	}
	if l.spoil != nil {
		return l.spoil(len(l.listings)-1, since, shown)
	}
	return shown, outbox.Exchange{Outcome: outbox.Accepted}
}

// set changes a task's state.
func (l *lister) set(i int, state v1alpha1.TaskState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks[i].State = state
	if !l.frozen || l.tasks[i].Timestamp.IsZero() {
		l.tasks[i].Timestamp = l.now()
	}
}

// stamp gives a task's state another time.
func (l *lister) stamp(i int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks[i].Timestamp = at
}

func (l *lister) counts() (listings, looks int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.listings), len(l.looks)
}

// follow tracks all of the agent's tasks, and lets time pass until each was looked at and listings have begun if they do.
func (d *desk) follow(l *lister) {
	for i := range l.tasks {
		l.set(i, v1alpha1.TaskStateWorking)
		d.Track(listedSubject(l, i))
	}
	d.wait(longest)
}

func listedSubject(l *lister, i int) follow.Subject {
	s := subject(fmt.Sprint(i), l)
	s.TaskID, s.Timestamp, s.Lister = l.tasks[i].ID, l.tasks[i].Timestamp, l
	return s
}

// latency changes a task and returns how long it takes until its change is told.
func (d *desk) latency(t *testing.T, l *lister, i int, state v1alpha1.TaskState) time.Duration {
	t.Helper()
	at := time.Now()
	l.set(i, state)
	for time.Since(at) < 24*time.Hour {
		for _, r := range d.results() {
			if r.Task != nil && r.Task.ID == l.tasks[i].ID && r.Task.State == state {
				return time.Since(at)
			}
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
	}
	t.Fatalf("task %d was never told to be %s", i, state)
	return 0
}
