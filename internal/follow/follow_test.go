// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// grown are n intervals from the shortest on, each half as long again, up to the longest.
func grown(n int) []time.Duration {
	var out []time.Duration
	for d := float64(shortest); len(out) < n; d *= 1.5 {
		out = append(out, min(time.Duration(d), longest))
	}
	return out
}

// Each gap is measured from the look before, so that the spread does not add up.
func TestIntervals(t *testing.T) {
	noted := task(v1alpha1.TaskStateWorking, "half done", time.Time{})
	stamped := task(v1alpha1.TaskStateWorking, "", time.Unix(1, 0).UTC())
	later := func(ex outbox.Exchange, after time.Duration) outbox.Exchange {
		ex.RetryAfter = after
		return ex
	}
	again := slices.Concat([]time.Duration{shortest}, grown(3))
	cases := []struct {
		name    string
		answers []outbox.Exchange
		want    []time.Duration
	}{
		{"nothing changes", []outbox.Exchange{working}, slices.Concat([]time.Duration{shortest}, grown(12))},
		{"the state changes", []outbox.Exchange{working, working, working, completed}, slices.Concat(again, grown(9))},
		{"the message changes", []outbox.Exchange{working, working, working, noted}, slices.Concat(again, grown(9))},
		{"the timestamp changes", []outbox.Exchange{working, working, working, stamped}, slices.Concat(again, grown(9))},
		{"it never works", []outbox.Exchange{failed}, grown(12)},
		{"it works again", []outbox.Exchange{working, failed, failed, working}, slices.Concat(
			[]time.Duration{shortest, shortest, shortest * 3 / 2, shortest * 9 / 4}, grown(9))},
		{"it fails once in a while", []outbox.Exchange{working, working, failed, working, working}, slices.Concat(
			[]time.Duration{shortest, shortest, shortest * 3 / 2, shortest * 9 / 4}, grown(9))},
		{"the agent asks for time", []outbox.Exchange{working, later(failed, 5*time.Minute), failed},
			[]time.Duration{shortest, shortest, 5 * time.Minute, shortest * 9 / 4}},
		{"a good answer asks for time", []outbox.Exchange{later(working, 5*time.Minute), working},
			[]time.Duration{shortest, 5 * time.Minute, shortest * 3 / 2}},
		{"the agent asks for less than is given", []outbox.Exchange{later(failed, time.Second)}, grown(12)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), scripted(c.answers...)
				d.Track(subject("reconcile", a))
				d.wait(time.Hour)
				wantGaps(t, a.gaps(d.start), c.want...)
			})
		})
	}
}

// Retry-After is the least that an agent asked for: no spread shortens it.
func TestRetryAfterIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		busy := failed
		busy.RetryAfter = longest
		a := scripted(busy)
		d.Track(subject("reconcile", a))
		d.wait(2 * time.Hour)
		gaps := a.gaps(d.start)[1:]
		if len(gaps) < 50 {
			t.Fatalf("only %d looks", len(gaps))
		}
		if shortest := slices.Min(gaps); shortest < longest {
			t.Errorf("a look after %s, want at least %s", shortest, longest)
		}
	})
}

// Tasks that begin together are spread over ±10 % of the interval.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		agents := make([]*agent, 200)
		for i := range agents {
			agents[i] = scripted(working)
			d.Track(subject(string(rune('a'+i)), agents[i]))
		}
		d.wait(shortest * 11 / 10)
		var first []time.Duration
		for _, a := range agents {
			wantGaps(t, a.gaps(d.start), shortest)
			first = append(first, a.gaps(d.start)[0])
		}
		if low, high := slices.Min(first), slices.Max(first); low > shortest*93/100 || high < shortest*107/100 {
			t.Errorf("200 first looks between %s and %s: they hardly differ", low, high)
		}
	})
}

func TestDelivered(t *testing.T) {
	noted := task(v1alpha1.TaskStateWorking, "half done", time.Time{})
	absent := outbox.Exchange{Outcome: outbox.Absent, Reason: "TaskNotFound"}
	cases := []struct {
		name    string
		answers []outbox.Exchange
		// refuse is how many deliveries are not taken.
		refuse int
		// want are the numbers of the answers that are delivered.
		want []int
	}{
		{"an unchanged task is told once", []outbox.Exchange{working, working, working, working}, 0, []int{0}},
		{"a change is told", []outbox.Exchange{working, noted, noted, completed}, 0, []int{0, 1, 3}},
		{"a change back is told", []outbox.Exchange{working, noted, working, working}, 0, []int{0, 1, 2}},
		{"a failed look is told each time", []outbox.Exchange{failed, failed, absent, absent}, 0, []int{0, 1, 2, 3}},
		{"a good look after a failed one is told", []outbox.Exchange{working, failed, working, working}, 0, []int{0, 1, 2}},
		{"what was not taken is told again", []outbox.Exchange{working, working, working, working}, 2, []int{0, 1, 2}},
		{"a failed look that was not taken is told like any", []outbox.Exchange{failed, working, working, working}, 1, []int{0, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, a := newDesk(t), scripted(c.answers...)
				d.refuse = c.refuse
				s := subject("reconcile", a)
				d.Track(s)
				for range 60 {
					if d.wait(time.Second); a.count() == len(c.answers) {
						break
					}
				}
				d.Drop(s.Key.UID)
				got := d.results()
				if len(got) != len(c.want) {
					t.Fatalf("%d results were delivered, want %d", len(got), len(c.want))
				}
				for i, r := range got {
					want := c.answers[c.want[i]]
					if r.Call != outbox.CallGet || r.Outcome != want.Outcome || r.Reason != want.Reason || r.Task != want.Task || d.keys[i] != s.Key {
						t.Errorf("delivery %d: %+v for %v, want answer %d", i, r, d.keys[i], c.want[i])
					}
				}
			})
		})
	}
}
