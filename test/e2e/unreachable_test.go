// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// An agent that is away: the Delegation says why it waits and when the next attempt is, the attempts become rarer, and the
// message is delivered when the agent comes up.
func TestAgentDown(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	address := harness.FreeAddress(t)
	s.StartManager()
	s.Create(s.RemoteAgent("").Endpoint("http://"+address+"/a2a").Lookup(v1alpha1.LookupNone, shortSettle).Build(), s.Reconciliation("d").MessageID("m-1").Build())

	var attempts []outbox.Attempt
	for n := int32(1); n <= 4; n++ {
		d := s.Await("d", "to have recorded another failed attempt", func(d *v1alpha1.Delegation) bool { return d.Status.Attempts >= n })
		attempt := requireWaiting(t, d)
		attempts = append(attempts, *attempt)
	}
	first, last := attempts[1].Started.Sub(attempts[0].Started), attempts[3].Started.Sub(attempts[2].Started)
	if last < 2*first {
		t.Errorf("the attempts don't become rarer: %s between the first two, %s between the last two", first, last)
	}
	agent := harness.StartAgent(t, "--listen", address)
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if d.Status.RecoveredBy != "" {
		t.Errorf("recoveredBy = %q, though no answer was lost", d.Status.RecoveredBy)
	}
	if d.Status.NextAttemptTime != nil || d.Status.LastError != "" {
		t.Errorf("what no longer matters is still in the status: %s", harness.Describe(d))
	}
	agent.Require("m-1", 1, 1)
}

// requireWaiting requires a Delegation to say why it waits and when it goes on, and returns its latest attempt.
func requireWaiting(t *testing.T, d *v1alpha1.Delegation) *outbox.Attempt {
	t.Helper()
	if d.Status.Phase != v1alpha1.PhaseSending && d.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("phase = %q; want Sending or Pending", d.Status.Phase)
	}
	if ready := harness.Ready(d); ready.Reason != "ConnectionFailed" || ready.Message == "" {
		t.Errorf("condition Ready: %+v; want reason ConnectionFailed and a message", ready)
	}
	if delivered := harness.Condition(d, v1alpha1.ConditionDelivered); delivered.Status != metav1.ConditionFalse {
		t.Errorf("condition Delivered: %+v; want False: nothing listens there", delivered)
	}
	if d.Status.NextAttemptTime == nil || !d.Status.NextAttemptTime.After(d.Status.LastAttemptTime.Time) {
		t.Errorf("nextAttemptTime = %v after an attempt at %v; want a later time", d.Status.NextAttemptTime, d.Status.LastAttemptTime)
	}
	attempt, err := outbox.Journalled(d)
	if err != nil || attempt == nil {
		t.Fatalf("journal: %v, %v", attempt, err)
	}
	return attempt
}

// An agent whose card can't be read: nothing is sent, and both objects say what is missing.
func TestCardUnavailable(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	address := harness.FreeAddress(t)
	s.StartManager()
	s.Create(s.RemoteAgent("http://"+address).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.AwaitReason("d", "CardUnavailable")
	if d.Status.Phase != v1alpha1.PhasePending || d.Status.Attempts != 0 {
		t.Errorf("%s; want Pending without an attempt", harness.Describe(d))
	}
	agent := harness.StartAgent(t, "--listen", address)
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)
}

// An agent that says when to come back is not asked before that.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--reject-first-with=429:1:4")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.AwaitReason("d", "TooManyRequests")
	if wait := d.Status.NextAttemptTime.Sub(d.Status.LastAttemptTime.Time); wait < 4*time.Second {
		t.Errorf("the next attempt is after %s; the agent asked for 4s", wait)
	}
	if d := s.AwaitPhase("d", v1alpha1.PhaseCompleted); d.Status.RecoveredBy != "" || d.Status.Attempts != 2 {
		t.Errorf("%s; want the second attempt to succeed", harness.Describe(d))
	}
	agent.Require("m-1", 2, 1)
}

// An agent that keeps answering 500 gets the identical message again after pauses that grow, and each call is counted.
func TestServerErrorsBackOff(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--status-for=SendMessage:500:3")
	relay := harness.StartRelay(t, agent.URL, nil)
	s.StartManager()
	s.Create(s.RemoteAgent(relay.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	began := time.Now()
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	// 1, 2 and 4 s, each at least four fifths of it.
	if took := time.Since(began); took < 5600*time.Millisecond {
		t.Errorf("three pauses took %s", took)
	}
	if n := relay.Calls()[harness.SendMessage]; n != 4 || d.Status.Attempts != 4 {
		t.Errorf("%d calls and %d attempts; want 4", n, d.Status.Attempts)
	}
	agent.Require("m-1", 4, 1)
}
