// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-delegation is the kubectl plugin: kubectl delegation.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // clusters that want their vendor's tokens

	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return kubectlplugin.Run(ctx, kubectlplugin.Called(os.Args[0]), os.Args[1:], streams,
		kubectlplugin.Terminal{Is: term.IsTerminal(int(os.Stdout.Fd())), Size: size})
}

// size is that of the terminal that the output goes to; false where lines can't be rewritten.
func size() (columns, rows int, ok bool) {
	if os.Getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	return columns, rows, err == nil && columns > 0
}
