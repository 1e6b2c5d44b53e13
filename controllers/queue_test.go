// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/message"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// A message that waits for its turn when its namespace is no longer allowed is neither journalled nor sent.
func TestAllowanceEndsInTheQueue(t *testing.T) {
	r, _, admin := newReconciler(t)
	owner, own := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	ra := newAgent(t, r, admin, owner, v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll})
	d := delegationTo(own, owner)
	create(t, admin, d)
	one, turn := courier.Limits{InFlight: 1, PerSecond: 1000}, make(chan struct{})
	r.Agents.Pool.RunFor(owner, ra.UID, one, func(context.Context) { <-turn })
	s := &scope{delegation: d, agent: agentView{id: ra.UID, limits: one}, message: &message.Message{}}
	r.send(s, outbox.Send{Attempt: outbox.Attempt{Number: 1, Holder: "self", Body: "sha256:body"}, Envelope: outbox.Envelope{MessageID: own + "/m-1"}, Timeout: time.Minute})
	ra.Spec.AllowedNamespaces.From = v1alpha1.NamespacesFromSame
	if err := admin.Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !r.Agents.permits(t.Context(), d) })
	close(turn)
	eventually(t, func() bool { running, _ := r.Courier.Observe(d.UID); return running == outbox.CallNone })
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || d.Annotations[v1alpha1.AttemptAnnotation] != "" {
		t.Errorf("the journal holds %q, error %v", d.Annotations[v1alpha1.AttemptAnnotation], err)
	}
}
