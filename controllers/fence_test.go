// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// newDelegation creates one in a namespace of its own.
func newDelegation(t *testing.T, admin client.Client) *v1alpha1.Delegation {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	text := "Reconcile"
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "d"}, Spec: v1alpha1.DelegationSpec{
		AgentRef: v1alpha1.AgentReference{Name: "agent"}, MessageID: "m-1", Message: v1alpha1.MessageTemplate{Parts: []v1alpha1.Part{{Text: &text}}},
	}}
	create(t, admin, d)
	return d
}

// What was decided on an object that has changed since is neither journalled nor sent.
func TestAnOutdatedObjectIsNotJournalled(t *testing.T) {
	r, _, admin := newReconciler(t)
	seen := newDelegation(t, admin)
	now := seen.DeepCopy()
	now.Annotations = map[string]string{"changed": "since"}
	if err := admin.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	token, err := r.journal(t.Context(), seen.DeepCopy(), outbox.Envelope{MessageID: "m-1", ContextID: "c-1"},
		outbox.Attempt{Number: 1, Holder: "self", Body: "sha256:body", Started: time.Now(), Deadline: time.Now().Add(time.Minute)})
	if !apierrors.IsConflict(err) || token.Attempt().Number != 0 {
		t.Errorf("the journal write of an outdated object: error %v and the right to send attempt %d; want a conflict", err, token.Attempt().Number)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil || now.Annotations[v1alpha1.AttemptAnnotation] != "" {
		t.Errorf("the journal holds %q, error %v", now.Annotations[v1alpha1.AttemptAnnotation], err)
	}
}

// A decision on the version that a journal write was refused for would be refused again, and again, until the cache has a
// newer one.
func TestAConflictIsNotRepeated(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	name := client.ObjectKeyFromObject(d)
	eventually(t, func() bool { // the cache may not have it yet
		s, err := r.open(t.Context(), name)
		return err == nil && s != nil
	})
	r.outdated.Store(d.UID, d.ResourceVersion)
	if got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil || got.RequeueAfter != staleRetry {
		t.Errorf("%+v, %v; want to wait %s", got, err, staleRetry)
	}
	d.Annotations = map[string]string{"changed": "since"}
	if err := admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		decide(t, r, name)
		return admin.Get(t.Context(), name, d) == nil && d.Status.Phase == v1alpha1.PhasePending
	})
}

// Of two claims on one question that saw it free, the second conflicts.
func TestAQuestionIsClaimedOnce(t *testing.T) {
	r, _, admin := newReconciler(t)
	seen := newDelegation(t, admin)
	first, second := v1alpha1.Claim{Name: "a1", UID: "uid-1", Interruption: 1}, v1alpha1.Claim{Name: "a2", UID: "uid-2", Interruption: 1}
	if err := r.claim(t.Context(), &scope{}, outbox.Claim{Root: seen, Claim: first}); err != nil {
		t.Fatal(err)
	}
	if err := r.claim(t.Context(), &scope{}, outbox.Claim{Root: seen, Claim: second}); !apierrors.IsConflict(err) {
		t.Errorf("the second claim: %v; want a conflict", err)
	}
	now := &v1alpha1.Delegation{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(seen), now); err != nil || now.Status.AnsweredBy == nil || *now.Status.AnsweredBy != first {
		t.Errorf("the question is answered by %+v, error %v; want %+v", now.Status.AnsweredBy, err, first)
	}
}

// overtaking reads Delegations, and then something else takes place.
type overtaking struct {
	client.Client
	after func()
}

// Get implements client.Reader.
func (o *overtaking) Get(ctx context.Context, key client.ObjectKey, to client.Object, opts ...client.GetOption) error {
	err := o.Client.Get(ctx, key, to, opts...)
	if _, ok := to.(*v1alpha1.Delegation); ok && err == nil && o.after != nil {
		o.after()
	}
	return err
}

// The object that was read has no journal of a call that ended after it was read: what that call proved is for the next
// decision.
func TestACallIsLookedAtBeforeItsObject(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	name := client.ObjectKeyFromObject(d)
	eventually(t, func() bool { // the cache may not have it yet
		s, err := r.open(t.Context(), name)
		return err == nil && s != nil
	})
	end := make(chan struct{})
	r.Courier.Carry(courier.Job{Key: courier.Key{NamespacedName: name, UID: d.UID}, Agent: "agent", Call: outbox.CallSend, Limits: courier.Limits{InFlight: 1, PerSecond: 1},
		Do: func(context.Context) *outbox.Result {
			<-end
			return &outbox.Result{Call: outbox.CallSend, Attempt: 1, Exchange: outbox.Exchange{Outcome: outbox.Refused, Reason: "InvalidParams"}}
		}})
	r.Client = &overtaking{Client: r.Client, after: func() {
		close(end)
		eventually(t, func() bool { running, _ := r.Courier.Observe(d.UID); return running == outbox.CallNone })
	}}
	s, err := r.open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if s.running != outbox.CallSend || s.result != nil {
		t.Errorf("%q is under way and %+v is known of an object that was read before the call ended; want the call, and nothing", s.running, s.result)
	}
}
