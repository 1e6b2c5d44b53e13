// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command benchproxy measures what the deduplicating proxy adds. The finance agent is asked directly and through the
// proxy by turns, in one run, so that both see the same machine: ratios and differences are what counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	bin, store  string
	rounds      int
	sends       int
	concurrency int
}

func main() {
	o := options{}
	flag.StringVar(&o.bin, "bin", "bin", "directory of the programs")
	flag.StringVar(&o.store, "store", "", "the proxy's table; SQLite in a temporary directory where empty")
	flag.IntVar(&o.rounds, "rounds", 20, "how often agent and proxy take turns")
	flag.IntVar(&o.sends, "sends", 200, "messages per turn")
	flag.IntVar(&o.concurrency, "concurrency", 32, "clients at once, where the rate is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchproxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "benchproxy")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.store == "" {
		o.store = "sqlite:" + filepath.Join(dir, "messages.db")
	}
	agent, err := start(ctx, filepath.Join(o.bin, "finance-agent"), "--dedup=false", "--approval=false", "--log-level=error")
	if err != nil {
		return err
	}
	defer agent.end()
	proxy, err := start(ctx, filepath.Join(o.bin, "dedup-proxy"),
		"--listen=127.0.0.1:0", "--upstream="+agent.url, "--store="+o.store, "--principal=anonymous", "--log-level=error")
	if err != nil {
		return err
	}
	defer proxy.end()
	for _, clients := range []int{1, o.concurrency} {
		bare, through, err := compare(ctx, o, agent.url, proxy.url, clients)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, report(clients, bare, through)); err != nil {
			return err
		}
	}
	return nil
}

// sample is what one side came to.
type sample struct {
	latencies []time.Duration
	took      time.Duration
}

// compare lets both sides take turns. The first turn of each is not counted.
func compare(ctx context.Context, o options, agent, proxy string, clients int) (bare, through sample, err error) {
	for round := range o.rounds + 1 {
		for _, side := range []struct {
			url  string
			into *sample
		}{{agent, &bare}, {proxy, &through}} {
			got, err := turn(ctx, side.url, o.sends, clients)
			if err != nil {
				return bare, through, err
			}
			if round > 0 {
				side.into.latencies = append(side.into.latencies, got.latencies...)
				side.into.took += got.took
			}
		}
	}
	return bare, through, nil
}

func report(clients int, bare, through sample) string {
	var out strings.Builder
	rate := func(s sample) float64 { return float64(len(s.latencies)) / s.took.Seconds() }
	fmt.Fprintf(&out, "%d clients, %d messages each way\n", clients, len(bare.latencies))
	fmt.Fprintf(&out, "  %-8s %10s %10s %12s\n", "", "p50", "p99", "messages/s")
	for _, row := range []struct {
		name string
		sample
	}{{"agent", bare}, {"proxy", through}} {
		fmt.Fprintf(&out, "  %-8s %10s %10s %12.0f\n", row.name, quantile(row.latencies, 50), quantile(row.latencies, 99), rate(row.sample))
	}
	fmt.Fprintf(&out, "  %-8s %10s %10s %11.0f%%\n", "added", quantile(through.latencies, 50)-quantile(bare.latencies, 50),
		quantile(through.latencies, 99)-quantile(bare.latencies, 99), 100*rate(through)/rate(bare))
	return out.String()
}

func quantile(list []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}
