// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// command is a kubectl that talks to the demo's cluster.
func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, d.kubectl, append([]string{"--kubeconfig", d.Cluster.Kubeconfig}, args...)...)
}

// show prints a command as a person would type it.
func (d *demo) show(args ...string) {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.ContainsAny(arg, " {}[]\\$") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	d.printf("$ %s\n", strings.Join(words, " "))
}

// run shows a kubectl command and runs it, with its output for all to see.
func (d *demo) run(ctx context.Context, args ...string) error {
	d.show(append([]string{"kubectl"}, args...)...)
	cmd := d.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = d.Out, d.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w", args[0], err)
	}
	return nil
}

// query runs a kubectl command out of sight and decodes its output as JSON.
func (d *demo) query(ctx context.Context, into any, args ...string) error {
	out, err := d.command(ctx, append(args, "--output=json")...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("kubectl %q: %w: %s", args, err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}
