// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/message"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// What waits for its turn when its agent becomes another one, or one that may not be used, is neither journalled nor sent.
func TestTheAgentChangesInTheQueue(t *testing.T) {
	status := func(ra *v1alpha1.RemoteAgent, change func(*v1alpha1.RemoteAgentStatus)) func(client.Client) error {
		return func(admin client.Client) error {
			change(&ra.Status)
			return admin.Status().Update(t.Context(), ra)
		}
	}
	spec := func(ra *v1alpha1.RemoteAgent, change func(*v1alpha1.RemoteAgentSpec)) func(client.Client) error {
		return func(admin client.Client) error {
			change(&ra.Spec)
			if err := admin.Update(t.Context(), ra); err != nil {
				return err
			}
			return status(ra, func(s *v1alpha1.RemoteAgentStatus) { s.ObservedGeneration = ra.Generation })(admin)
		}
	}
	for name, change := range map[string]func(*v1alpha1.RemoteAgent, *corev1.Secret) func(client.Client) error{
		"the allowance ends": func(ra *v1alpha1.RemoteAgent, _ *corev1.Secret) func(client.Client) error {
			return spec(ra, func(s *v1alpha1.RemoteAgentSpec) { s.AllowedNamespaces.From = v1alpha1.NamespacesFromSame })
		},
		"the card does not verify any more": func(ra *v1alpha1.RemoteAgent, _ *corev1.Secret) func(client.Client) error {
			return status(ra, func(s *v1alpha1.RemoteAgentStatus) {
				s.Conditions[0].Status, s.Conditions[0].Reason = metav1.ConditionFalse, "CardUnsigned"
			})
		},
		"the card names another endpoint": func(ra *v1alpha1.RemoteAgent, _ *corev1.Secret) func(client.Client) error {
			return status(ra, func(s *v1alpha1.RemoteAgentStatus) { s.Endpoint.URL = "http://127.0.0.1:2/a2a" })
		},
		"the spec names other credentials": func(ra *v1alpha1.RemoteAgent, _ *corev1.Secret) func(client.Client) error {
			return spec(ra, func(s *v1alpha1.RemoteAgentSpec) { s.Authentication = nil })
		},
		"the credentials are rotated": func(_ *v1alpha1.RemoteAgent, secret *corev1.Secret) func(client.Client) error {
			return func(admin client.Client) error {
				secret.StringData = map[string]string{"token": "another"}
				return admin.Update(t.Context(), secret)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { changesInTheQueue(t, change) })
	}
}

func changesInTheQueue(t *testing.T, change func(*v1alpha1.RemoteAgent, *corev1.Secret) func(client.Client) error) {
	r, _, admin := newReconciler(t)
	owner, own := newNamespace(t, admin, nil), newNamespace(t, admin, nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner, Name: "token"}, StringData: map[string]string{"token": "first"}}
	create(t, admin, secret)
	ra := newAgent(t, r, admin, owner, v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll})
	ra.Spec.Authentication = &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{SecretRef: v1alpha1.KeyReference{Name: "token", Key: "token"}}}
	if err := admin.Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	ra.Status.ObservedGeneration = ra.Generation
	if err := admin.Status().Update(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	d := delegationTo(own, owner)
	create(t, admin, d)
	looked := d.DeepCopy()
	looked.UID += "-looked"
	var then agentView
	eventually(t, func() bool {
		v, err := r.Agents.view(t.Context(), d)
		then = v
		return err == nil && v.Problem == nil && v.Credentials != "" && r.Agents.stands(t.Context(), d, v.client)
	})
	one, turn := courier.Limits{InFlight: 1, PerSecond: 1000}, make(chan struct{})
	r.Agents.Pool.RunFor(owner, ra.UID, one, func(context.Context) { <-turn })
	then.limits = one
	r.send(&scope{delegation: d, agent: then, message: &message.Message{}},
		outbox.Send{Attempt: outbox.Attempt{Number: 1, Holder: "self", Body: "sha256:body"}, Envelope: outbox.Envelope{MessageID: own + "/m-1"}, Timeout: time.Minute})
	r.ask(&scope{delegation: looked, agent: then}, outbox.Ask{Call: outbox.CallGet, TaskID: "t-1"})
	if err := change(ra, secret)(admin); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !r.Agents.stands(t.Context(), d, then.client) })
	close(turn)
	for _, waited := range []*v1alpha1.Delegation{d, looked} {
		eventually(t, func() bool { running, _ := r.Courier.Observe(waited.UID); return running == outbox.CallNone })
		if _, result := r.Courier.Observe(waited.UID); result != nil {
			t.Errorf("a call was made: %+v", result)
		}
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || d.Annotations[v1alpha1.AttemptAnnotation] != "" {
		t.Errorf("the journal holds %q, error %v", d.Annotations[v1alpha1.AttemptAnnotation], err)
	}
}
