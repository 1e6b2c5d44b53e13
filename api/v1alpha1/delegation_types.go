// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Delegation is one message to one A2A agent. Its messageId is stored before the first byte is sent and never changes,
// so that no crash, retry or second replica turns one intent into two tasks.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=dlg,categories=a2a
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.spec.agentRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Task",type=string,JSONPath=`.status.taskId`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message-ID",type=string,priority=1,JSONPath=`.spec.messageId`
// +kubebuilder:printcolumn:name="Context",type=string,priority=1,JSONPath=`.status.contextId`
// +kubebuilder:printcolumn:name="Attempts",type=integer,priority=1,JSONPath=`.status.attempts`
// +kubebuilder:validation:XValidation:rule="!has(self.spec.continues) || self.spec.continues.name != self.metadata.name",message="a Delegation can't continue itself: name the one whose task asks",fieldPath=".spec.continues"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.refines) || self.spec.refines.all(r, r.name != self.metadata.name)",message="a Delegation can't refine itself: name the one whose task is done",fieldPath=".spec.refines"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.resolution) || (has(self.spec.resolution) && self.spec.resolution == oldSelf.spec.resolution) || !has(oldSelf.status) || !has(oldSelf.status.resolution) || (oldSelf.status.resolution.action == 'Resend' && oldSelf.status.phase == 'Unknown')",message="the resolution was carried out and is on record in status.resolution; it can't be changed any more",fieldPath=".spec.resolution"
type Delegation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The rules about changes are here and not at the type: the template of a DelegationSchedule may be edited.

	// Spec is the message and the agent it goes to.
	//
	// +kubebuilder:validation:XValidation:rule="self.agentRef == oldSelf.agentRef",message="agentRef is immutable: the message may be with that agent already; create a new Delegation for another agent",fieldPath=".agentRef"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.messageId) || (has(self.messageId) && self.messageId == oldSelf.messageId)",message="messageId is immutable once set: it names the message that may have been sent; create a new Delegation for a new message",fieldPath=".messageId"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.contextId) || (has(self.contextId) && self.contextId == oldSelf.contextId)",message="contextId is immutable once set: it is part of the message that may have been sent; create a new Delegation for another conversation",fieldPath=".contextId"
	// +kubebuilder:validation:XValidation:rule="self.message == oldSelf.message",message="a messageId names one body: create a new Delegation, with refines to follow up",fieldPath=".message"
	// +kubebuilder:validation:XValidation:rule="has(self.acceptedOutputModes) == has(oldSelf.acceptedOutputModes) && (!has(self.acceptedOutputModes) || self.acceptedOutputModes == oldSelf.acceptedOutputModes)",message="acceptedOutputModes is immutable: it is part of the request that may have been sent; create a new Delegation",fieldPath=".acceptedOutputModes"
	// +kubebuilder:validation:XValidation:rule="has(self.continues) == has(oldSelf.continues) && (!has(self.continues) || self.continues == oldSelf.continues)",message="continues is immutable: the answer may be with the agent already; create a new Delegation",fieldPath=".continues"
	// +kubebuilder:validation:XValidation:rule="has(self.refines) == has(oldSelf.refines) && (!has(self.refines) || self.refines == oldSelf.refines)",message="refines is immutable: it is part of the message that may have been sent; create a new Delegation",fieldPath=".refines"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)",message="a cancel can't be taken back: the agent may have it already; create a new Delegation",fieldPath=".cancel"
	Spec DelegationSpec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DelegationStatus `json:"status,omitzero"`
}

// DelegationSpec is the message and the agent it goes to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.continues) || !has(self.refines)",message="continues answers a task that waits and refines follows up one that is done: set one of them"
type DelegationSpec struct {
	// AgentRef names the RemoteAgent that the message goes to.
	AgentRef AgentReference `json:"agentRef"`
	// MessageID names the message to the agent (A2A 1.0, Message.messageId). Every attempt carries the same one, so that
	// an agent that deduplicates makes one task of them. Set it in manifests that are kept in Git: then a rebuilt cluster
	// finds its tasks again. When absent the operator writes one here before the agent sees anything. It never changes.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9])?$`
	MessageID string `json:"messageId,omitempty"`
	// ContextID names the conversation (A2A 1.0, Message.contextId). A task whose response was lost is looked up by it.
	// When absent the operator derives one from the messageId and writes it here before the first attempt.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9])?$`
	ContextID string `json:"contextId,omitempty"`
	// Message is the content of the message.
	Message MessageTemplate `json:"message"`
	// AcceptedOutputModes are the media types that the agent may answer in (A2A 1.0,
	// SendMessageConfiguration.acceptedOutputModes). Empty means all that the agent has.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	AcceptedOutputModes []string `json:"acceptedOutputModes,omitempty"`
	// Continues names the Delegation whose task waits for an answer; this message is that answer (A2A 1.0, section 3.4.3:
	// a message with the task's id). It waits for the task to ask. Of several answers to one question the oldest is sent.
	//
	// +optional
	Continues *DelegationReference `json:"continues,omitempty"`
	// Refines names Delegations whose finished tasks this message follows up: a new task in the same context that refers
	// to theirs (A2A 1.0, Message.referenceTaskIds). It waits for them to finish.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",message="refines names a Delegation twice"
	Refines []DelegationReference `json:"refines,omitempty"`
	// Suspend holds back the first attempt. It has no effect once there was one.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Cancel asks the agent to cancel the task, or keeps a message that was not sent from being sent. It can't be undone.
	//
	// +optional
	Cancel bool `json:"cancel,omitempty"`
	// ActiveDeadlineSeconds is how long, in seconds, the task may take from status.startTime. Past it the task is canceled
	// and the Delegation fails.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished is how long, in seconds, a finished Delegation is kept. Absent means for ever. An Unknown one
	// is not finished unless its resolution is Abandon.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// DeliveryDeadline is how long, as a Go duration since the creation, delivery is tried. A message that certainly was
	// not accepted by then is Undelivered; one whose outcome is open is Unknown.
	//
	// +optional
	// +kubebuilder:default="72h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="deliveryDeadline must be at least 1s"
	DeliveryDeadline metav1.Duration `json:"deliveryDeadline,omitzero"`
	// NotAfter is a time past which there is no first attempt: the Delegation is Undelivered then. It keeps an old manifest
	// old when it is applied again. A messageId that the manifest brought is looked up at the agent all the same, and its
	// task bound.
	//
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// DeletionPolicy says what the deletion of the Delegation means for its task. Only the Delegation that made the task
	// cancels it.
	//
	// +optional
	// +kubebuilder:default=Cancel
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// OnUnknown says what happens when nothing can be found out about an attempt.
	//
	// +optional
	// +kubebuilder:default=Escalate
	OnUnknown UnknownPolicy `json:"onUnknown,omitempty"`
	// Resolution is a person's answer to the phase Unknown. Once carried out it is on record in status.resolution.
	//
	// +optional
	Resolution *Resolution `json:"resolution,omitempty"`
	// Output says where the task's artifacts are kept.
	//
	// +optional
	// +kubebuilder:default={}
	Output Output `json:"output,omitzero"`
}

// AgentReference names a RemoteAgent.
type AgentReference struct {
	// Namespace of the RemoteAgent, the Delegation's own when absent. Another one's RemoteAgent has to allow the Delegation's
	// namespace in spec.allowedNamespaces. A messageId or contextId in the spec then begins with the Delegation's namespace
	// and a slash, such as books/m-71.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// Name of the RemoteAgent.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// MessageTemplate is the content of an A2A message (A2A 1.0, section 4.1.4); the ids are in the spec around it.
type MessageTemplate struct {
	// Parts are the content, in order.
	//
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Parts []Part `json:"parts"`
	// Metadata is sent as the message's metadata. Its keys are best URIs.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Metadata *apiextensionsv1.JSON `json:"metadata,omitempty"`
	// Extensions are the URIs of the protocol extensions that the message uses.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Extensions []string `json:"extensions,omitempty"`
}

// Part is one piece of content (A2A 1.0, section 4.1.6). Exactly one of text, data, url, raw and valueFrom is set.
//
// +kubebuilder:validation:ExactlyOneOf=text;data;url;raw;valueFrom
type Part struct {
	// Text is plain text.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Text *string `json:"text,omitempty"`
	// Data is structured content: a JSON object.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Data *apiextensionsv1.JSON `json:"data,omitempty"`
	// URL points at the content. The agent fetches it; the operator never does.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9+.-]*:`
	URL *string `json:"url,omitempty"`
	// Raw is binary content, in base64.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=393216
	Raw []byte `json:"raw,omitempty"`
	// ValueFrom takes the content from an object in the Delegation's namespace. Its digest is fixed by the first attempt:
	// when the object changes after that, the Delegation stops instead of sending another body.
	//
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
	// MediaType of the content, such as text/csv.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	MediaType string `json:"mediaType,omitempty"`
	// Filename of the content.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Filename string `json:"filename,omitempty"`
}

// ValueSource is where a part's content is taken from.
//
// +kubebuilder:validation:ExactlyOneOf=configMapKeyRef;secretKeyRef
type ValueSource struct {
	// ConfigMapKeyRef takes one key of a ConfigMap: a text part where it is UTF-8, else a raw one.
	//
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// SecretKeyRef takes one key of a Secret: a text part where it is UTF-8, else a raw one.
	//
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
}

// KeyReference names one key of a ConfigMap or Secret in the same namespace.
type KeyReference struct {
	// Name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// DelegationList is a list of Delegations.
//
// +kubebuilder:object:root=true
type DelegationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Delegation `json:"items"`
}
