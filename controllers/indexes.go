// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
)

// delegationIndexes are the indexes of Delegations, and what each lists one under.
func delegationIndexes() map[string]func(*v1alpha1.Delegation) []string {
	return map[string]func(*v1alpha1.Delegation) []string{
		byAgent:        unfinished(func(d *v1alpha1.Delegation) []string { return []string{d.AgentKey().String()} }),
		byForeignAgent: unfinished(foreignAgent),
		byConfigMap:    unfinished(configMapNames),
		bySecret:       unfinished(secretNames),
		byMessageID:    func(d *v1alpha1.Delegation) []string { return present(d.Spec.MessageID) },
		byContextID:    contextIDs,
		byContinues:    continuesName,
		byRefines:      refinesNames,
		byDuplicates:   duplicatesAgent,
		byController:   controllerUID,
		byUID:          uids,

		metrics.ByDelivery: metrics.Delivery,
	}
}

// indexDelegations registers the indexes of Delegations.
func indexDelegations(mgr ctrl.Manager) error {
	for field, values := range delegationIndexes() {
		err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Delegation{}, field, func(o client.Object) []string {
			return values(o.(*v1alpha1.Delegation))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func controllerUID(d *v1alpha1.Delegation) []string {
	if c := metav1.GetControllerOf(d); c != nil {
		return []string{string(c.UID)}
	}
	return nil
}

func unfinished(values func(*v1alpha1.Delegation) []string) func(*v1alpha1.Delegation) []string {
	return func(d *v1alpha1.Delegation) []string {
		if over(d) {
			return nil
		}
		return values(d)
	}
}

func present(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func continuesName(d *v1alpha1.Delegation) []string {
	if d.Spec.Continues == nil {
		return nil
	}
	return []string{d.Spec.Continues.Name}
}

func refinesNames(d *v1alpha1.Delegation) []string {
	var names []string
	for _, ref := range d.Spec.Refines {
		names = append(names, ref.Name)
	}
	return names
}

func duplicatesAgent(d *v1alpha1.Delegation) []string {
	if len(d.Status.Duplicates) == 0 {
		return nil
	}
	return []string{d.AgentKey().String()}
}

func foreignAgent(d *v1alpha1.Delegation) []string {
	if d.UsesForeignAgent() {
		return []string{foreign}
	}
	return nil
}

func configMapNames(d *v1alpha1.Delegation) []string {
	var names []string
	for _, p := range d.Spec.Message.Parts {
		if p.ValueFrom != nil && p.ValueFrom.ConfigMapKeyRef != nil {
			names = append(names, p.ValueFrom.ConfigMapKeyRef.Name)
		}
	}
	return names
}

func secretNames(d *v1alpha1.Delegation) []string {
	var names []string
	for _, p := range d.Spec.Message.Parts {
		if p.ValueFrom != nil && p.ValueFrom.SecretKeyRef != nil {
			names = append(names, p.ValueFrom.SecretKeyRef.Name)
		}
	}
	return names
}
