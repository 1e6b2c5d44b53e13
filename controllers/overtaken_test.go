// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// interrupted reads, and then something else takes place before the reader goes on.
type interrupted struct {
	client.Client
	after func()
}

// Get implements client.Reader.
func (i *interrupted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := i.Client.Get(ctx, key, o, opts...)
	if after := i.after; after != nil {
		i.after = nil
		after()
	}
	return err
}

// A call that ends while a decision is being made may have changed the object since it was read. What the call proved
// must be there for the next decision, which sees both.
func TestCallEndsDuringADecision(t *testing.T) {
	r, cached, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	name := types.NamespacedName{Namespace: ns.Name, Name: "overtaken"}
	create(t, admin,
		&v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Spec: v1alpha1.DelegationSpec{
			AgentRef: v1alpha1.AgentReference{Name: "agent"}, MessageID: "m-1",
			Message: v1alpha1.MessageTemplate{Parts: []v1alpha1.Part{{Text: ptr.To("Reconcile")}}},
		}})
	d := &v1alpha1.Delegation{}
	eventually(t, func() bool { // the cache may not have it yet
		decide(t, r, name)
		return admin.Get(t.Context(), name, d) == nil && d.Status.Phase != ""
	})
	agent := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "agent"},
		Spec: v1alpha1.RemoteAgentSpec{Interfaces: []v1alpha1.AgentInterface{{URL: "http://127.0.0.1:1/a2a"}}}}
	create(t, admin, agent)
	agent.Status.ObservedGeneration, agent.Status.Endpoint = agent.Generation, &agent.Spec.Interfaces[0]
	agent.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}}
	if err := admin.Status().Update(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		ra := &v1alpha1.RemoteAgent{}
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(agent), ra) == nil && ra.Status.Endpoint != nil
	})
	end, ended := make(chan struct{}), make(chan struct{})
	refused := &outbox.Result{Call: outbox.CallSend, Attempt: 1, Exchange: outbox.Exchange{Outcome: outbox.Refused, Reason: "InvalidParams"}}
	r.Courier.Carry(courier.Job{Key: courier.Key{NamespacedName: name, UID: d.UID}, Agent: agent.UID, Call: outbox.CallSend, Limits: courier.Limits{InFlight: 1, PerSecond: 1},
		Do: func(context.Context) *outbox.Result {
			defer close(ended)
			<-end
			return refused
		}})
	cached.after = func() {
		close(end)
		<-ended
		eventually(t, func() bool { running, _ := r.Courier.Observe(d.UID); return running == outbox.CallNone })
	}
	decide(t, r, name)
	if cached.after != nil {
		t.Fatal("the decision did not read the Delegation")
	}
	if running, result := r.Courier.Observe(d.UID); running != outbox.CallNone || result != refused {
		t.Errorf("after the decision %q is under way and %+v is known; want nothing, and the refusal", running, result)
	}
}
