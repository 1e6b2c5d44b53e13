// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestTwoAPIServers runs two API servers on one etcd, with a manager at each, none of which leads. The servers are stopped
// in turn, so that the manager behind one sees what was true a while ago and acts on it, and one is killed in the end.
func TestTwoAPIServers(t *testing.T) {
	t.Parallel()
	p := startPlane(t)
	const rounds, perRound, blind = 4, 10, 2 * time.Second
	c := contracts[0]
	s := harness.NewCluster(p.admin).Space(t)
	agent := harness.StartAgent(t, "--delay=500ms")
	relay := harness.StartRelay(t, agent.URL, nil, losing(7))
	second, address := p.secondServer(t)
	s.StartManager()
	s.StartManagerAt("https://" + address)
	s.Create(s.RemoteAgent(relay.URL).AttemptTimeout(attemptTimeout).Poll(poll, poll).Lookup(c.lookup, settle).Build())
	s.AwaitAgentReady(harness.AgentName)
	first := func(sig syscall.Signal) { signal(t, p.pid(t, "kube-apiserver", "--secure-port="+p.port(t)), sig) }
	for round := range rounds {
		for i := range perRound {
			n := round*perRound + i
			s.Create(s.Reconciliation(fmt.Sprintf("d%d", n)).MessageID(fmt.Sprintf("%s.d%d", s.Namespace, n)).Build())
		}
		stop := second.Signal
		if round%2 == 1 {
			stop = first
		}
		stop(syscall.SIGSTOP)
		time.Sleep(blind) // how far behind the server is when it goes on
		stop(syscall.SIGCONT)
	}
	second.Kill()
	results.add("two API servers, a manager at each/"+c.name, judgeMany(t, s, agent, c, rounds*perRound))
}

// secondServer starts an API server with what the first one was started with, but for its port.
func (p *plane) secondServer(t *testing.T) (server *harness.Process, address string) {
	t.Helper()
	address = harness.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	args := p.commandLine(t, "kube-apiserver")
	for i, arg := range args {
		if strings.HasPrefix(arg, "--secure-port=") {
			args[i] = "--secure-port=" + port
		}
	}
	server = harness.StartProcess(t, filepath.Join(testenv.Assets(t), "kube-apiserver"), args[1:]...)
	config := rest.CopyConfig(p.admin)
	config.Host = "https://" + address
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Patience, "the second API server to be ready", func(ctx context.Context) (bool, string) {
		answer, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, fmt.Sprintf("%s %v", answer, err)
	})
	return server, address
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Error(os.NewSyscallError("kill", err))
	}
}
