// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// requirePending waits until a Delegation waits for a reason, and requires its message to name what is missing.
func requirePending(t *testing.T, s *harness.Space, name, reason string, named ...string) *v1alpha1.Delegation {
	t.Helper()
	d := s.AwaitReason(name, reason)
	if d.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("phase = %q; want Pending", d.Status.Phase)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling} {
		requireNamed(t, kind, harness.Condition(d, kind).Message, named)
	}
	return d
}

func requireNamed(t *testing.T, where, message string, named []string) {
	t.Helper()
	for _, name := range named {
		if !strings.Contains(message, name) {
			t.Errorf("condition %s does not name %s: %q", where, name, message)
		}
	}
}

func TestUnknownAgent(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.Reconciliation("d").Agent("nobody").MessageID("m-1").Build())
	requirePending(t, s, "d", "AgentNotFound", `"nobody"`, s.Namespace)
	late := s.RemoteAgent(agent.URL).Build()
	late.Name = "nobody"
	s.Create(late)
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)
}

// A Secret that is missing, then one without the key, then a good one: each time the conditions of both objects say which,
// and nothing is sent before the last.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build(), s.Reconciliation("d").MessageID("m-1").Build())
	requirePending(t, s, "d", "SecretNotFound", `"credentials"`, `"token"`, s.Namespace)
	requireAgentCondition(t, s, "SecretNotFound", `"credentials"`)

	secret := s.Secret("credentials", map[string]string{"tocken": "right"})
	s.Create(secret)
	requirePending(t, s, "d", "SecretInvalid", `"credentials"`, `"token"`)
	requireAgentCondition(t, s, "SecretInvalid", `"credentials"`, `"token"`)
	agent.Require("m-1", 0, 0)

	secret.StringData = map[string]string{"token": "right"}
	if err := s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if d.Status.Attempts != 1 {
		t.Errorf("%s; want one attempt", harness.Describe(d))
	}
	agent.Require("m-1", 1, 1)
}

func requireAgentCondition(t *testing.T, s *harness.Space, reason string, named ...string) {
	t.Helper()
	ra := &v1alpha1.RemoteAgent{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: harness.AgentName}, ra); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(ra.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != reason {
		t.Errorf("the RemoteAgent's condition Ready: %+v; want reason %s", ready, reason)
		return
	}
	requireNamed(t, "Ready of the RemoteAgent", ready.Message, named)
}

// A token that the agent does not accept. The retries are slow; the corrected Secret ends the wait at once.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right")
	s.StartManager()
	secret := s.Secret("credentials", map[string]string{"token": "wrong"})
	s.Create(secret, s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build(), s.Reconciliation("d").MessageID("m-1").Build())
	refused := requirePending(t, s, "d", "AuthenticationFailed", "Secret")
	if refused.Status.NextAttemptTime == nil {
		t.Fatalf("%s; want a next attempt", harness.Describe(refused))
	}
	agent.Require("m-1", 0, 0)

	secret.StringData = map[string]string{"token": "right"}
	if err := s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if !d.Status.LastAttemptTime.Before(refused.Status.NextAttemptTime) {
		t.Errorf("delivered by the attempt at %v, planned before the Secret changed for %v; want it at once",
			d.Status.LastAttemptTime, refused.Status.NextAttemptTime)
	}
	if d.Status.RecoveredBy != "" {
		t.Errorf("recoveredBy = %q, though no answer was lost", d.Status.RecoveredBy)
	}
	agent.Require("m-1", 1, 1)
}

// A ConfigMap that is missing, and then one that lacks the key.
func TestMissingMessageSource(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(),
		s.Delegation("d").FileFrom("september", "ledger.csv").FileFrom("september", "bank.csv").MessageID("m-1").Build())
	requirePending(t, s, "d", "MessageSourceNotFound", `"september"`, s.Namespace, "parts[1]")
	source := s.ConfigMap("september", map[string]string{"ledger.csv": harness.LedgerTable})
	s.Create(source)
	s.Await("d", "to miss the other key", func(d *v1alpha1.Delegation) bool {
		return strings.Contains(harness.Ready(d).Message, `"bank.csv"`)
	})
	requirePending(t, s, "d", "MessageSourceNotFound", `"september"`, `"bank.csv"`, "parts[2]")
	agent.Require("m-1", 0, 0)
	source.Data["bank.csv"] = harness.BankTable
	if err := s.Client.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)
}

// A ConfigMap that changes between two attempts: a messageId names one body, so that the other is never sent.
func TestMessageSourceChanged(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	// The agent asks for time, so that the change comes before the next attempt.
	agent := harness.StartAgent(t, "--reject-first-with=503:1:20")
	s.StartManager()
	source := s.ConfigMap("september", map[string]string{"ledger.csv": harness.LedgerTable, "bank.csv": harness.BankTable})
	s.Create(source, s.RemoteAgent(agent.URL).Build(),
		s.Delegation("d").FileFrom("september", "ledger.csv").FileFrom("september", "bank.csv").MessageID("m-1").Build())
	agent.AwaitReceived("m-1", 1)
	source.Data["bank.csv"] += "B-2,2026-09-02,Landlord,RENT-2,Rent,-100.00\n"
	if err := s.Client.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	d := s.AwaitReason("d", "MessageSourceChanged")
	requireNamed(t, v1alpha1.ConditionStalled, harness.Condition(d, v1alpha1.ConditionStalled).Message,
		[]string{"kubectl delete delegation -n " + s.Namespace + " d", d.Status.BodyDigest})
	s.Remains("d", shortSettle, "to stay stopped", func(d *v1alpha1.Delegation) bool {
		return harness.Ready(d).Reason == "MessageSourceChanged"
	})
	agent.Require("m-1", 1, 0)

	source.Data["bank.csv"] = harness.BankTable
	if err := s.Client.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 2, 1)
}
