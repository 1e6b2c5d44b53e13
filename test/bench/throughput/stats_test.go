// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i + 1) // falling
	}
	for _, c := range []struct {
		name  string
		times []time.Duration
		q     float64
		want  time.Duration
	}{
		{"median of a hundred", hundred, 0.5, 50},
		{"99th of a hundred", hundred, 0.99, 99},
		{"the longest", hundred, 1, 100},
		{"the shortest", hundred, 0, 1},
		{"99th of two", []time.Duration{7, 3}, 0.99, 7},
		{"of one", []time.Duration{7}, 0.5, 7},
		{"of none", nil, 0.5, 0},
	} {
		if got := quantile(c.times, c.q); got != c.want {
			t.Errorf("%s = %d, want %d", c.name, got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("quantile sorted its argument")
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{5, 1, 3}); got != 3 {
		t.Errorf("of three = %g, want 3", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("of four = %g, want 2.5", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("of none = %g, want NaN", got)
	}
}

// One round with simple numbers: 10 Delegations at 25/s, with 3 writes each, where 200 raw updates/s go.
func TestRatios(t *testing.T) {
	r := round{level: level{updates: 200, write: 8 * time.Millisecond, post: 2 * time.Millisecond, cpu: 5 * time.Millisecond}}
	r.batch = batch{n: 10, rate: 25, delegationWrites: 30, events: 20, cpu: cpu{manager: 100 * time.Millisecond, apiServer: 200 * time.Millisecond, etcd: 100 * time.Millisecond}}
	r.idle.received = []time.Duration{25 * time.Millisecond}
	r.counts = counts{Sends: 12, Messages: 11}
	got := mediansOf([]round{r})
	for key, want := range map[string]float64{
		"eta": 0.5, "etaCPU": 0.5, "writesPerDelegation": 3, "eventsPerDelegation": 2, "receiptRatio": 2.5, "managerCPU": 2, "serversCPU": 6, "duplicates": 1,
	} {
		if got[key] != want {
			t.Errorf("%s = %g, want %g", key, got[key], want)
		}
	}
}

// An aim that one round of several missed is not reached, although the median has it.
func TestVerdict(t *testing.T) {
	good, bad := round{batch: batch{n: 1, delegationWrites: 3}}, round{batch: batch{n: 1, delegationWrites: 4}}
	for _, c := range []struct {
		rounds []round
		want   string
	}{
		{[]round{good, good, good}, "| 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | reached |"},
		{[]round{good, bad, good}, "| 3.00 | 4.00 | 3.00 | 3.00 | 3.00 | not reached |"},
	} {
		var out strings.Builder
		if err := printTable(&out, c.rounds); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v\n%s\nlacks %s", err, out.String(), c.want)
		}
	}
}

// So many arrivals as the rate says, in order and inside the time, and the same for the same seed.
func TestArrivals(t *testing.T) {
	const rate, d = 50, 100 * time.Second
	first := arrivals(rate, d, rand.New(rand.NewPCG(1, 1)))
	second := arrivals(rate, d, rand.New(rand.NewPCG(1, 1)))
	if !slices.Equal(first, second) {
		t.Error("two schedules of one seed differ")
	}
	if n := float64(len(first)); math.Abs(n-5000) > 4*math.Sqrt(5000) {
		t.Errorf("%g arrivals in %s at %d/s", n, d, rate)
	}
	if !slices.IsSorted(first) || first[0] < 0 || first[len(first)-1] >= d {
		t.Errorf("from %s to %s, want ascending times from 0 to %s", first[0], first[len(first)-1], d)
	}
}

// What is open at the end of a window is its backlog, whenever it came; a latency belongs to the window of the arrival.
func TestWindows(t *testing.T) {
	begun := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begun.Add(time.Duration(s * float64(time.Second))) }
	all := []sighting{
		{created: at(1), received: at(1.5), bound: at(2), finished: at(3)},
		{created: at(9), received: at(9.5), bound: at(10), finished: at(25)},
		{created: at(12), received: at(14), bound: at(15), finished: at(16)},
	}
	got := windows(all, begun, 25*time.Second, 10*time.Second)
	want := []struct {
		end               time.Duration
		arrivals, backlog int
		received          time.Duration
	}{
		{10 * time.Second, 2, 1, 500 * time.Millisecond},
		{20 * time.Second, 1, 1, 2 * time.Second},
		{25 * time.Second, 0, 0, 0},
	}
	if len(got) != len(want) {
		t.Fatalf("%d windows, want %d", len(got), len(want))
	}
	for i, w := range want {
		if g := got[i]; g.end != w.end || len(g.received) != w.arrivals || g.backlog != w.backlog || quantile(g.received, 1) != w.received {
			t.Errorf("window %d: until %s, %d arrivals, backlog %d, receipt %s; want %+v", i, g.end, len(g.received), g.backlog, quantile(g.received, 1), w)
		}
	}
}
