// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command growth measures what Delegations take in etcd: the size of one in each of its phases, and whether what is in use
// stays bounded while Delegations come and go at a steady rate. etcd syncs each write to disk, as in a cluster; what takes
// minutes and an hour there takes seconds here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const usageText = `Usage: growth [-for 4m] [-rate 20] [-ttl 30s] [-compaction 30s] [-text 200]

It prints the size of one Delegation in etcd after each of its writes, then makes Delegations at a steady rate and prints
every 15 seconds what etcd holds. Run make localcluster build before.

Flags:
`

const (
	// agentCommand makes this program the agent.
	agentCommand = "agent"
	namespace    = "bench-growth"
	interval     = 15 * time.Second
	// allowed is how much more may be in use at the end than after the warm-up.
	allowed = 1.3
)

type options struct {
	length, ttl, compaction time.Duration
	rate, text              int
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 4*time.Minute, "how long Delegations come")
	flag.IntVar(&o.rate, "rate", 20, "Delegations a second")
	flag.DurationVar(&o.ttl, "ttl", 30*time.Second, "ttlSecondsAfterFinished, and how long the API server keeps Events")
	flag.DurationVar(&o.compaction, "compaction", 30*time.Second, "the API server's etcd-compaction-interval, 5m by default there")
	flag.IntVar(&o.text, "text", 200, "bytes of a message's text")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), usageText)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// warmUp is until the first Delegations are gone and their versions compacted: a compaction leaves what is younger than an
// interval.
func (o options) warmUp() time.Duration { return o.ttl + 2*o.compaction }

func (o options) check() error {
	switch {
	case o.rate < 1 || o.rate > 1000:
		return fmt.Errorf("-rate %d: it must be from 1 to 1000", o.rate)
	case o.ttl < time.Second || o.compaction < time.Second || o.text < 1:
		return errors.New("-ttl and -compaction must be 1s or more, and -text 1 or more")
	case o.length < o.warmUp()+4*interval:
		return fmt.Errorf("-for %s: it must be %s or more, for -ttl and two of -compaction to be over and four looks to be left", o.length, o.warmUp()+4*interval)
	}
	return nil
}

func run(ctx context.Context, o options, args []string) (err error) {
	if slices.Equal(args, []string{agentCommand}) {
		return lab.ServeInstantAgent(ctx)
	}
	if err := o.check(); err != nil {
		return err
	}
	config, at, stop, err := testenv.StartDurable("etcd-compaction-interval="+o.compaction.String(), "event-ttl="+o.ttl.String())
	if err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	dir, err := os.MkdirTemp("", "bench-growth-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	agent, err := lab.StartAgent(ctx, agentCommand)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	load, err := lab.NewLoad(ctx, config, namespace, o.text, o.ttl)
	if err != nil {
		return err
	}
	if err := load.Agent(ctx, agent.URL); err != nil {
		return err
	}
	manager, err := lab.StartManager(ctx, config, dir, "--namespaces", namespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Stop()) }()
	etcd, err := lab.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, etcd.Close()) }()
	b := &bench{options: o, load: load, etcd: etcd, agent: agent, manager: manager}
	return errors.Join(b.sizes(ctx), b.grow(ctx))
}

type bench struct {
	options
	load    *lab.Load
	etcd    lab.Etcd
	agent   *lab.Agent
	manager *lab.Process
}
