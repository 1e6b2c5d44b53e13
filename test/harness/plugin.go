// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// Ran is how a command of the kubectl plugin ended.
type Ran struct {
	Stdout, Stderr string
	// Output is both, as a person saw them.
	Output string
	Code   int
}

// Plugin runs kubectl delegation as an administrator in the namespace, as a person does who has the plugin in the PATH. What it
// reads from standard input is given first.
func (s *Space) Plugin(input string, args ...string) Ran {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(testenv.Assets(s.t), "kubectl"), append([]string{"delegation"}, args...)...)
	var stdout, stderr bytes.Buffer
	var both output
	cmd.Stdout, cmd.Stderr, cmd.Stdin = io.MultiWriter(&stdout, &both), io.MultiWriter(&stderr, &both), bytes.NewBufferString(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.adminKubeconfig(), s.pluginPath())
	err := cmd.Run()
	ran := Ran{Stdout: stdout.String(), Stderr: stderr.String(), Output: both.String(), Code: cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		s.t.Fatalf("kubectl delegation %q: %v: %s", args, err, ran.Output)
	}
	return ran
}

func (s *Space) pluginPath() string {
	s.t.Helper()
	return "PATH=" + filepath.Dir(testenv.Binary(s.t, "kubectl-delegation")) + string(os.PathListSeparator) + os.Getenv("PATH")
}

// StartPlugin runs the plugin beside the test.
func (s *Space) StartPlugin(args ...string) *Process {
	s.t.Helper()
	return StartProcess(s.t, testenv.Binary(s.t, "kubectl-delegation"), append(args, "--kubeconfig", s.adminKubeconfig())...)
}
