// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NamespacesFrom says which namespaces are meant.
//
// +kubebuilder:validation:Enum=Same;All;Selector
type NamespacesFrom string

// The ways to name namespaces, as in the Gateway API's allowedRoutes.
const (
	// NamespacesFromSame: the object's own namespace only.
	NamespacesFromSame NamespacesFrom = "Same"
	// NamespacesFromAll: every namespace.
	NamespacesFromAll NamespacesFrom = "All"
	// NamespacesFromSelector: the own namespace, and those whose labels match the selector.
	NamespacesFromSelector NamespacesFrom = "Selector"
)

// AllowedNamespaces says from which namespaces a RemoteAgent may be used.
//
// +kubebuilder:validation:XValidation:rule="(has(self.from) && self.from == 'Selector') == has(self.selector)",message="selector goes with from: Selector, and only with it: set both, or remove selector"
type AllowedNamespaces struct {
	// From says which: Same is the RemoteAgent's own namespace, All is every one, Selector is the own one and those whose
	// labels match the selector.
	//
	// +optional
	// +kubebuilder:default=Same
	From NamespacesFrom `json:"from,omitempty"`
	// Selector matches the labels of namespaces. An empty one matches all.
	//
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// AgentKey names the RemoteAgent that the message goes to.
func (d *Delegation) AgentKey() types.NamespacedName {
	key := types.NamespacedName{Namespace: d.Namespace, Name: d.Spec.AgentRef.Name}
	if ns := d.Spec.AgentRef.Namespace; ns != "" {
		key.Namespace = ns
	}
	return key
}

// UsesForeignAgent reports whether the RemoteAgent is in another namespace, whose owner has to allow it.
func (d *Delegation) UsesForeignAgent() bool { return d.AgentKey().Namespace != d.Namespace }
