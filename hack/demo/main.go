// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo plays the worked example against a local control plane: one message to an agent that loses its first
// answer, and one task in spite of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/delegation-dev/delegation-operator/hack/demo/play"
)

const usage = `Usage: demo up|down [flags]

up starts a control plane, the operator and an agent, and delegates work to it. All of it stays for a look.
down stops it. Run it in the root of the repository, after make localcluster build.

Flags:
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	const local = ".local"
	o := play.Options{Root: ".", Out: os.Stdout}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.StateDir, "state-dir", filepath.Join(local, "demo"), "directory of logs, pid files and the patched samples")
	flags.StringVar(&o.Cluster.StateDir, "cluster-state-dir", filepath.Join(local, "cluster"), "directory of the control plane's data")
	flags.StringVar(&o.Cluster.Kubeconfig, "kubeconfig", filepath.Join(local, "kubeconfig"), "file to write for clients")
	flags.StringVar(&o.Cluster.Assets, "assets", envOr("KUBEBUILDER_ASSETS", filepath.Join("bin", "k8s")),
		"directory of the control plane's binaries (env KUBEBUILDER_ASSETS)")
	if len(args) == 0 {
		flags.Usage()
		return errors.New("say up or down")
	}
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command := args[0]; command {
	case "up":
		return play.Up(ctx, o)
	case "down":
		return play.Down(ctx, o)
	default:
		flags.Usage()
		return fmt.Errorf("unknown command %q: say up or down", command)
	}
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
