// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A ServiceAccount that is missing is named, and a message waits for it. Then the operator's own rights are enough for its
// token, and the message goes.
func TestMissingServiceAccount(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).ServiceAccountToken("robot", "https://finance.example.com").Build(), s.Reconciliation("d").MessageID("m-1").Build())
	requirePending(t, s, "d", "ServiceAccountNotFound", `"robot"`, s.Namespace)
	requireAgentCondition(t, s, "ServiceAccountNotFound", `"robot"`)
	agent.Require("m-1", 0, 0)
	s.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "robot"}})
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)
}
