// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// plane is a control plane of one test, which may break it.
type plane struct {
	options controlplane.Options
	admin   *rest.Config
}

// startPlane starts a control plane whose etcd syncs each write, as it does where power can fail.
func startPlane(t *testing.T) *plane {
	t.Helper()
	dir := t.TempDir()
	p := &plane{options: controlplane.Options{
		StateDir: dir, Assets: testenv.Assets(t), Kubeconfig: filepath.Join(dir, "kubeconfig"), ExitWithCaller: true, Out: t.Output(),
	}}
	t.Cleanup(func() { _ = controlplane.Down(context.WithoutCancel(t.Context()), p.options) })
	p.start(t)
	var err error
	if p.admin, err = clientcmd.BuildConfigFromFlags("", p.options.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts what does not run.
func (p *plane) start(t *testing.T) {
	t.Helper()
	if err := controlplane.Up(t.Context(), p.options); err != nil {
		t.Fatal(err)
	}
}

// port is that of the API server.
func (p *plane) port(t *testing.T) string {
	t.Helper()
	host, err := url.Parse(p.admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	return host.Port()
}

// pid finds a program of this control plane, by its name and one of its arguments, "" for any.
func (p *plane) pid(t *testing.T, program, arg string) int {
	t.Helper()
	pids := p.find(t, program, arg)
	if len(pids) != 1 {
		t.Fatalf("%d processes of %s", len(pids), program)
	}
	return pids[0]
}

func (p *plane) find(t *testing.T, program, arg string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, line := range lines {
		text, err := os.ReadFile(line)
		args := bytes.Split(text, []byte{0})
		if err != nil || filepath.Base(string(args[0])) != program || !bytes.Contains(text, []byte(p.options.StateDir)) {
			continue
		}
		if arg != "" && !slices.ContainsFunc(args, func(a []byte) bool { return string(a) == arg }) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// commandLine is what a program of this control plane was started with.
func (p *plane) commandLine(t *testing.T, program string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid(t, program, "")), "cmdline"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for arg := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}
