// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// unknown makes a Delegation whose message the agent has, and of which nobody can find out.
func unknown(t *testing.T, s *harness.Space, flags ...string) *harness.Agent {
	t.Helper()
	agent := harness.StartAgent(t, append([]string{"--lose-responses=1", "--dedup=false", "--history=false"}, flags...)...)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, shortSettle).Build(),
		s.Reconciliation("d").MessageID("m-1").Build())
	s.AwaitPhase("d", v1alpha1.PhaseUnknown)
	return agent
}

// A person names the task.
func TestAdopt(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := unknown(t, s)
	task := agent.Record("m-1").TaskIDs[0]
	s.RunCommand("d", "Adopt", "TASK", "no-such-task")
	s.AwaitReason("d", outbox.ReasonResolutionRefused)
	s.RunCommand("d", "Adopt", "TASK", task)
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	res := d.Status.Resolution
	if d.Status.TaskID != task || d.Status.RecoveredBy != v1alpha1.RecoveredByResolution || res == nil || res.Manager == "" || res.Time.IsZero() {
		t.Errorf("%s", harness.Describe(d))
	}
	agent.Require("m-1", 1, 1)
	if _, err := s.TryKubectl("patch", "delegation", "d", "--type=merge", "--patch", `{"spec":{"resolution":{"action":"Resend","taskId":null}}}`); err == nil {
		t.Error("a resolution that was carried out could be changed")
	}
}

// A person accepts a second task.
func TestResend(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := unknown(t, s)
	s.RunCommand("d", "Resend")
	if d := s.AwaitPhase("d", v1alpha1.PhaseCompleted); d.Status.RecoveredBy != v1alpha1.RecoveredByResolution {
		t.Errorf("%s", harness.Describe(d))
	}
	agent.Require("m-1", 2, 2)
}

// A resend that is lost too can be decided on again: the command says which attempt it is about.
func TestResendTwice(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := unknown(t, s, "--lose-responses=2")
	s.RunCommand("d", "Resend")
	s.Await("d", "to be Unknown again", func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase == v1alpha1.PhaseUnknown && d.Status.Attempts == 2
	})
	s.RunCommand("d", "Resend")
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 3, 3)
}

// A person leaves it.
func TestAbandon(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := unknown(t, s)
	s.RunCommand("d", "Abandon")
	d := s.AwaitReason("d", outbox.ReasonAbandoned)
	if d.Status.Phase != v1alpha1.PhaseUnknown || harness.Condition(d, v1alpha1.ConditionFinished).Status != "True" {
		t.Errorf("%s", harness.Describe(d))
	}
	s.RunRemedy("d")
	s.AwaitGone(d)
	agent.Require("m-1", 1, 1)
}

// The owner of a Delegation may accept a second task beforehand.
func TestOnUnknownResend(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=1", "--dedup=false", "--history=false")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(time.Second).Lookup(v1alpha1.LookupBestEffort, time.Second).Build(),
		s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) { d.OnUnknown = v1alpha1.UnknownResend }).Build())
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 2, 2)
}

// An agent that is known to show every task is believed when it does not.
func TestAuthoritativeLookup(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--reject-first-with=503:1")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(time.Second).Lookup(v1alpha1.LookupAuthoritative, time.Second).Build(),
		s.Reconciliation("d").MessageID("m-1").Build())
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 2, 1)
}

// An agent that breaks its promise to deduplicate is told on: the first task stays, the other is canceled.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=1", "--duplicate-tasks", "--delay=5s")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to have a canceled duplicate", func(d *v1alpha1.Delegation) bool {
		return len(d.Status.Duplicates) == 1 && d.Status.Duplicates[0].Canceled
	})
	if state := agent.TaskState(d.Status.Duplicates[0].TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the duplicate is in state %s", state)
	}
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionContractHonored, "DuplicateTasks")
	if events := s.Kubectl("get", "events.events.k8s.io", "--output=jsonpath={.items[*].reason}"); !strings.Contains(events, "DuplicateTask") {
		t.Errorf("no Event tells of the duplicate: %s", events)
	}
}
