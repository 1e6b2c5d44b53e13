// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command benchproxy measures what the deduplicating proxy adds. The finance agent is asked directly, through a reverse
// proxy that adds nothing, and through the deduplicating one by turns, in one run, so that all see the same machine: ratios
// and differences are what counts.
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
	// plain makes this process the reverse proxy that adds nothing, in front of the agent there.
	plain string
}

func main() {
	o := options{}
	flag.StringVar(&o.bin, "bin", "bin", "directory of the programs")
	flag.StringVar(&o.store, "store", "", "the proxy's table; SQLite in a temporary directory where empty")
	flag.IntVar(&o.rounds, "rounds", 12, "how often agent and proxy take turns")
	flag.IntVar(&o.sends, "sends", 200, "messages per turn")
	flag.IntVar(&o.concurrency, "concurrency", 32, "clients at once, where the rate is measured")
	flag.StringVar(&o.plain, "plain", "", "serve as a plain reverse proxy of the agent at this URL; used by the measurement itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := run
	if o.plain != "" {
		work = servePlain
	}
	if err := work(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchproxy:", err)
		os.Exit(1)
	}
}

// run measures before an agent that keeps its tasks in memory, and before one that has them on the disk before it answers.
func run(ctx context.Context, o options, out io.Writer) error {
	for _, kind := range []struct {
		title   string
		durable bool
	}{{"An agent that keeps its tasks in memory", false}, {"An agent that keeps its tasks on the disk", true}} {
		if _, err := fmt.Fprintln(out, kind.title); err != nil {
			return err
		}
		if err := measure(ctx, o, kind.durable, out); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, o options, durable bool, out io.Writer) error {
	dir, err := os.MkdirTemp("", "benchproxy")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.store == "" {
		o.store = "sqlite:" + filepath.Join(dir, "messages.db")
	}
	flags := []string{"--dedup=false", "--approval=false", "--log-level=error"}
	if durable {
		flags = append(flags, "--data-dir="+filepath.Join(dir, "agent"))
	}
	agent, err := start(ctx, filepath.Join(o.bin, "finance-agent"), flags...)
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	plain, err := start(ctx, self, "--plain="+agent.url)
	if err != nil {
		return err
	}
	defer plain.end()
	for _, clients := range []int{1, o.concurrency} {
		sides := []*side{{name: "agent", program: agent}, {name: "plain", program: plain}, {name: "proxy", program: proxy}}
		if err := compare(ctx, o, sides, clients); err != nil {
			return err
		}
		if _, err := io.WriteString(out, report(clients, sides)); err != nil {
			return err
		}
	}
	return nil
}

// side is one way to the agent, and what it came to.
type side struct {
	name string
	*program
	sample
}

// sample is what some messages came to.
type sample struct {
	latencies []time.Duration
	took, cpu time.Duration
}

func (s sample) rate() float64 { return float64(len(s.latencies)) / s.took.Seconds() }

// compare lets all sides take turns. The first turn of each is not counted.
func compare(ctx context.Context, o options, sides []*side, clients int) error {
	for round := range o.rounds + 1 {
		for _, s := range sides {
			before, err := s.cpuTime()
			if err != nil {
				return err
			}
			got, err := turn(ctx, s.url, o.sends, clients)
			if err != nil {
				return err
			}
			after, err := s.cpuTime()
			if err != nil {
				return err
			}
			if round > 0 {
				s.latencies = append(s.latencies, got.latencies...)
				s.took += got.took
				s.cpu += after - before
			}
		}
	}
	return nil
}

// report compares each side with the first.
func report(clients int, sides []*side) string {
	var out strings.Builder
	bare := sides[0]
	fmt.Fprintf(&out, "%d clients, %d messages each way\n", clients, len(bare.latencies))
	fmt.Fprintf(&out, "  %-6s %9s %9s %11s %9s %7s %9s\n", "", "p50", "p99", "CPU/message", "added p50", "rate/s", "of agent's")
	for _, s := range sides {
		p50 := quantile(s.latencies, 50)
		fmt.Fprintf(&out, "  %-6s %9s %9s %11s %9s %7.0f %9.0f%%\n", s.name, p50, quantile(s.latencies, 99),
			(s.cpu / time.Duration(len(s.latencies))).Round(10*time.Microsecond), p50-quantile(bare.latencies, 50), s.rate(), 100*s.rate()/bare.rate())
	}
	return out.String()
}

func quantile(list []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}
