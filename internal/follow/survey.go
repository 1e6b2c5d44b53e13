// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	// leastOverlap is how far a listing reaches back at the least: the clocks of an agent's replicas differ, a change is not
	// listed at once, and what one listing lost the next ones show.
	leastOverlap = 10 * time.Second
	// maxFailures is how many listings may fail in a row before each task is looked at as if there were none.
	maxFailures = 3
	// chances is how many listings may lack a change that a look has shown.
	chances = 3
	// maxMisses is how many changes may be missing before the listings are distrusted, among trusting looks in a row that were
	// right about the task.
	maxMisses, trusting = 3, 100
	// firstRest is how long an agent's listing is left alone that is of no use; it doubles up to longestRest.
	firstRest, longestRest = 2 * time.Minute, time.Hour
	// outage is how long a listing is left alone that could not be read.
	outage = 30 * time.Second
)

// Verdict is what one listing was good for.
type Verdict string

// The verdicts. All but the first two end the sweeps of that agent for a while.
const (
	// Complete: all pages were read.
	Complete Verdict = "Complete"
	// Failed: the listing could not be read this time.
	Failed Verdict = "Failed"
	// Unavailable: it could not be read several times in a row.
	Unavailable Verdict = "Unavailable"
	// Unsupported: the agent does not list its tasks to this caller.
	Unsupported Verdict = "Unsupported"
	// FilterIgnored: the agent lists all tasks, not those that changed.
	FilterIgnored Verdict = "FilterIgnored"
	// Endless: more changed than is worth a listing, or its pages lead in a circle.
	Endless Verdict = "Endless"
	// Distrusted: the listings lack changes that GetTask shows.
	Distrusted Verdict = "Distrusted"
)

// mark is a task's state as somebody showed it.
type mark struct {
	state string
	at    time.Time
}

func markOf(t *outbox.Task) mark { return mark{string(t.State), t.Timestamp} }

// survey is what an agent's listings have shown and how far they are trusted. It reads no clock and makes no call.
//
// See span for the time that a listing begins at.
type survey struct {
	interval time.Duration
	// theirs is the agent's time that its clock had reached at ours.
	theirs, ours time.Time
	// checked is when the last complete listing was asked for that began by our own clock, and doubted whether one of these
	// showed what the others had to show.
	checked time.Time
	doubted bool
	// began is when the first complete listing was asked for, since when every change is to be listed; through, when the
	// last one was. Both are zero before it.
	began, through time.Time
	// listed is what the listings showed of followed tasks, and owed what looks showed that no listing has yet.
	listed map[string]mark
	owed   map[string]debt
	misses int
	// right counts looks since the last miss.
	right    int
	failures int
	// rests counts how often in a row the listing was of no use, and until is the end of such a rest.
	rests int
	until time.Time
}

// debt is a change that is to be in one of the next listings.
type debt struct {
	mark
	shown time.Time
	left  int
}

func newSurvey(interval time.Duration) *survey {
	return &survey{interval: interval, listed: map[string]mark{}, owed: map[string]debt{}}
}

// working reports whether changes come by listings, so that looks at single tasks may be rare.
func (s *survey) working() bool { return !s.through.IsZero() }

// entry is a followed task that a listing shows otherwise than those before it. Again says that it was listed before.
type entry struct {
	mark
	id    string
	again bool
}

// take reads a listing of a span that was asked for at one time and came at another.
func (s *survey) take(of span, asked, came time.Time, tasks []outbox.Task, ex outbox.Exchange, followed func(string) bool) ([]entry, Verdict) {
	var changed []entry
	present := map[string]mark{}
	for i := range tasks {
		id, m := tasks[i].ID, markOf(&tasks[i])
		present[id] = m
		s.learn(m.at, came)
		if last, known := s.listed[id]; followed(id) && (!known || last != m) {
			s.listed[id] = m
			changed = append(changed, entry{mark: m, id: id, again: known})
		}
	}
	verdict := s.judge(ex)
	switch verdict {
	case Failed:
		return changed, verdict
	case Complete:
		if s.began.IsZero() {
			s.began = asked
		}
		s.through, s.failures = asked, 0
		if of.ours {
			s.checked = asked
		}
		s.collect(asked, present)
		if s.misses >= maxMisses {
			verdict = Distrusted
		}
	}
	if verdict != Complete {
		s.rest(came, verdict)
	}
	return changed, verdict
}

func (s *survey) judge(ex outbox.Exchange) Verdict {
	switch {
	case ex.Outcome == outbox.Accepted:
		return Complete
	case ex.Reason == remote.ReasonFilterIgnored:
		return FilterIgnored
	case ex.Reason == remote.ReasonListingEndless:
		return Endless
	case ex.Outcome == outbox.Refused, ex.Outcome == outbox.Unauthorized, ex.Reason == remote.ReasonEndpointNotFound:
		return Unsupported
	}
	if s.failures++; s.failures >= maxFailures {
		return Unavailable
	}
	return Failed
}

// rest forgets what the listings showed, since it was of no use, and leaves them alone for a while. A rest after work that
// lasted counts as the first.
func (s *survey) rest(now time.Time, why Verdict) {
	rests, fresh := s.rests, newSurvey(s.interval)
	if s.working() && now.Sub(s.began) > longestRest {
		rests = 0
	}
	if fresh.rests, fresh.until = rests, now.Add(outage); why != Unavailable {
		fresh.rests, fresh.until = rests+1, now.Add(min(firstRest<<min(rests, 10), longestRest))
	}
	*s = *fresh
}

// gap is the time from one listing to the next.
func (s *survey) gap(longest time.Duration) time.Duration {
	return max(s.interval, min(s.interval<<s.failures, longest))
}

// looked compares a look at a task with what the listings show: before is what the look before it saw, which was asked
// for at that time, and now what this one saw. A change since is to be listed, by one of the next listings at the latest.
// What changed before the listings began need not be. A look that a hint asked for says nothing of the changes without one.
func (s *survey) looked(id string, before mark, asked time.Time, now mark, came time.Time, hinted bool) {
	switch {
	case !s.working() || asked.Before(s.began) || before == (mark{}):
	case before == now, s.listed[id] == now:
		if hinted {
			return
		}
		if s.right++; s.right >= trusting {
			s.misses, s.right = 0, 0
		}
	default:
		s.owed[id] = debt{mark: now, shown: came, left: chances}
	}
}

// collect settles the debts with what a listing shows that was asked for at that time. One that shows a later change has
// shown this one.
func (s *survey) collect(asked time.Time, present map[string]mark) {
	for id, d := range s.owed {
		m, shown := present[id]
		switch {
		case shown && (m.state == d.state || m.at.After(d.at)):
			delete(s.owed, id)
		case asked.Before(d.shown):
		case d.left > 1:
			d.left--
			s.owed[id] = d
		default:
			delete(s.owed, id)
			s.misses++
			s.right = 0
		}
	}
}
