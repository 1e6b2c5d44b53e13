// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// testTimeout is for one package; what hangs with a mutant is stopped by it.
	testTimeout = 90 * time.Second
	// buildTimeout is added for the compiler, which begins cold on a new machine.
	buildTimeout = 10 * time.Minute
)

// tree is a copy of the working tree that may be broken.
type tree struct{ root, original string }

// newTree copies the files that git has or would add, so that what is not committed yet is tested too.
func newTree(ctx context.Context) (*tree, error) {
	original, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	list, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	root, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, original: original}
	for path := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		err = errors.Join(err, t.copy(path))
	}
	if err = errors.Join(err, t.link("bin/k8s"), t.link("bin/tools")); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// copy copies a file. One that git has and nobody else is about to be removed.
func (t *tree) copy(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	target := filepath.Join(t.root, path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, text, info.Mode().Perm())
}

// link shares a folder of binaries that no mutant changes.
func (t *tree) link(path string) error {
	target := filepath.Join(t.root, path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(t.original, path), target)
}

func (t *tree) remove() {
	if err := os.RemoveAll(t.root); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
}

func (t *tree) apply(ctx context.Context, patch string) error { return t.git(ctx, patch) }

// revert also runs when the context has ended: what it leaves is removed, but what it says is shown.
func (t *tree) revert(ctx context.Context, patch string) error {
	return t.git(context.WithoutCancel(ctx), patch, "--reverse")
}

func (t *tree) git(ctx context.Context, patch string, flags ...string) error {
	cmd := t.command(ctx, "git", append(append([]string{"apply"}, flags...), filepath.Join(t.original, patch))...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %w\n%s", err, out)
	}
	return nil
}

// build compiles the programs. Only the tests of test/e2e run them; for the others nothing is linked.
func (t *tree) build(ctx context.Context, pkg string) error {
	args := []string{"build", "./cmd/..."}
	if pkg == e2e {
		args = []string{"build", "-o", "bin/", "./cmd/..."}
	}
	if out, err := t.command(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// report is what a run of tests said.
type report struct {
	passed      bool
	ran, failed []string
	// output is that of the tests that failed, and of what is no test.
	output string
}

// test runs tests. An error says that they could not be run to their end, in which case they show nothing.
func (t *tree) test(ctx context.Context, pkg, pattern string) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout+buildTimeout)
	defer cancel()
	args := []string{"test", "-json", "-count=1", "-short", "-timeout", testTimeout.String(), "-run", pattern, pkg}
	out, err := t.command(ctx, "go", args...).CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := read(out)
	r.passed = err == nil
	if r.passed && len(r.ran) > 0 {
		return r, nil
	}
	switch {
	case len(r.ran) == 0:
		return nil, fmt.Errorf("go test %s ran nothing:\n%s", pkg, r.output)
	case strings.Contains(r.output, "panic: test timed out after"):
		return nil, fmt.Errorf("go test %s did not end within %s:\n%s", pkg, testTimeout, r.output)
	}
	return r, nil
}

// event is a line of go test -json, see go doc test2json.
type event struct{ Action, Test, Output string }

// read takes the events apart. A test has failed if it says so itself, or if the binary ended while it ran.
func read(out []byte) *report {
	r, said, other := &report{}, map[string]string{}, ""
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			e.Output = string(line)
		}
		switch {
		case e.Action == "run":
			r.ran = append(r.ran, e.Test)
		case e.Action == "fail" && e.Test != "":
			r.failed = append(r.failed, e.Test)
		case e.Test != "":
			said[e.Test] += e.Output
		default:
			other += e.Output
		}
	}
	for _, test := range slices.Sorted(slices.Values(r.failed)) {
		r.output += said[test]
	}
	r.output += other
	return r
}

// command runs a program in the copy, in a process group that ends as one.
func (t *tree) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.root
	// Without the path of the copy in what is compiled, the next copy finds it in the build cache. And the copy is no part
	// of a repository around it, of which git would take the patches' paths to be.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(t.root))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
