// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Create creates objects. It waits for kinds whose CRDs were installed just before: the API server takes a moment to serve them.
func (s *Space) Create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		var err error
		Eventually(s.t, Patience, "the kind to be served", func(ctx context.Context) (bool, string) {
			err = s.Client.Create(ctx, o)
			return !meta.IsNoMatchError(err), fmt.Sprint(err)
		})
		if err != nil {
			s.t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Delete begins the deletion of an object.
func (s *Space) Delete(o client.Object) {
	s.t.Helper()
	if err := s.Client.Delete(s.t.Context(), o); err != nil {
		s.t.Fatalf("deleting %T %s: %v", o, o.GetName(), err)
	}
}

// Get returns a Delegation.
func (s *Space) Get(name string) *v1alpha1.Delegation {
	s.t.Helper()
	d, err := s.fetch(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *Space) fetch(ctx context.Context, name string) (*v1alpha1.Delegation, error) {
	d := &v1alpha1.Delegation{}
	return d, s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, d)
}

// Await waits until a Delegation is as wanted, and returns it.
func (s *Space) Await(name, what string, wanted func(*v1alpha1.Delegation) bool) *v1alpha1.Delegation {
	s.t.Helper()
	return s.AwaitWithin(Patience, name, what, wanted)
}

// AwaitWithin waits as long as it is told to.
func (s *Space) AwaitWithin(patience time.Duration, name, what string, wanted func(*v1alpha1.Delegation) bool) *v1alpha1.Delegation {
	s.t.Helper()
	var d *v1alpha1.Delegation
	Eventually(s.t, patience, fmt.Sprintf("Delegation %s %s", name, what), func(ctx context.Context) (bool, string) {
		got, err := s.fetch(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		d = got
		return wanted(d), Describe(d)
	})
	return d
}

// AwaitPhase waits until a Delegation is in a phase, and returns it. One that has finished in another phase is not waited
// for.
func (s *Space) AwaitPhase(name string, phase v1alpha1.Phase) *v1alpha1.Delegation {
	s.t.Helper()
	d := s.Await(name, "to be in phase "+string(phase), func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase == phase || d.Status.Phase.Finished()
	})
	if d.Status.Phase != phase {
		s.t.Fatalf("Delegation %s finished: %s; want phase %s", name, Describe(d), phase)
	}
	return d
}

// AwaitReason waits until a Delegation's condition Ready has a reason, and returns it.
func (s *Space) AwaitReason(name, reason string) *v1alpha1.Delegation {
	s.t.Helper()
	return s.Await(name, "to have reason "+reason, func(d *v1alpha1.Delegation) bool { return Ready(d).Reason == reason })
}

// AwaitJournal waits until the attempt of this number is on record, and returns the Delegation.
func (s *Space) AwaitJournal(name string) *v1alpha1.Delegation {
	s.t.Helper()
	return s.Await(name, "to have an attempt on record", func(d *v1alpha1.Delegation) bool {
		return d.Annotations[v1alpha1.AttemptAnnotation] != ""
	})
}

// AwaitGone waits until an object is gone.
func (s *Space) AwaitGone(o client.Object) {
	s.t.Helper()
	s.AwaitGoneWithin(Patience, o)
}

// AwaitGoneWithin waits longer than for other things.
func (s *Space) AwaitGoneWithin(patience time.Duration, o client.Object) {
	s.t.Helper()
	Eventually(s.t, patience, fmt.Sprintf("%s to be gone", o.GetName()), func(ctx context.Context) (bool, string) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		seen := fmt.Sprintf("finalizers %q, deleted at %v, error %v", o.GetFinalizers(), o.GetDeletionTimestamp(), err)
		if ns, ok := o.(*corev1.Namespace); ok {
			seen += fmt.Sprintf(", conditions %+v", ns.Status.Conditions)
		}
		return apierrors.IsNotFound(err), seen
	})
}

// AwaitAgentReady waits until a RemoteAgent can be sent to.
func (s *Space) AwaitAgentReady(name string) {
	s.t.Helper()
	s.AwaitAgentReason(name, v1alpha1.ConditionReady, "Ready")
}

// AwaitAgentReason waits until a RemoteAgent has a condition with a reason.
func (s *Space) AwaitAgentReason(name, kind, reason string) {
	s.t.Helper()
	Eventually(s.t, Patience, fmt.Sprintf("RemoteAgent %s to have the condition %s=%s", name, kind, reason), func(ctx context.Context) (bool, string) {
		ra := &v1alpha1.RemoteAgent{}
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, ra); err != nil {
			return false, err.Error()
		}
		is := meta.FindStatusCondition(ra.Status.Conditions, kind)
		return is != nil && is.Reason == reason, fmt.Sprintf("finalizers %q, conditions %+v", ra.Finalizers, ra.Status.Conditions)
	})
}

// Remains requires a Delegation to stay as wanted for a while.
func (s *Space) Remains(name string, while time.Duration, what string, wanted func(*v1alpha1.Delegation) bool) {
	s.t.Helper()
	Throughout(s.t, while, fmt.Sprintf("Delegation %s %s", name, what), func(ctx context.Context) (bool, string) {
		d, err := s.fetch(ctx, name)
		if err != nil {
			return ctx.Err() != nil, err.Error()
		}
		return wanted(d), Describe(d)
	})
}

// ConfigMap builds a ConfigMap.
func (s *Space) ConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Data: data}
}

// Secret builds a Secret.
func (s *Space) Secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, StringData: data}
}

// Ready is the condition Ready of a Delegation, the zero condition where it has none.
func Ready(d *v1alpha1.Delegation) metav1.Condition { return Condition(d, v1alpha1.ConditionReady) }

// Condition is a condition of a Delegation, the zero condition where it has none.
func Condition(d *v1alpha1.Delegation, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(d.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// Describe says in one line how a Delegation is.
func Describe(d *v1alpha1.Delegation) string {
	ready := Ready(d)
	return fmt.Sprintf("phase %q, reason %q, task %q, %d attempts, recovered by %q, next attempt %v, deleted %v, last error %q: %s",
		d.Status.Phase, ready.Reason, d.Status.TaskID, d.Status.Attempts, d.Status.RecoveredBy, d.Status.NextAttemptTime,
		d.DeletionTimestamp, d.Status.LastError, ready.Message)
}
