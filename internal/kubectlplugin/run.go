// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectlplugin is the command kubectl delegation: what people do with Delegations at a terminal, and scripts in a
// pipe. It reads and writes objects, and leaves the sending to the operator; only agent probe talks to an agent.
//
// The parts: standing says how a Delegation stands, screen makes the texts, compose the manifests, save the files, and trial
// judges an agent. None of them knows the cluster; the commands here do.
package kubectlplugin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Interrupted is the exit code after SIGINT, as shells have it.
const Interrupted = 130

// Terminal is where the output goes.
type Terminal struct {
	// Is says that the output is a terminal, whatever it can do.
	Is bool
	// Size returns columns and rows; false where the output is no terminal, or one on which nothing can be rewritten.
	Size func() (columns, rows int, ok bool)
}

// plugin is what the commands share.
type plugin struct {
	genericiooptions.IOStreams
	flags    *genericclioptions.ConfigFlags
	terminal Terminal
	// called is how this program is called, such as kubectl delegation.
	called string
}

// Run executes a command line without the program's name, and returns the exit code.
func Run(ctx context.Context, called string, args []string, streams genericiooptions.IOStreams, terminal Terminal) int {
	root := command(called, streams, terminal)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var e *exit
	switch {
	case err == nil:
		return int(standing.Done)
	case errors.As(err, &e):
		if e.err != nil {
			complain(streams, e.err)
		}
		return int(e.code)
	case ctx.Err() != nil:
		return Interrupted
	}
	complain(streams, err)
	return int(standing.Error)
}

// complain shows an error. It may quote what others wrote.
func complain(streams genericiooptions.IOStreams, err error) {
	_, _ = fmt.Fprintf(streams.ErrOut, "error: %s\n", remote.CleanText(err.Error()))
}

// exit is an end with a code of its own.
type exit struct {
	code standing.Code
	// err is shown where there is one.
	err error
}

func (e *exit) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

// ended is the error for a code, nil for Done.
func ended(code standing.Code) error {
	if code == standing.Done {
		return nil
	}
	return &exit{code: code}
}

// Called is how a person calls a plugin whose file has this path: kubectl-dlg is kubectl dlg.
func Called(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if verb, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(verb, "_", "-")
	}
	return name
}

const long = `Hand work to A2A agents, answer their questions, and fetch their results.

A Delegation is one message to one agent. It is stored with its messageId before it is sent, so applying its manifest again
sends nothing.

Exit codes, of watch, of --wait and of get --exit-code:
  0    all completed
  1    the command failed, or was not understood
  2    a task failed, was rejected or canceled, or its message is not sent any more
  3    an agent waits for an answer or for credentials
  4    a message may have been accepted, and a person has to decide
  5    the time is over and something still moves
  130  interrupted
Of several the first in the order 1, 2, 4, 3, 5 counts.`

func command(called string, streams genericiooptions.IOStreams, terminal Terminal) *cobra.Command {
	p := &plugin{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), terminal: terminal, called: called}
	root := &cobra.Command{
		Use: "delegation", Short: "Hand work to A2A agents", Long: long,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: called},
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q: %s --help lists them", args[0], called)
			}
			return c.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	p.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		p.create(), p.reply(), p.refine(), p.cancel(), p.resolve(),
		p.get(), p.tree(), p.watch(), p.artifacts(), p.agent(),
	)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %s --help shows what there is", err, c.CommandPath())
	})
	return root
}
