// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestPowerLoss kills etcd and the API server with SIGKILL in the middle of the work, three times, and starts them again on
// the same disk. etcd syncs each write here, as it does where power can fail.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := controlplane.Options{StateDir: dir, Assets: testenv.Assets(t), Kubeconfig: filepath.Join(dir, "kubeconfig"), ExitWithCaller: true, Out: t.Output()}
	t.Cleanup(func() { _ = controlplane.Down(context.WithoutCancel(t.Context()), o) })
	if err := controlplane.Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	const count = 40
	c := contracts[0]
	s := harness.NewCluster(admin).Space(t)
	agent := harness.StartAgent(t, "--delay=500ms")
	relay := harness.StartRelay(t, agent.URL, nil, losing(7))
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).AttemptTimeout(attemptTimeout).Poll(poll, poll).Lookup(c.lookup, settle).Build())
	s.AwaitAgentReady(harness.AgentName)
	for cut := range 3 {
		for i := range count / 4 {
			n := cut*count/4 + i
			s.Create(s.Reconciliation(fmt.Sprintf("d%d", n)).MessageID(fmt.Sprintf("%s.d%d", s.Namespace, n)).Build())
		}
		killWith(t, dir, "etcd", "kube-apiserver")
		if err := controlplane.Up(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for n := 3 * count / 4; n < count; n++ {
		s.Create(s.Reconciliation(fmt.Sprintf("d%d", n)).MessageID(fmt.Sprintf("%s.d%d", s.Namespace, n)).Build())
	}
	results.add("power loss, etcd synced/"+c.name, judgeMany(t, s, agent, c, count))
}

// killWith kills the programs that work on a directory.
func killWith(t *testing.T, dir string, programs ...string) {
	t.Helper()
	for _, program := range programs {
		killed := 0
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			args, err := os.ReadFile(line)
			first, _, _ := bytes.Cut(args, []byte{0})
			if err != nil || filepath.Base(string(first)) != program || !bytes.Contains(args, []byte(dir)) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		}
		if killed != 1 {
			t.Fatalf("killed %d of %s", killed, program)
		}
	}
	time.Sleep(time.Second) // the outage
}
