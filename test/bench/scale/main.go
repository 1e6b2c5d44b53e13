// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command scale measures a manager that has many finished Delegations: its memory for each, how long after its start it
// sends what is active, and what it does for them once all is done. With the argument starve it measures whether one
// agent's queue holds up another's. The API server, the manager and the agents are processes of their own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const usageText = `Usage: scale [-finished 1000,10000,100000] [-heap FILE]
       scale starve

It fills etcd with finished Delegations, made after one that the operator itself has finished, adds active ones, and starts
the manager. Run make localcluster build before.

Flags:
`

const (
	// agentCommand makes this program the agents.
	agentCommand  = "agent"
	starveCommand = "starve"

	activeCount  = 1000
	quietWindow  = 20 * time.Second
	settleWindow = 5 * time.Second
	boundWithin  = 10 * time.Minute
)

func main() {
	sizes := flag.String("finished", "1000,10000,100000", "numbers of finished Delegations, growing")
	heap := flag.String("heap", "", "file for the heap profile of the last number; none when empty")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), usageText)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *sizes, *heap, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sizes, heap string, args []string) (err error) {
	if slices.Equal(args, []string{agentCommand}) {
		return serveAgent(ctx)
	}
	counts := []int{0}
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || n <= counts[len(counts)-1] {
			return fmt.Errorf("-finished: %q is no list of growing numbers, such as 1000,10000", sizes)
		}
		counts = append(counts, n)
	}
	config, etcd, stop, err := testenv.StartWithEtcd()
	if err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	b, err := newBench(ctx, config, etcd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.agent.Stop(), b.etcd.Close(), os.RemoveAll(b.dir)) }()
	if slices.Equal(args, []string{starveCommand}) {
		return b.starve(ctx)
	}
	return b.table(ctx, counts[1:], heap)
}

type bench struct {
	config *rest.Config
	client client.WithWatch
	etcd   lab.Etcd
	agent  *lab.Agent
	dir    string
}

func newBench(ctx context.Context, config *rest.Config, etcd *url.URL) (*bench, error) {
	c, err := lab.NewClient(config)
	if err != nil {
		return nil, err
	}
	store, err := lab.Connect(ctx, etcd)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-scale-")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	a, err := lab.StartAgent(ctx, agentCommand)
	if err != nil {
		return nil, errors.Join(err, store.Close(), os.RemoveAll(dir))
	}
	if err := createWorld(ctx, c, a.URL); err != nil {
		return nil, errors.Join(err, a.Stop(), store.Close(), os.RemoveAll(dir))
	}
	return &bench{config: config, client: c, etcd: store, agent: a, dir: dir}, nil
}

func pause(ctx context.Context) error { return lab.Pause(ctx, 50*time.Millisecond) }
