// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster starts and stops the local control plane.
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

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
)

const usage = `Usage: cluster up|down [flags]

Starts or stops etcd, kube-apiserver and kube-controller-manager on loopback.

Flags:
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var opts controlplane.Options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&opts.StateDir, "state-dir", envOr("LOCALCLUSTER_STATE_DIR", defaultStateDir()),
		"directory of data, certificates, logs and pid files (env LOCALCLUSTER_STATE_DIR)")
	flags.StringVar(&opts.Assets, "assets", envOr("KUBEBUILDER_ASSETS", filepath.Join("bin", "k8s")),
		"directory of the binaries (env KUBEBUILDER_ASSETS)")
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", "",
		"file to write for clients (default .local/kubeconfig, or kubeconfig in a state directory of your own)")
	flags.BoolVar(&opts.UnsafeNoFsync, "unsafe-no-fsync", false, "let etcd skip fsync: faster, but data may not survive a crash of the host")
	flags.DurationVar(&opts.StartTimeout, "timeout", 0, "time allowed for the start (default 2m)")
	if len(args) == 0 {
		flags.Usage()
		return errors.New("say up or down")
	}
	command := args[0]
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if opts.Kubeconfig == "" && opts.StateDir == defaultStateDir() {
		opts.Kubeconfig = filepath.Join(".local", "kubeconfig")
	}
	opts.Out = os.Stdout

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command {
	case "up":
		return controlplane.Up(ctx, opts)
	case "down":
		return controlplane.Down(ctx, opts)
	default:
		flags.Usage()
		return fmt.Errorf("unknown command %q: say up or down", command)
	}
}

func defaultStateDir() string { return filepath.Join(".local", "cluster") }

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
