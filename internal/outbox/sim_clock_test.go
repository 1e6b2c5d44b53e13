// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"math/rand/v2"
	"time"
)

// simClock is virtual time. It jumps from one event to the next; nothing sleeps.
type simClock struct {
	elapsed time.Duration
	events  uint64
	queue   []simEvent
}

// simEvent runs at a time; of two at the same time the one that was planned first.
type simEvent struct {
	at  time.Duration
	seq uint64
	run func()
}

func (e *simEvent) before(o *simEvent) bool {
	return e.at < o.at || (e.at == o.at && e.seq < o.seq)
}

// time is the virtual time of day.
func (c *simClock) time() time.Time { return start.Add(c.elapsed) }

// at plans an event. One in the past runs now.
func (c *simClock) at(at time.Duration, run func()) {
	c.events++
	c.queue = append(c.queue, simEvent{at: max(at, c.elapsed), seq: c.events, run: run})
	for i := len(c.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if !c.queue[i].before(&c.queue[parent]) {
			return
		}
		c.queue[i], c.queue[parent] = c.queue[parent], c.queue[i]
		i = parent
	}
}

func (c *simClock) after(d time.Duration, run func()) { c.at(c.elapsed+d, run) }

// step runs the next event up to an end, and reports whether there was one.
func (c *simClock) step(end time.Duration) bool {
	if len(c.queue) == 0 || c.queue[0].at > end {
		return false
	}
	next := c.pop()
	c.elapsed = next.at
	next.run()
	return true
}

func (c *simClock) pop() simEvent {
	q := c.queue
	top, last := q[0], len(q)-1
	q[0], q[last] = q[last], simEvent{}
	q = q[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && q[child].before(&q[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
	c.queue = q
	return top
}

// simDice is the only source of chance. Everything it draws is whole numbers, so that a seed is the same schedule on every
// machine.
type simDice struct{ *rand.Rand }

func newSimDice(seed uint64) simDice { return simDice{rand.New(rand.NewPCG(seed, 0xa2a))} }

func (d simDice) chance(percent int) bool { return percent > 0 && d.IntN(100) < percent }

// between draws a duration of an order of magnitude that is as likely as any other: narrow windows are met as often as
// wide ones.
func (d simDice) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	octaves := 1
	for lo<<octaves < hi {
		octaves++
	}
	base := lo << d.IntN(octaves)
	return min(base+time.Duration(d.Int64N(int64(base))), hi)
}

// pick draws one of several.
func pick[T any](d simDice, of ...T) T { return of[d.IntN(len(of))] }
