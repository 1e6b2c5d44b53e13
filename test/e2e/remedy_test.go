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

// Each state that stays until a person acts names the command that ends it, and the command does. Those of Unknown and of
// a suspended message are run by tests of their own.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		flags  []string
		// change makes of a Delegation that can be delivered one that stops.
		change func(*v1alpha1.DelegationSpec)
		// spoil makes it stop after it was sent.
		spoil func(s *harness.Space)
	}{
		{reason: "BadRequest", flags: []string{"--reject-first-with=400:1"}},
		{reason: "Expired", change: func(d *v1alpha1.DelegationSpec) { d.NotAfter = &metav1.Time{Time: time.Unix(0, 0)} }},
		{reason: "DeliveryDeadlineExceeded", flags: []string{"--reject-first-with=429:1000"}, change: func(d *v1alpha1.DelegationSpec) {
			d.DeliveryDeadline.Duration = 3 * time.Second
		}},
		{reason: "NoTask", change: func(d *v1alpha1.DelegationSpec) { d.Continues = &v1alpha1.DelegationReference{Name: "reply"} }},
		{reason: outbox.ReasonMessageSourceChanged, flags: []string{"--reject-first-with=503:1:20"}, spoil: func(s *harness.Space) {
			s.AwaitReason("d", outbox.ReasonRecovering)
			s.Kubectl("patch", "configmap", "ledger", "--type=merge", "--patch", `{"data":{"ledger.csv":"changed"}}`)
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, c.flags...)
			s.StartManager()
			d := s.Delegation("d").FileFrom("ledger", "ledger.csv").File("bank.csv", harness.BankTable)
			if c.change != nil {
				d.With(c.change)
			}
			s.Create(s.ConfigMap("ledger", map[string]string{"ledger.csv": harness.LedgerTable}),
				s.RemoteAgent(agent.URL).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, shortSettle).Build())
			if c.reason == "NoTask" {
				s.Create(s.Answer("reply", "nobody", "ping").With(func(d *v1alpha1.DelegationSpec) { d.Continues = nil }).Build())
			}
			s.Create(d.Build())
			if c.spoil != nil {
				c.spoil(s)
			}
			stopped := s.AwaitReason("d", c.reason)
			if harness.Condition(stopped, v1alpha1.ConditionStalled).Status != metav1.ConditionTrue {
				t.Errorf("%s", harness.Describe(stopped))
			}
			s.RunRemedy("d")
			s.AwaitGone(stopped)
		})
	}
}

// A journal that was edited by hand stops; removing it, as the condition says, has the message looked up.
func TestSpoiledJournal(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--status-for=ListTasks:500:-1")
	manager := s.StartManager()
	relay := harness.StartRelay(t, agent.URL, nil)
	relay.LoseAnswers(1)
	s.Create(s.RemoteAgent(relay.URL).Build(), s.Reconciliation("d").Build())
	s.AwaitReason("d", outbox.ReasonAgentUnreachable)
	manager.Kill()
	s.Kubectl("annotate", "--overwrite", "delegation", "d", v1alpha1.AttemptAnnotation+"={")
	s.StartManager()
	s.AwaitReason("d", outbox.ReasonJournalUnreadable)
	s.RunRemedy("d")
	d := s.Await("d", "to be looked up", func(d *v1alpha1.Delegation) bool { return harness.Ready(d).Reason != outbox.ReasonJournalUnreadable })
	agent.Require(d.Spec.MessageID, 1, 1)
}
