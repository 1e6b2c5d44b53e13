// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command throughput measures how many Delegations an operator takes from their creation to their end, beside what the
// machine gives to any operator. The API server, etcd, the manager and the agent are processes of their own.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const usageText = `Usage: throughput COMMAND [FLAGS]

  floor      what the machine gives: syncs, puts into etcd, status updates, a call on loopback
  bench      Delegations/s through the whole path, in rounds beside the floor
  check      bench in short, and whether its ratios are where ranges.yaml has them
  sustained  latencies and backlog while Delegations come at a share of the rate
  recovery   the manager is killed while many messages are out, and started again

Each starts a control plane of its own. Run make localcluster build before. COMMAND -help lists the flags.
`

//go:embed ranges.yaml
var rangesFile []byte

// agentCommand makes this program the agent.
const agentCommand = "agent"

func main() {
	log.SetLogger(klog.Background()) // without one the client complains
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{
		agentCommand: serveAgent,
		"floor":      runFloor,
		"bench":      runBench,
		"check":      runCheck,
		"sustained":  runSustained,
		"recovery":   runRecovery,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("the first argument is none of the commands\n\n%s", usageText)
	}
	return commands[args[0]](ctx, args[1:])
}

// defaults of a bench.
var defaults = settings{rounds: 5, batch: 1000, singles: 20, length: 2 * time.Second, writers: 32}

// bind makes flags of the settings, whose values are the defaults.
func (s *settings) bind(f *flag.FlagSet) {
	f.IntVar(&s.rounds, "rounds", s.rounds, "rounds, each of which measures the floor and the operator")
	f.IntVar(&s.batch, "batch", s.batch, "Delegations in a batch")
	f.IntVar(&s.writers, "writers", s.writers, "how many create Delegations at once, and at the most write raw status updates")
	f.IntVar(&s.singles, "singles", s.singles, "Delegations in a round that have the system for themselves")
	f.DurationVar(&s.length, "floor", s.length, "how long each part of the floor is measured")
	f.DurationVar(&s.work, "work", 0, "how long the agent works on a task")
	f.StringVar(&s.managerFlags, "manager-flags", "", "further flags of the manager, separated by spaces")
}

func parse(name string, args []string, bind func(*flag.FlagSet)) error {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	bind(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s takes flags only, and %q is none", name, f.Arg(0))
	}
	return nil
}

func runBench(ctx context.Context, args []string) error {
	s := defaults
	if err := parse("bench", args, s.bind); err != nil {
		return err
	}
	_, err := measureAll(ctx, s)
	return err
}

func runCheck(ctx context.Context, args []string) error {
	s := settings{rounds: 3, batch: 300, singles: 10, length: time.Second, writers: defaults.writers}
	if err := parse("check", args, s.bind); err != nil {
		return err
	}
	spans, err := parseRanges(rangesFile, keys())
	if err != nil {
		return err
	}
	rounds, err := measureAll(ctx, s)
	if err != nil {
		return err
	}
	medians := mediansOf(rounds)
	fmt.Println()
	for _, key := range keys() {
		fmt.Printf("%s: %.3f, from %g to %g\n", key, medians[key], spans[key].Min, spans[key].Max)
	}
	return checkRanges(spans, medians)
}

// measureAll runs a bench and prints its table.
func measureAll(ctx context.Context, s settings) (rounds []round, err error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	b, err := startBench(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	fmt.Printf("%d rounds of %d Delegations by %d writers; the floor's updates are those of %d writers\n\n", s.rounds, s.batch, s.writers, b.floorWriters)
	if rounds, err = b.run(ctx); err != nil {
		return nil, err
	}
	return rounds, printTable(os.Stdout, rounds)
}

func runFloor(ctx context.Context, args []string) (err error) {
	s := defaults
	if err := parse("floor", args, func(f *flag.FlagSet) {
		f.DurationVar(&s.length, "floor", 5*time.Second, "how long each part is measured")
	}); err != nil {
		return err
	}
	s.writers = manyClients
	if err := s.validate(); err != nil {
		return err
	}
	p, err := startPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	a, err := agentOptions{}.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	f, err := newFloor(ctx, p, a, s.length, s.writers)
	if err != nil {
		return err
	}
	return f.print(ctx, os.Stdout)
}
