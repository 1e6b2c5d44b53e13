// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the a2a.delegation.dev API group: Delegation, one message to one A2A agent;
// RemoteAgent, where that agent is and what its owner promised; and DelegationSchedule, which makes Delegations by the clock.
//
// +kubebuilder:object:generate=true
// +groupName=a2a.delegation.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion identifies this API version.
var GroupVersion = schema.GroupVersion{Group: "a2a.delegation.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package in a scheme.
var AddToScheme = schemeBuilder.AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Delegation{}, &DelegationList{}, &RemoteAgent{}, &RemoteAgentList{},
		&DelegationSchedule{}, &DelegationScheduleList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
})
