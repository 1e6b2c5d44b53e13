// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command shards measures how many Delegations several managers bring to their end in a second. The API server, etcd, which
// syncs each write to disk, the agent and the managers are processes of their own, on one machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/shard"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const usageText = `Usage: shards [-managers 1,2,3] [-delegations 2000]

It writes Delegations, starts so many managers, and measures from the first look at a task to
the end of all. Run make localcluster build before.

Flags:
`

const (
	// agentCommand makes this program the agent.
	agentCommand = "agent"
	textBytes    = 200
	endTimeout   = 5 * time.Minute
)

func main() {
	numbers := flag.String("managers", "1,2,3", "numbers of managers")
	delegations := flag.Int("delegations", 2000, "Delegations for each number of managers")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), usageText)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *numbers, *delegations, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, numbers string, delegations int, args []string) (err error) {
	if slices.Equal(args, []string{agentCommand}) {
		return lab.ServeInstantAgent(ctx)
	}
	var counts []int
	for _, s := range strings.Split(numbers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 || n > shard.Max {
			return fmt.Errorf("-managers: %q is no list of numbers from 1 to %d, such as 1,2,3", numbers, shard.Max)
		}
		counts = append(counts, n)
	}
	if delegations < 10 {
		return fmt.Errorf("-delegations %d: it must be 10 or more", delegations)
	}
	config, _, stop, err := testenv.StartDurable()
	if err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Printf("%d CPUs, %d Delegations\n\n", runtime.NumCPU(), delegations)
	fmt.Printf("| managers | Delegations/s | CPU of the managers | of all of the machine's | memory of each | messages sent twice |\n|--:|--:|--:|--:|--:|--:|\n")
	for _, n := range counts {
		if err := row(ctx, config, n, delegations); err != nil {
			return fmt.Errorf("%d managers: %w", n, err)
		}
	}
	return nil
}

// row measures with n managers, in a namespace and with an agent of their own.
func row(ctx context.Context, config *rest.Config, n, delegations int) (err error) {
	agent, err := lab.StartAgent(ctx, agentCommand)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	load, err := lab.NewLoad(ctx, config, fmt.Sprintf("bench-shards-%d", n), textBytes, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(load.Agent(ctx, agent.URL), load.Fill(ctx, 0, delegations)); err != nil {
		return err
	}
	managers := make([]*lab.Process, n)
	for i := range managers {
		dir, err := os.MkdirTemp("", "bench-shards-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // what is left in the temporary directory is of no interest
		if managers[i], err = lab.StartManager(ctx, config, dir, "--namespaces", load.Namespace, fmt.Sprintf("--shard=%d/%d", i, n)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, managers[i].Stop()) }()
	}
	return measure(ctx, load, agent, managers, delegations)
}

func measure(ctx context.Context, load *lab.Load, agent *lab.Agent, managers []*lab.Process, delegations int) error {
	first, err := looked(ctx, agent, 1)
	if err != nil {
		return err
	}
	begun := time.Now()
	before, err := used(managers)
	if err != nil {
		return err
	}
	// A task ends when it is looked at; to ask the API server all the time would be a load of its own.
	if _, err := looked(ctx, agent, delegations); err != nil {
		return err
	}
	if err := completed(ctx, load, delegations); err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	after, err := used(managers)
	if err != nil {
		return err
	}
	var tallies lab.Tallies
	if err := agent.Ask(ctx, lab.TalliesPath, 0, &tallies); err != nil {
		return err
	}
	cpu := (after.CPU - before.CPU).Seconds() / took
	fmt.Printf("| %d | %.0f | %.0f %% | %.0f %% | %d MiB | %d |\n", len(managers), float64(delegations-first)/took,
		100*cpu, 100*cpu/float64(runtime.NumCPU()), after.Memory/int64(len(managers))>>20, tallies.Copies)
	if tallies.Copies > 0 {
		return fmt.Errorf("%d messages came more than once", tallies.Copies)
	}
	return nil
}

// used is what all managers have used together.
func used(managers []*lab.Process) (lab.Usage, error) {
	var sum lab.Usage
	for _, m := range managers {
		u, err := m.Used()
		if err != nil {
			return sum, err
		}
		sum.CPU, sum.Memory = sum.CPU+u.CPU, sum.Memory+u.Memory
	}
	return sum, nil
}

// looked waits until the agent was asked for so many tasks, and returns for how many it was.
func looked(ctx context.Context, agent *lab.Agent, wanted int) (int, error) {
	for end := time.Now().Add(endTimeout); ; {
		var t lab.Tallies
		if err := agent.Ask(ctx, lab.TalliesPath, 0, &t); err != nil {
			return 0, err
		}
		if t.Looks >= wanted {
			return t.Looks, nil
		}
		if time.Now().After(end) {
			return 0, fmt.Errorf("%d of %d tasks were looked at after %s", t.Looks, wanted, endTimeout)
		}
		if err := lab.Pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// completed waits until so many Delegations are.
func completed(ctx context.Context, load *lab.Load, wanted int) error {
	for end := time.Now().Add(endTimeout); ; {
		list := &v1alpha1.DelegationList{}
		if err := load.Client.List(ctx, list, client.InNamespace(load.Namespace)); err != nil {
			return err
		}
		n := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == v1alpha1.PhaseCompleted {
				n++
			}
		}
		if n >= wanted {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d Delegations are completed after %s", n, wanted, endTimeout)
		}
		if err := lab.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
