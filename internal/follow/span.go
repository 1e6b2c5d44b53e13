// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import "time"

const (
	// slack is how much slower than ours an agent's clock may run, one part in slack.
	slack = 1000
	// checkEvery is how many intervals there are from one listing by our own clock to the next.
	checkEvery = 15
)

// span is what a listing is asked for: the changes since a time of the agent's clock.
//
// The timestamps are the agent's, and what is known of its clock is a lower bound: when a timestamp came, the clock showed
// that time or a later one, and since then it went on about as ours did. That holds unless a timestamp was never true, as
// of a task with a time in the future, or the clock was set back. Then the bound is too late, listings that begin by it
// show nothing, and nothing shows that. So a bound that is ahead of our clock is checked, from time to time, by a listing
// that begins by ours, which is earlier and shows more.
type span struct {
	since time.Time
	// bound is where a listing begins by what is known of the agent's clock, and ours whether this one begins by our own.
	bound time.Time
	ours  bool
}

// belies reports whether a task that a listing shows for the first time was to be in the one before it.
func (p span) belies(at time.Time) bool { return p.ours && !at.IsZero() && at.Before(p.bound) }

// learn takes note of a timestamp of the agent's.
func (s *survey) learn(theirs, ours time.Time) {
	if !theirs.IsZero() && (s.theirs.IsZero() || theirs.After(s.clock(ours))) {
		s.theirs, s.ours = theirs, ours
	}
}

// clock is what the agent's clock showed at the least when ours showed that time.
func (s *survey) clock(ours time.Time) time.Time {
	passed := ours.Sub(s.ours)
	return s.theirs.Add(passed - passed.Abs()/slack)
}

// next is what the next listing is to be asked for; false while nothing is known of the agent's clock.
func (s *survey) next(now time.Time) (span, bool) {
	if s.theirs.IsZero() {
		return span{}, false
	}
	overlap := max(leastOverlap, chances*s.interval)
	bound := s.theirs.Add(-overlap)
	if !s.through.IsZero() {
		bound = s.clock(s.through).Add(-overlap)
	}
	if !bound.After(now) || (!s.doubted && now.Sub(s.checked) < checkEvery*s.interval) {
		return span{since: bound, bound: bound}, true
	}
	from := now
	if !s.checked.IsZero() {
		from = s.checked
	}
	return span{since: from.Add(-overlap), bound: bound, ours: true}, true
}
