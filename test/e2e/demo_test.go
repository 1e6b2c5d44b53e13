// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/hack/demo/play"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestDemo plays the demo twice, as make demo does, on a control plane of its own, and takes it down. That all is as it
// should be the demo checks itself.
func TestDemo(t *testing.T) {
	t.Parallel()
	// They are checked here, since the demo finds the programs by itself.
	testenv.Binary(t, "manager")
	testenv.Binary(t, "finance-agent")
	dir := t.TempDir()
	var shown bytes.Buffer
	o := play.Options{
		Root: harness.Root(t), StateDir: filepath.Join(dir, "demo"), Out: io.MultiWriter(&shown, t.Output()),
		Cluster: controlplane.Options{
			StateDir: filepath.Join(dir, "cluster"), Assets: testenv.Assets(t), ExitWithCaller: true, UnsafeNoFsync: true,
		},
	}
	t.Cleanup(func() { _ = play.Down(context.WithoutCancel(t.Context()), o) }) // where the test fails in the middle
	for _, which := range []string{"first", "second"} {
		if err := play.Up(t.Context(), o); err != nil {
			t.Fatalf("the %s demo: %v", which, err)
		}
		// One that a user made would begin runs while the next demo cleans up, and they would ask its agent.
		sample := filepath.Join(o.Root, "config", "samples", "schedule.yaml")
		out := inShell(t, o, t.TempDir(), "kubectl get delegationschedules -o name; kubectl apply -f "+sample)
		if strings.Contains(out, "/reconcile-monthly\n") {
			t.Errorf("after the %s demo one of before is there:\n%s", which, out)
		}
	}
	for _, want := range []string{"recoveredBy: Replay", "# Reconciliation of 2026-09", "One task for each message that asks for one"} {
		if n := strings.Count(shown.String(), want); n != 2 {
			t.Errorf("two demos showed %q %d times", want, n)
		}
	}
	asInTheReadme(t, o)
	pids := []int{pid(t, o, "manager"), pid(t, o, "finance-agent")}
	if err := play.Down(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	for _, dir := range []string{o.StateDir, o.Cluster.StateDir} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// asInTheReadme runs the commands that README.md has for after the demo.
func asInTheReadme(t *testing.T, o play.Options) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.Root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begins, ends = "\nkubectl delegation create mine ", "\nmake demo-down\n"
	_, rest, found := strings.Cut(string(text), begins)
	commands, _, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatal("README.md has no commands for after the demo")
	}
	// It ends when the agent asks, which an exit code says.
	dir := t.TempDir()
	out := inShell(t, o, dir, strings.Replace(begins+commands, "--wait\n", "--wait || test $? = 3\n", 1))
	if report, err := os.ReadFile(filepath.Join(dir, ".local", "results", "report.md")); err != nil || len(report) == 0 {
		t.Errorf("the report of the revision: %v\n%s", err, out)
	}
}

// inShell runs commands with the environment that the demo tells its user to set.
func inShell(t *testing.T, o play.Options, dir, commands string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-exc", commands)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(o.Cluster.StateDir, "kubeconfig"),
		"PATH="+strings.Join([]string{filepath.Join(o.Root, "bin"), o.Cluster.Assets, os.Getenv("PATH")}, ":"))
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// pid reads a pid file of a program that runs.
func pid(t *testing.T, o play.Options, name string) int {
	t.Helper()
	programs := o.Cluster
	programs.StateDir = o.StateDir
	if err := controlplane.CheckProgram(programs, name); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(o.StateDir, name+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ PID int }
	if err := json.Unmarshal(data, &record); err != nil || record.PID <= 0 {
		t.Fatalf("%s: %v", data, err)
	}
	return record.PID
}
