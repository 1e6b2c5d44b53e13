// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// Ran is how a command of the kubectl plugin ended.
type Ran struct {
	Stdout, Stderr string
	// Output is both.
	Output string
	Code   int
}

// Plugin runs kubectl delegation as an administrator in the namespace, as a person does who has the plugin in the PATH. What it
// reads from standard input is given first.
func (s *Space) Plugin(input string, args ...string) Ran {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	code := s.plugin(input, &stdout, &stderr, args)
	return Ran{Stdout: stdout.String(), Stderr: stderr.String(), Output: stdout.String() + stderr.String(), Code: code}
}

// Seen runs it with both outputs on one screen, in the order in which they are written.
func (s *Space) Seen(args ...string) Ran {
	s.t.Helper()
	var screen bytes.Buffer
	code := s.plugin("", &screen, &screen, args)
	return Ran{Stdout: screen.String(), Stderr: screen.String(), Output: screen.String(), Code: code}
}

func (s *Space) plugin(input string, stdout, stderr *bytes.Buffer, args []string) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(testenv.Assets(s.t), "kubectl"), append([]string{"delegation"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, bytes.NewBufferString(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.adminKubeconfig(), s.pluginPath())
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		s.t.Fatalf("kubectl delegation %q: %v: %s%s", args, err, stdout, stderr)
	}
	return cmd.ProcessState.ExitCode()
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

// Kubeconfig is the path of an administrator's kubeconfig with the namespace.
func (s *Space) Kubeconfig() string {
	s.t.Helper()
	return s.adminKubeconfig()
}
