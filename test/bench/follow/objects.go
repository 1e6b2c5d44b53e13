// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	namespace = "bench-follow"
	agentName = "agent"
	// writers create objects at once.
	writers = 32
)

func createNamespace(ctx context.Context, c client.Client) error {
	return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

func createAgent(ctx context.Context, c client.Client, url string) error {
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: agentName}}
	ra.Spec.Interfaces = []v1alpha1.AgentInterface{{URL: url + rpcPath}}
	ra.Spec.Updates.PollInterval.Duration = pollInterval
	ra.Spec.Updates.MaxPollInterval.Duration = maxPollInterval
	ra.Spec.Delivery.RequestsPerSecond = requestsPerSecond
	// A Duration that is zero in Go is a zero in the manifest and not the schema's default.
	ra.Spec.Delivery.AttemptTimeout.Duration = 30 * time.Second
	return c.Create(ctx, ra)
}

func delegationName(i int) string { return fmt.Sprintf("d-%05d", i) }

// fill creates the Delegations from one number on to before another, as they are once the agent has made their tasks.
func fill(ctx context.Context, c client.Client, from, to int, opened []change) error {
	return lab.Each(ctx, writers, from, to, func(ctx context.Context, i int) error { return createBound(ctx, c, i, opened[i].Timestamp) })
}

// createBound writes a Delegation whose message was accepted.
func createBound(ctx context.Context, c client.Client, i int, at time.Time) error {
	text := "Reconcile September 2026"
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: delegationName(i)}}
	d.Finalizers = []string{v1alpha1.DeliveryFinalizer}
	d.Spec.AgentRef.Name = agentName
	d.Spec.MessageID, d.Spec.ContextID = fmt.Sprintf("m-%05d", i), contextID(i)
	d.Spec.Message.Parts = []v1alpha1.Part{{Text: &text}}
	d.Spec.DeliveryDeadline.Duration = 72 * time.Hour
	if err := c.Create(ctx, d); err != nil {
		return err
	}
	now := metav1.Now()
	d.Status = v1alpha1.DelegationStatus{
		ObservedGeneration: d.Generation, Phase: v1alpha1.PhaseWorking, TaskID: taskID(i), ContextID: contextID(i),
		State: v1alpha1.TaskStateWorking, StateTimestamp: &metav1.MicroTime{Time: at}, Attempts: 1, StartTime: &now,
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionTrue, Reason: "Bound", LastTransitionTime: now},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(v1alpha1.PhaseWorking), LastTransitionTime: now},
		},
	}
	return c.Status().Update(ctx, d)
}
