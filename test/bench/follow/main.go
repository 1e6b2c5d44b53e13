// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command follow measures what it costs to follow many tasks at one agent: calls to the agent, CPU and memory of the
// manager, and the time from a change at the agent to the status. The API server, the manager and the agent are processes
// of their own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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

const usageText = `Usage: follow [-tasks 100,1000,10000]

It writes Delegations whose tasks are under way, starts the manager as after a restart, waits until each task was looked
at, and measures twice: while nothing changes, and while tasks change. Run make localcluster build before.

Flags:
`

const (
	// agentCommand makes this program the agent.
	agentCommand      = "agent"
	pollInterval      = 2 * time.Second
	maxPollInterval   = time.Minute
	requestsPerSecond = 1000

	quietWindow   = 20 * time.Second
	changeTick    = time.Second
	changeTicks   = 20
	changesEach   = 5
	settleTimeout = 30 * time.Second
	warmTimeout   = 3 * time.Minute
)

func main() {
	sizes := flag.String("tasks", "100,1000,10000", "numbers of tasks in flight, growing")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), usageText)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *sizes, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sizes string, args []string) (err error) {
	if slices.Equal(args, []string{agentCommand}) {
		return serveAgent(ctx)
	}
	var counts []int
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || (len(counts) > 0 && n <= counts[len(counts)-1]) {
			return fmt.Errorf("-tasks: %q is no list of growing numbers, such as 100,1000", sizes)
		}
		counts = append(counts, n)
	}
	config, stop, err := testenv.Start()
	if err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	b, err := newBench(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.agent.Stop(), os.RemoveAll(b.dir)) }()
	return b.table(ctx, counts)
}

type bench struct {
	config *rest.Config
	client client.WithWatch
	agent  *lab.Agent
	dir    string
	filled int
}

func newBench(ctx context.Context, config *rest.Config) (*bench, error) {
	c, err := lab.NewClient(config)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-follow-")
	if err != nil {
		return nil, err
	}
	a, err := lab.StartAgent(ctx, agentCommand)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := errors.Join(createNamespace(ctx, c), createAgent(ctx, c, a.URL)); err != nil {
		return nil, errors.Join(err, a.Stop(), os.RemoveAll(dir))
	}
	return &bench{config: config, client: c, agent: a, dir: dir}, nil
}

// table measures with each number of tasks and prints a row for it.
func (b *bench) table(ctx context.Context, counts []int) error {
	fmt.Printf("pollInterval %s, maxPollInterval %s, %.0f changes/s in the second half\n\n", pollInterval, maxPollInterval, changesEach/changeTick.Seconds())
	columns := []string{"tasks"}
	for _, half := range []string{"quiet", "changing"} {
		columns = append(columns, "ListTasks/s, "+half, "GetTask/s, "+half, "manager CPU, "+half)
	}
	columns = append(columns, "memory", "change to status, median", "90 %", "99 %", "longest")
	fmt.Println("| " + strings.Join(columns, " | ") + " |")
	fmt.Println(strings.Repeat("|--:", len(columns)) + "|")
	for _, n := range counts {
		if err := b.row(ctx, n); err != nil {
			return fmt.Errorf("%d tasks: %w", n, err)
		}
	}
	return nil
}

// row measures with n tasks.
func (b *bench) row(ctx context.Context, n int) (err error) {
	begun := time.Now()
	var opened []change
	if err := b.agent.Ask(ctx, openPath, n, &opened); err != nil {
		return err
	}
	if err := fill(ctx, b.client, b.filled, n, opened); err != nil {
		return err
	}
	b.filled = n
	filled := time.Now()
	manager, err := lab.StartManager(ctx, b.config, b.dir, "--namespaces", namespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Stop()) }()
	if err := b.warm(ctx, manager, n); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d tasks: %s to write them, %s until each was looked at\n", n, filled.Sub(begun).Round(time.Second), time.Since(filled).Round(time.Second))
	quiet, err := observe(b.agent, manager, func() error { return lab.Pause(ctx, quietWindow) })
	if err != nil {
		return err
	}
	w, err := newWitness(ctx, b.client)
	if err != nil {
		return err
	}
	defer w.watch.Stop()
	stalls := lab.WatchStalls()
	changing, err := observe(b.agent, manager, func() error { return w.change(ctx, b.agent, changeTicks, changesEach) })
	fmt.Fprintf(os.Stderr, "%d tasks: this process was woken %s late at the worst, which a busy machine adds to all times\n", n, stalls.End().Round(time.Millisecond))
	if err != nil {
		return err
	}
	return printRow(n, quiet, changing, w)
}

func printRow(n int, quiet, changing window, w *witness) error {
	fmt.Printf("| %d ", n)
	for _, x := range []window{quiet, changing} {
		fmt.Printf("| %.2f | %.2f | %.1f %% ", x.rate(methodList), x.rate(methodGet), 100*x.cpu.Seconds()/x.length.Seconds())
	}
	fmt.Printf("| %d MiB ", changing.memory>>20)
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		d, err := w.quantile(q)
		if err != nil {
			return err
		}
		fmt.Printf("| %.2f s ", d.Seconds())
	}
	fmt.Println("|")
	return nil
}

// warm waits until the manager has looked at each task and nothing is due but what there always is.
func (b *bench) warm(ctx context.Context, manager *lab.Process, n int) error {
	var first map[string]int
	if err := b.agent.Ask(ctx, callsPath, 0, &first); err != nil {
		return err
	}
	for end := time.Now().Add(warmTimeout); ; {
		var calls map[string]int
		if err := b.agent.Ask(ctx, callsPath, 0, &calls); err != nil {
			return err
		}
		if calls[methodGet]-first[methodGet] >= n && calls[methodList] > first[methodList] {
			// The first looks at what came before the first listing have a second one behind them.
			return lab.Pause(ctx, 10*time.Second)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d looks after %s; the manager says: %s", calls[methodGet]-first[methodGet], warmTimeout, manager.Output.String())
		}
		if err := lab.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
