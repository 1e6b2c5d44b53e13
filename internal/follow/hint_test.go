// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	// gap is the least time between two looks that hints ask for.
	gap        = 250 * time.Millisecond
	financeUID = "finance"
)

func TestHints(t *testing.T) {
	const idle = 1500 * time.Millisecond // less than the shortest interval
	asked := failed
	asked.RetryAfter = time.Minute
	cases := []struct {
		name string
		a    *agent
		do   func(*desk)
		want []time.Duration
	}{
		{"none", scripted(working), func(*desk) {}, nil},
		{"one is one look, at once", scripted(working), func(d *desk) { d.Hint(financeUID, "t-1") }, []time.Duration{0}},
		{"many are one", scripted(working), func(d *desk) {
			for range 10 {
				d.Hint(financeUID, "t-1")
			}
		}, []time.Duration{0}},
		{"a stream of them is looked at in its own time", scripted(working), func(d *desk) {
			for range 50 {
				d.Hint(financeUID, "t-1")
				d.wait(10 * time.Millisecond)
			}
		}, []time.Duration{0, gap, gap}},
		{"one during a look is another look", lasting(gap*2, working), func(d *desk) {
			d.Hint(financeUID, "t-1")
			d.wait(gap)
			d.Hint(financeUID, "t-1")
		}, []time.Duration{0, gap * 2}},
		{"for another task", scripted(working), func(d *desk) { d.Hint(financeUID, "t-2") }, nil},
		{"of another agent", scripted(working), func(d *desk) { d.Hint("hr", "t-1") }, nil},
		{"for a task that is not followed any more", scripted(working), func(d *desk) {
			d.Drop("uid-reconcile")
			d.Hint(financeUID, "t-1")
		}, nil},
		{"the agent asked for time", scripted(asked), func(d *desk) {
			d.Hint(financeUID, "t-1")
			d.wait(time.Second)
			d.Hint(financeUID, "t-1")
		}, []time.Duration{0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.Track(subject("reconcile", c.a))
				c.do(d)
				d.wait(time.Until(d.start.Add(idle)))
				got := c.a.gaps(d.start)
				if len(got) != len(c.want) {
					t.Fatalf("looks after %v, want %v", got, c.want)
				}
				for i := range got {
					if got[i] != c.want[i] {
						t.Errorf("look %d after %v, want %v", i+1, got[i], c.want[i])
					}
				}
			})
		})
	}
}

// A task that several Delegations follow is one task: a hint is for all of them.
func TestHintIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a := newDesk(t), scripted(completed)
		d.Track(subject("reconcile", a))
		d.Track(subject("approve", a))
		d.Hint(financeUID, "t-1")
		d.wait(time.Second)
		if got := len(d.results()); got != 2 {
			t.Errorf("%d were told, want 2", got)
		}
	})
}

// What comes while a look is on its way may be missing in it, so the news of the second look must not get lost.
func TestHintDuringTheLastQuietLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := &agent{answer: func(_ context.Context, n int) outbox.Exchange {
			if n == 0 {
				d.Hint(financeUID, "t-1") // the task completed after the agent had read it
				return working
			}
			return completed
		}}
		d.Track(subject("reconcile", a))
		d.Hint(financeUID, "t-1")
		d.wait(time.Second)
		if got := d.results(); len(got) != 2 || got[1].Task.State != completed.Task.State {
			t.Errorf("told %v", got)
		}
	})
}

// An agent that says something new all the time is heard, and told of once a second: each piece of news is a write. What
// ends the wait is told at once.
func TestNewsOfATaskThatGoesOnIsRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ended := time.Now().Add(5300 * time.Millisecond)
		a := &agent{answer: func(_ context.Context, n int) outbox.Exchange {
			if !time.Now().Before(ended) {
				return completed
			}
			return task(v1alpha1.TaskStateWorking, fmt.Sprint("step ", n), time.Time{})
		}}
		d.Track(subject("reconcile", a))
		for range 60 {
			d.Hint(financeUID, "t-1")
			d.wait(100 * time.Millisecond)
		}
		got := d.results()
		if len(got) < 6 || len(got) > 7 || got[len(got)-1].Task.State != v1alpha1.TaskStateCompleted {
			t.Fatalf("told %d times of %d looks", len(got), a.count())
		}
		if late := time.Since(ended); late > time.Second {
			t.Fatalf("the test took too long: %s", late)
		}
	})
}
