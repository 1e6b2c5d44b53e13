// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// sustained has Delegations come by chance, at a share of the rate that a batch reached.
type sustained struct {
	settings
	// share of the rate.
	share float64
	// duration of the arrivals, and window that of a row.
	duration, window time.Duration
}

func (s sustained) validate() error {
	if s.share <= 0 {
		return fmt.Errorf("-rate: %g is no share of the rate that a batch reaches, give one such as 0.7", s.share)
	}
	if s.window <= 0 || s.duration < s.window {
		return fmt.Errorf("-duration: %s is shorter than the -window of %s, or that is no time", s.duration, s.window)
	}
	return s.settings.validate()
}

func runSustained(ctx context.Context, args []string) (err error) {
	s := sustained{settings: defaults}
	if err := parse("sustained", args, func(f *flag.FlagSet) {
		s.bind(f)
		f.Float64Var(&s.share, "rate", 0.7, "share of the rate that a batch of the same run reaches")
		f.DurationVar(&s.duration, "duration", time.Minute, "how long Delegations come")
		f.DurationVar(&s.window, "window", 10*time.Second, "what one row is about")
	}); err != nil {
		return err
	}
	if err := s.validate(); err != nil {
		return err
	}
	b, err := startBench(ctx, s.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	measured, err := b.batchOf(ctx, "batch", s.batch)
	if err != nil {
		return err
	}
	rate := s.share * measured.rate
	fmt.Printf("a batch of %d: %.1f Delegations/s; arrivals at %.2f of it, %.1f/s\n\n", s.batch, measured.rate, s.share, rate)
	begun, all, err := b.stream(ctx, arrivals(rate, s.duration, rand.New(rand.NewPCG(1, 1))))
	if err != nil {
		return err
	}
	return printWindows(os.Stdout, windows(all, begun, s.duration, s.window))
}

// arrivals of a Poisson process with so many in a second, as times since its beginning.
func arrivals(rate float64, d time.Duration, chance *rand.Rand) []time.Duration {
	var out []time.Duration
	for at := 0.0; ; {
		at += chance.ExpFloat64() / rate
		if at >= d.Seconds() {
			return out
		}
		out = append(out, time.Duration(at*float64(time.Second)))
	}
}

// stream creates a Delegation at each time, whether or not those before it are through, and waits until all are Completed.
func (b *bench) stream(ctx context.Context, times []time.Duration) (begun time.Time, all []sighting, err error) {
	w, err := newWitness(ctx, b.client, benchNamespace)
	if err != nil {
		return time.Time{}, nil, err
	}
	defer w.stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var busy sync.WaitGroup
	begun = time.Now()
	for i, at := range times {
		// A Delegation counts from when it was due, or a bench that falls behind would flatter the operator.
		due := begun.Add(at)
		if err := lab.Pause(ctx, time.Until(due)); err != nil {
			break // the cause is asked for below
		}
		busy.Go(func() {
			if err := w.create(ctx, fmt.Sprintf("stream-%06d", i), due); err != nil {
				cancel(err)
			}
		})
	}
	busy.Wait()
	if err := context.Cause(ctx); err != nil {
		return time.Time{}, nil, err
	}
	if err := w.wait(ctx, isCompleted, patience); err != nil {
		return time.Time{}, nil, b.explain(err)
	}
	all, err = w.sightings(ctx, b.agent)
	return begun, all, err
}

// slice is what happened in one part of the time.
type slice struct {
	end time.Duration
	// latencies are those of the Delegations that came in it.
	latencies
	// backlog are those that had come by its end and were not finished.
	backlog int
}

// windows divides a time.
func windows(all []sighting, begun time.Time, d, window time.Duration) []slice {
	var out []slice
	for from := time.Duration(0); from < d; from += window {
		to := min(from+window, d)
		var came []sighting
		part := slice{end: to}
		for _, s := range all {
			at := s.created.Sub(begun)
			if at >= from && at < to {
				came = append(came, s)
			}
			if at < to && s.finished.Sub(begun) > to {
				part.backlog++
			}
		}
		part.latencies = measureLatencies(came)
		out = append(out, part)
	}
	return out
}

func printWindows(out io.Writer, parts []slice) error {
	lines := []string{
		row([]string{"until, s", "arrivals", "create to receipt, p99, ms", "create to Completed, p99, ms", "backlog at the end"}),
		strings.Repeat("|--:", 5) + "|",
	}
	for _, p := range parts {
		lines = append(lines, row([]string{
			fmt.Sprintf("%.0f", p.end.Seconds()), fmt.Sprint(len(p.received)), fmt.Sprintf("%.0f", milliseconds(quantile(p.received, 0.99))),
			fmt.Sprintf("%.0f", milliseconds(quantile(p.finished, 0.99))), fmt.Sprint(p.backlog),
		}))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
