// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	sweptTasks = 20
	sweptPoll  = 2 * time.Second
)

// sweptNames are the Delegations of a test.
func sweptNames() []string {
	var names []string
	for i := range sweptTasks {
		names = append(names, fmt.Sprintf("d-%02d", i))
	}
	return names
}

// delegateMany has twenty tasks at an agent that wait for an answer, each of which was looked at.
func delegateMany(t *testing.T, s *harness.Space, maxPoll time.Duration, agentFlags ...string) (*harness.Agent, *harness.Relay) {
	t.Helper()
	agent := harness.StartAgent(t, agentFlags...)
	relay := harness.StartRelay(t, agent.URL, nil)
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).Poll(sweptPoll, maxPoll).Build())
	for _, name := range sweptNames() {
		s.Create(s.Question(name).MessageID("m-" + name).Build())
	}
	for _, name := range sweptNames() {
		s.AwaitPhase(name, v1alpha1.PhaseInputRequired)
	}
	awaitLooks(t, relay, sweptTasks)
	return agent, relay
}

// Twenty tasks cost one ListTasks an interval, a change one GetTask, and it is in the status within two intervals.
func TestTasksAreSwept(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, relay := delegateMany(t, s, 10*time.Minute)
	harness.Eventually(t, harness.Patience, "the agent to be swept", func(context.Context) (bool, string) {
		calls := relay.Calls()
		return calls["ListTasks"] >= 3, fmt.Sprint(calls)
	})
	awaitRest(t, relay)
	const intervals = 5
	before := relay.Calls()
	harness.Throughout(t, intervals*sweptPoll, "a call an interval for all tasks", func(context.Context) (bool, string) {
		calls := relay.Calls()
		listings, looks := calls["ListTasks"]-before["ListTasks"], calls["GetTask"]-before["GetTask"]
		// A slow look in ten minutes at each task: one may fall into these seconds, or two.
		return listings <= intervals+1 && looks <= 4, fmt.Sprintf("%d ListTasks and %d GetTask for %d tasks", listings, looks, sweptTasks)
	})
	if calls := relay.Calls(); calls["ListTasks"]-before["ListTasks"] < intervals-2 {
		t.Errorf("%d ListTasks in %d intervals", calls["ListTasks"]-before["ListTasks"], intervals)
	}

	before = relay.Calls()
	changed := sweptNames()[:5]
	for _, name := range changed {
		agent.CancelTask(s.Get(name).Status.TaskID)
	}
	begun := time.Now()
	for _, name := range changed {
		s.AwaitPhase(name, v1alpha1.PhaseCanceled)
	}
	if took := time.Since(begun); took > 2*sweptPoll {
		t.Errorf("changes were in status after %s, want %s at the most", took, 2*sweptPoll)
	}
	if looks := relay.Calls()["GetTask"] - before["GetTask"]; looks < len(changed) || looks > len(changed)+2 {
		t.Errorf("%d GetTask for %d changes", looks, len(changed))
	}
}

// awaitRest waits until two intervals went by without a look: after news of a task that goes on another look follows.
func awaitRest(t *testing.T, relay *harness.Relay) {
	t.Helper()
	looks, since := -1, time.Now()
	harness.Eventually(t, harness.Patience, "the first looks to be over", func(context.Context) (bool, string) {
		if now := relay.Calls()["GetTask"]; now != looks {
			looks, since = now, time.Now()
		}
		return time.Since(since) > 2*sweptPoll, fmt.Sprintf("%d looks", looks)
	})
}

// An agent that lists nothing is asked once, and its tasks are looked at one by one.
func TestTasksAreLookedAtWhereTheyAreNotListed(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, relay := delegateMany(t, s, 10*time.Second, "--status-for=ListTasks:501:-1")
	before := relay.Calls()
	awaitLooks(t, relay, before["GetTask"]+sweptTasks)
	name := sweptNames()[0]
	agent.CancelTask(s.Get(name).Status.TaskID)
	s.AwaitPhase(name, v1alpha1.PhaseCanceled)
	// Each message was looked up once before it was sent, since its id was given.
	if listings := relay.Calls()["ListTasks"] - sweptTasks; listings > 1 {
		t.Errorf("%d ListTasks beside the lookups", listings)
	}
}
