// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

const (
	// floorNamespace is one that no manager watches.
	floorNamespace = "bench-floor"
	agentName      = "agent"
	// maxInFlight and maxRate are the highest that a RemoteAgent may have.
	maxInFlight  = 1000
	maxRate      = 100_000
	pollInterval = time.Second
	messageText  = "Reconcile the ledger of September 2026 with the bank statement, and list each posting that has no counterpart."
)

// createAgent writes a RemoteAgent whose limits are the highest that there are.
func createAgent(ctx context.Context, c client.Client, namespace, url string, contract v1alpha1.Contract, attemptTimeout time.Duration) error {
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: agentName}}
	ra.Spec.Interfaces = []v1alpha1.AgentInterface{{URL: url + rpcPath}}
	ra.Spec.Contract = contract
	ra.Spec.Updates.Mode = v1alpha1.UpdatesPoll
	ra.Spec.Updates.PollInterval.Duration = pollInterval
	ra.Spec.Updates.MaxPollInterval.Duration = pollInterval
	ra.Spec.Delivery.MaxInFlight = maxInFlight
	ra.Spec.Delivery.RequestsPerSecond = maxRate
	// A Duration that is zero in Go is a zero in the manifest and not the schema's default.
	ra.Spec.Delivery.AttemptTimeout.Duration = attemptTimeout
	return c.Create(ctx, ra)
}

// newDelegation has no messageId: one from the manifest would be looked up first.
func newDelegation(namespace, name string) *v1alpha1.Delegation {
	text := messageText
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	d.Spec.AgentRef.Name = agentName
	d.Spec.Message.Parts = []v1alpha1.Part{{Text: &text}}
	d.Spec.DeliveryDeadline.Duration = 72 * time.Hour
	return d
}

// boundStatus is one such as the operator writes once the agent has the message.
func boundStatus(generation int64) v1alpha1.DelegationStatus {
	now := metav1.Now()
	micro := metav1.NowMicro()
	return v1alpha1.DelegationStatus{
		ObservedGeneration: generation, Phase: v1alpha1.PhaseWorking, TaskID: "task-1", ContextID: "0c7fd1a1-6d4e-4bb5-9a43-6d8f3a1f7a10",
		State: v1alpha1.TaskStateWorking, StateTimestamp: &micro, Attempts: 1, StartTime: &now, FirstAttemptTime: &now, LastAttemptTime: &now,
		BodyDigest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionTrue, Reason: "Bound", LastTransitionTime: now},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(v1alpha1.PhaseWorking), LastTransitionTime: now},
			{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: string(v1alpha1.PhaseWorking), LastTransitionTime: now},
		},
	}
}
