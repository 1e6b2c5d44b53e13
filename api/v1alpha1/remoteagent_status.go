// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeduplicationSource says where the effective deduplication mode comes from.
//
// +kubebuilder:validation:Enum=Declared;AgentCard
type DeduplicationSource string

// The sources.
const (
	// DeduplicationDeclared: spec.contract.deduplication.
	DeduplicationDeclared DeduplicationSource = "Declared"
	// DeduplicationAgentCard: the agent card's extension, or its absence.
	DeduplicationAgentCard DeduplicationSource = "AgentCard"
)

// RemoteAgentStatus is what is known of an agent.
type RemoteAgentStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of; -1 before the operator has seen any.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Endpoint is the interface in use.
	//
	// +optional
	Endpoint *AgentInterface `json:"endpoint,omitempty"`
	// Card is what the agent's card says.
	//
	// +optional
	Card *CardStatus `json:"card,omitempty"`
	// Limitations are what can't be done with the agent at this endpoint. Whatever is not listed here can, as far as it is
	// known.
	//
	// +optional
	// +listType=map
	// +listMapKey=reason
	Limitations []Limitation `json:"limitations,omitempty"`
	// Deduplication in force.
	//
	// +optional
	Deduplication *DeduplicationStatus `json:"deduplication,omitempty"`
	// Conditions: Ready, Reconciling and Stalled follow kstatus.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CardStatus is what the agent's card says.
type CardStatus struct {
	// Name of the agent.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// Version of the agent.
	//
	// +optional
	Version string `json:"version,omitempty"`
	// Interfaces that the card offers, in its order.
	//
	// +optional
	// +listType=atomic
	Interfaces []CardInterface `json:"interfaces,omitempty"`
	// Streaming says that the agent takes subscriptions to its tasks.
	//
	// +optional
	Streaming bool `json:"streaming,omitempty"`
	// PushNotifications says that the agent sends push notifications.
	//
	// +optional
	PushNotifications bool `json:"pushNotifications,omitempty"`
	// Skills are the ids of the agent's skills.
	//
	// +optional
	// +listType=atomic
	Skills []string `json:"skills,omitempty"`
	// Signature that the card was verified by; absent without spec.verification.
	//
	// +optional
	Signature *CardSignature `json:"signature,omitempty"`
}

// CardInterface is one interface as the card gives it, usable or not.
type CardInterface struct {
	// URL as it stands in the card.
	URL string `json:"url"`
	// ProtocolBinding as it stands in the card.
	//
	// +optional
	ProtocolBinding string `json:"protocolBinding,omitempty"`
	// ProtocolVersion as it stands in the card.
	//
	// +optional
	ProtocolVersion string `json:"protocolVersion,omitempty"`
}

// LimitationReason names something that can't be done with an agent.
//
// +kubebuilder:validation:Enum=NoTaskListing;NoStreaming;NoPushNotifications;RoundedNumbers
type LimitationReason string

// The limitations.
const (
	// LimitationNoTaskListing: the protocol has no ListTasks, as A2A 0.3 over JSON-RPC. A task whose first response was lost
	// can't be looked up: spec.contract.taskLookup counts as None.
	LimitationNoTaskListing LimitationReason = "NoTaskListing"
	// LimitationNoStreaming: there are no streams of the agent's tasks.
	LimitationNoStreaming LimitationReason = "NoStreaming"
	// LimitationNoPushNotifications: the agent does not call back.
	LimitationNoPushNotifications LimitationReason = "NoPushNotifications"
	// LimitationRoundedNumbers: gRPC rounds numbers in data that no 64-bit float holds.
	LimitationRoundedNumbers LimitationReason = "RoundedNumbers"
)

// Limitation is something that can't be done with an agent.
type Limitation struct {
	// Reason names it.
	Reason LimitationReason `json:"reason"`
	// Message says where it comes from, what follows from it, and what to do about it if there is something.
	Message string `json:"message"`
}

// DeduplicationStatus is the deduplication in force.
type DeduplicationStatus struct {
	// Mode in force.
	Mode DeduplicationMode `json:"mode"`
	// Retention in force.
	//
	// +optional
	Retention *metav1.Duration `json:"retention,omitempty"`
	// Source of the mode.
	Source DeduplicationSource `json:"source"`
}
