// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// builder builds a Delegation as the API server has it.
type builder struct{ d v1alpha1.Delegation }

func delegation(name, text string) *builder {
	b := &builder{}
	b.d.Namespace, b.d.Name = "books", name
	b.d.CreationTimestamp = metav1.Time{Time: noon}
	b.d.Spec.AgentRef.Name = "finance"
	b.d.Spec.Message.Parts = []v1alpha1.Part{{Text: &text}}
	return b
}

func (b *builder) continues(name string) *builder {
	b.d.Spec.Continues = &v1alpha1.DelegationReference{Name: name}
	return b
}

func (b *builder) refines(names ...string) *builder {
	for _, n := range names {
		b.d.Spec.Refines = append(b.d.Spec.Refines, v1alpha1.DelegationReference{Name: n})
	}
	return b
}

func (b *builder) later(d time.Duration) *builder {
	b.d.CreationTimestamp = metav1.Time{Time: noon.Add(d)}
	return b
}

func (b *builder) phase(p v1alpha1.Phase, reason, message string) *builder {
	b.d.Status.Phase = p
	b.d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason, Message: message}}
	return b
}

func (b *builder) with(change func(*v1alpha1.DelegationStatus)) *builder {
	change(&b.d.Status)
	return b
}

func all(list ...*builder) []v1alpha1.Delegation {
	var out []v1alpha1.Delegation
	for _, b := range list {
		out = append(out, b.d)
	}
	return out
}
