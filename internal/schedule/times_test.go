// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"testing"
	"time"
)

// What a schedule's times are, across the changes of clocks. They are those of a CronJob.
func TestNext(t *testing.T) {
	for _, c := range []struct{ name, cron, zone, after, want string }{
		{"the next hour", "0 * * * *", "", "2026-03-02T06:30Z", "2026-03-02T07:00Z"},
		{"not the time itself", "0 * * * *", "", "2026-03-02T07:00Z", "2026-03-02T08:00Z"},
		{"a second before", "0 * * * *", "", "2026-03-02T06:59:59Z", "2026-03-02T07:00Z"},
		{"@hourly", "@hourly", "", "2026-03-02T06:30Z", "2026-03-02T07:00Z"},
		{"@monthly, at midnight of the zone", "@monthly", "Europe/Berlin", "2026-03-02T06:30Z", "2026-03-31T22:00Z"},
		{"@weekly", "@weekly", "", "2026-03-02T06:30Z", "2026-03-08T00:00Z"},
		{"names", "30 6 * * MON-fri", "", "2026-03-06T06:30Z", "2026-03-09T06:30Z"},
		{"a day of month or a day of week", "0 0 13 * 5", "", "2026-03-02T06:30Z", "2026-03-06T00:00Z"},
		{"a leap day", "0 0 29 2 *", "", "2026-03-02T06:30Z", "2028-02-29T00:00Z"},
		{"winter", "30 6 * * *", "Europe/Berlin", "2026-03-28T00:00Z", "2026-03-28T05:30Z"},
		{"summer", "30 6 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T04:30Z"},
		{"a time that clocks skip: the day is left out", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-30T00:30Z"},
		{"each hour across the skip", "0 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T01:00Z"},
		{"a time that comes twice: first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-25T00:30Z"},
		{"a time that comes twice: and again", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-25T01:30Z"},
		{"a time that comes twice: over", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:30Z", "2026-10-26T01:30Z"},
		{"a midnight that there is not: not that day", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00Z", "2026-04-24T21:00Z"},
		{"a zone of half hours", "0 9 * * *", "Asia/Kolkata", "2026-03-02T00:00Z", "2026-03-02T03:30Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			zone := time.UTC
			if c.zone != "" {
				var err error
				if zone, err = time.LoadLocation(c.zone); err != nil {
					t.Fatal(err)
				}
			}
			ts, err := parse(c.cron, zone)
			if err != nil {
				t.Fatal(err)
			}
			if got := ts.next(at(t, c.after)); !got.Equal(at(t, c.want)) {
				t.Errorf("got %s; want %s", stamp(got), c.want)
			}
		})
	}
}

func TestUnreadableSchedules(t *testing.T) {
	for _, s := range []string{"", "* * * *", "60 * * * *", "TZ=0", "TZ=UTC", "CRON_TZ=", "@every 5m", "@fortnightly", "0 0 * * mo", "5-1 * * * *", "*/0 * * * *"} {
		if _, err := parse(s, time.UTC); err == nil {
			t.Errorf("%q was read", s)
		}
	}
}

// However many times have passed, the latest is found, with few looks and exactly.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		name, cron, after, now, latest, previous string
		count                                    int
	}{
		{name: "none", cron: "0 * * * *", after: "2026-03-02T06:30Z", now: "2026-03-02T06:59Z"},
		{name: "one, at the second", cron: "0 * * * *", after: "2026-03-02T06:30Z", now: "2026-03-02T07:00Z", latest: "2026-03-02T07:00Z", count: 1},
		{name: "three", cron: "0 * * * *", after: "2026-03-02T06:30Z", now: "2026-03-02T09:10Z", latest: "2026-03-02T09:00Z", previous: "2026-03-02T08:00Z", count: 3},
		{name: "100", cron: "0 * * * *", after: "2026-03-02T06:30Z", now: "2026-03-06T10:10Z", latest: "2026-03-06T10:00Z", previous: "2026-03-06T09:00Z", count: 100},
		{name: "101", cron: "0 * * * *", after: "2026-03-02T06:30Z", now: "2026-03-06T11:10Z", latest: "2026-03-06T11:00Z", previous: "2026-03-06T10:00Z", count: 101},
		{name: "26 million", cron: "* * * * *", after: "1976-01-01T00:00Z", now: "2026-03-02T06:30:59Z", latest: "2026-03-02T06:30Z", previous: "2026-03-02T06:29Z", count: 101},
		{name: "in bursts, with a long gap at the end", cron: "* 6-8 1 * *", after: "2025-01-01T00:00Z", now: "2026-03-30T09:10Z", latest: "2026-03-01T08:59Z", previous: "2026-03-01T08:58Z", count: 101},
		{name: "the clock is behind", cron: "0 * * * *", after: "2026-03-02T07:00Z", now: "2026-03-02T06:59Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts, err := parse(c.cron, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			want := due{count: c.count}
			if c.latest != "" {
				want.latest = at(t, c.latest)
			}
			if c.previous != "" {
				want.previous = at(t, c.previous)
			}
			got := ts.between(at(t, c.after), at(t, c.now))
			if fmt.Sprint(got.latest.UTC(), got.previous.UTC(), got.count) != fmt.Sprint(want.latest.UTC(), want.previous.UTC(), want.count) {
				t.Errorf("got %v, %v, %d; want %v, %v, %d", got.latest, got.previous, got.count, want.latest, want.previous, want.count)
			}
		})
	}
}
