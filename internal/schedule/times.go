// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
	_ "time/tzdata" // an image without a time zone database knows all zones

	"github.com/robfig/cron/v3"
)

const (
	// maxCounted bounds how many times are gone through one by one. More are counted as "more than".
	maxCounted = 100
	// granularity of the times: none are closer to each other than a minute.
	granularity = time.Minute
)

// times are the times of a schedule.
type times struct{ spec *cron.SpecSchedule }

// parse reads a schedule in a time zone that is known. It uses the parser of kube-controller-manager's own CronJobs, and
// only that; what it is known to panic at begins with TZ=, which the API server refuses.
func parse(schedule string, zone *time.Location) (t times, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return times{}, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return times{}, fmt.Errorf("%q has no fixed times", schedule)
	}
	spec.Location = zone
	return times{spec}, nil
}

// next is the first time after another; the zero time where none comes within five years.
func (t times) next(after time.Time) time.Time { return t.spec.Next(after.UTC()) }

// due are the times after one and up to another.
type due struct {
	// latest of them, zero where there is none; previous is the one before it.
	latest, previous time.Time
	// count of them, maxCounted+1 for more than that.
	count int
}

// between returns the times that are after one and not after another. However many there are, it looks at a bounded number.
func (t times) between(after, now time.Time) due {
	var d due
	for at := t.next(after); !at.IsZero() && !at.After(now); at = t.next(at) {
		d.count++
		if d.count > maxCounted {
			d.latest = t.last(after, now)
			d.previous = t.last(after, d.latest.Add(-time.Second))
			return d
		}
		d.previous, d.latest = d.latest, at
	}
	return d
}

// last searches the latest time after one and not after another, where there is at least one.
func (t times) last(after, now time.Time) time.Time {
	low, high := after, now // one is after low, none is after high
	for high.Sub(low) >= granularity {
		middle := low.Add(high.Sub(low) / 2)
		if at := t.next(middle); at.IsZero() || at.After(now) {
			high = middle
		} else {
			low = middle
		}
	}
	return t.next(low)
}
