// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestPowerLoss kills etcd and the API server with SIGKILL in the middle of the work, three times, and starts them again on
// the same disk.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	p := startPlane(t)
	const count, cuts, outage = 40, 3, time.Second
	c := contracts[0]
	s := harness.NewCluster(p.admin).Space(t)
	agent := harness.StartAgent(t, "--delay=500ms")
	relay := harness.StartRelay(t, agent.URL, nil, losing(7))
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).AttemptTimeout(attemptTimeout).Poll(poll, poll).Lookup(c.lookup, settle).Build())
	s.AwaitAgentReady(harness.AgentName)
	create := func(from, to int) {
		for n := from; n < to; n++ {
			s.Create(s.Reconciliation(fmt.Sprintf("d%d", n)).MessageID(fmt.Sprintf("%s.d%d", s.Namespace, n)).Build())
		}
	}
	const part = count / (cuts + 1)
	for cut := range cuts {
		create(cut*part, (cut+1)*part)
		signal(t, p.pid(t, "etcd", ""), syscall.SIGKILL)
		signal(t, p.pid(t, "kube-apiserver", ""), syscall.SIGKILL)
		time.Sleep(outage)
		p.start(t)
	}
	create(cuts*part, count)
	results.add("power loss, etcd synced/"+c.name, judgeMany(t, s, agent, c, count))
}
