// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Many workers that need an agent at once, as after a restart, get one client. One that lost a race would hold a client that
// is closed, on which no stream ever opens.
func TestWorkersShareAClient(t *testing.T) {
	r, _, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "agent"},
		Spec: v1alpha1.RemoteAgentSpec{
			Interfaces:     []v1alpha1.AgentInterface{{URL: "http://127.0.0.1:1/a2a"}},
			Authentication: &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{SecretRef: v1alpha1.KeyReference{Name: "token", Key: "token"}}},
		}}
	create(t, admin, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "token"}, StringData: map[string]string{"token": "t"}}, ra)
	ra.Status.ObservedGeneration, ra.Status.Endpoint = ra.Generation, &ra.Spec.Interfaces[0]
	meta.SetStatusCondition(&ra.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready"})
	if err := admin.Status().Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		cached := &v1alpha1.RemoteAgent{}
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), cached) == nil && cached.Status.Endpoint != nil
	})
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "d", UID: types.UID("uid")}}
	d.Spec.AgentRef.Name = ra.Name
	const workers = 16
	got := make([]*remote.Client, workers)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			v, err := r.Agents.view(t.Context(), d)
			if err != nil || v.Problem != nil {
				t.Error(err, v.Problem)
			}
			got[i] = v.client
		})
	}
	all.Wait()
	for i, c := range got {
		if c == nil || c != got[0] {
			t.Fatalf("worker %d has another client than worker 0: %p, %p", i, c, got[0])
		}
	}
}

// While the keys of the card are missing nobody vouches for the endpoint, and a Delegation that is deleted is not canceled there,
// unless the RemoteAgent goes too. Nothing is sent by a client of another endpoint in any case.
func TestHeldClientIsVouchedFor(t *testing.T) {
	now := metav1.Now()
	verified := &v1alpha1.Verification{SecretRef: &v1alpha1.KeyReference{Name: "finance-keys", Key: "keys"}}
	here := &v1alpha1.AgentInterface{URL: "https://finance.example.com/a2a", ProtocolBinding: "JSONRPC"}
	there := &v1alpha1.AgentInterface{URL: "https://finance.example.com/evil", ProtocolBinding: "JSONRPC"}
	for _, c := range []struct {
		name         string
		verification *v1alpha1.Verification
		deleted      *metav1.Time
		endpoint     *v1alpha1.AgentInterface
		want         bool
	}{
		{"without verification", nil, nil, here, true},
		{"with verification", verified, nil, here, false},
		{"with verification, going", verified, &now, here, true},
		{"of another endpoint", nil, nil, there, false},
		{"of another endpoint, going", verified, &now, there, false},
		{"without an endpoint", nil, &now, nil, false},
	} {
		a := &Agents{clients: map[types.UID]*agentClient{"uid-1": {Client: &remote.Client{}, endpoint: endpointDigest(here)}}}
		ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{UID: "uid-1", DeletionTimestamp: c.deleted, Finalizers: []string{"f"}}}
		ra.Spec.Verification, ra.Status.Endpoint = c.verification, c.endpoint
		meta.SetStatusCondition(&ra.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "SecretNotFound"})
		d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{v1alpha1.DeliveryFinalizer}}}
		v, err := a.viewOf(t.Context(), ra, d)
		if err != nil || (v.client != nil) != c.want || (v.Problem == nil) != c.want {
			t.Errorf("%s: client %p, problem %+v, %v; want one: %t", c.name, v.client, v.Problem, err, c.want)
		}
	}
}
