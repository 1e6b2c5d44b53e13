// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"
)

// An agent that answers an error for an hour: how often it is asked, and how the time between two attempts grows.
func TestAnHourOfErrors(t *testing.T) {
	for _, c := range []struct {
		name       string
		outcome    Outcome
		retryAfter time.Duration
		world      func() *world
		// from and to bound the attempts of the hour: 1, 2, 4 … 32 s take a minute, then one a minute, ±20 %.
		from, to int
		// rest is the least time between the last two, and most the greatest.
		rest, most time.Duration
	}{
		{name: "500 from a deduplicating agent", outcome: Ambiguous, world: func() *world { return minted().deduplicating() }, from: 55, to: 80, rest: 48 * time.Second, most: 74 * time.Second},
		{name: "away", outcome: NotSent, world: minted, from: 55, to: 80, rest: 48 * time.Second, most: 74 * time.Second},
		{name: "429 with Retry-After of five minutes", outcome: NotSent, retryAfter: 5 * time.Minute, world: minted, from: 12, to: 13, rest: 5 * time.Minute, most: 5*time.Minute + 2*time.Second},
		{name: "503 with Retry-After of a day, which is capped", outcome: NotSent, retryAfter: 24 * time.Hour, world: minted, from: 4, to: 5, rest: 15 * time.Minute, most: 15*time.Minute + 2*time.Second},
		{name: "wrong credentials", outcome: Unauthorized, world: minted, from: 13, to: 22, rest: 4 * time.Minute, most: 6*time.Minute + 2*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := anHour(t, c.world(), c.outcome, c.retryAfter)
			if len(sent) < c.from || len(sent) > c.to {
				t.Fatalf("%d attempts in an hour, want %d to %d", len(sent), c.from, c.to)
			}
			last := sent[len(sent)-1].Sub(sent[len(sent)-2])
			if last < c.rest || last > c.most {
				t.Errorf("%s between the last two attempts, want %s to %s", last, c.rest, c.most)
			}
			if even := sent[len(sent)-1].Sub(sent[len(sent)-2]) == sent[len(sent)-2].Sub(sent[len(sent)-3]); even && c.retryAfter == 0 {
				t.Error("the attempts come in an even beat: there is no jitter")
			}
		})
	}
}

// anHour plays the hour by a clock of its own and returns when the attempts began.
func anHour(t *testing.T, w *world, outcome Outcome, retryAfter time.Duration) []time.Time {
	t.Helper()
	var sent []time.Time
	for w.Now.Before(start.Add(time.Hour)) {
		switch a := Next(w.Input).(type) {
		case Send:
			sent = append(sent, w.Now)
			a.Attempt.Started, a.Attempt.Deadline = w.Now, w.Now.Add(a.Timeout)
			if err := a.Attempt.Annotate(w.Delegation); err != nil {
				t.Fatal(err)
			}
			w.result(CallSend, outcome)
			w.Result.Attempt, w.Result.Journal, w.Result.RetryAfter = a.Attempt.Number, a.Attempt.Started, retryAfter
		case Record:
			w.Delegation.Status = roundTrip(t, a.Status)
			if a.Settles {
				w.Result = nil
			}
		case Wait:
			if !a.Until.After(w.Now) {
				t.Fatalf("waits until %s at %s", a.Until, w.Now)
			}
			w.Now = a.Until
		default:
			t.Fatalf("%T", a)
		}
	}
	return sent
}
