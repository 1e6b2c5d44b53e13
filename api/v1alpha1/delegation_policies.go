// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DelegationReference names a Delegation in the same namespace.
type DelegationReference struct {
	// Name of the Delegation.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// DeletionPolicy says what deletion means for the task.
//
// +kubebuilder:validation:Enum=Cancel;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	// DeletionCancel: a task that is not finished is canceled first.
	DeletionCancel DeletionPolicy = "Cancel"
	// DeletionOrphan: the task is left to itself.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// UnknownPolicy says what happens when the outcome of an attempt stays open.
//
// +kubebuilder:validation:Enum=Escalate;Resend
type UnknownPolicy string

// The policies for unknown outcomes.
const (
	// UnknownEscalate: the Delegation is Unknown until a lookup or a person decides.
	UnknownEscalate UnknownPolicy = "Escalate"
	// UnknownResend: the same message is sent again, up to five times, and a further task is accepted each time.
	UnknownResend UnknownPolicy = "Resend"
)

// ResolutionAction is what a person decides about an Unknown message.
//
// +kubebuilder:validation:Enum=Adopt;Resend;Abandon
type ResolutionAction string

// The resolutions.
const (
	// ResolutionAdopt: the task of taskId is the message's.
	ResolutionAdopt ResolutionAction = "Adopt"
	// ResolutionResend: send the same message once more; a second task is accepted.
	ResolutionResend ResolutionAction = "Resend"
	// ResolutionAbandon: leave it Unknown and look for it no more.
	ResolutionAbandon ResolutionAction = "Abandon"
)

// Resolution is a person's answer to the phase Unknown.
//
// +kubebuilder:validation:XValidation:rule="self.action == 'Adopt' ? has(self.taskId) : !has(self.taskId)",message="taskId goes with action Adopt, and Adopt needs it"
type Resolution struct {
	// Action to take.
	Action ResolutionAction `json:"action"`
	// TaskID is the task to adopt. Its history must hold the messageId, where the agent shows a history.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	TaskID string `json:"taskId,omitempty"`
	// Attempt is the number of the attempt that the decision is about. It makes a second Resend another decision than the
	// first; nothing happens where it is not the latest attempt.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt,omitempty"`
}

// OutputStore says where artifacts are kept.
//
// +kubebuilder:validation:Enum=Status;ConfigMap;None
type OutputStore string

// The stores.
const (
	// OutputStatus: small texts in the status; larger artifacts are marked truncated.
	OutputStatus OutputStore = "Status"
	// OutputConfigMap: larger ones in a ConfigMap that the Delegation owns.
	OutputConfigMap OutputStore = "ConfigMap"
	// OutputNone: only their names, sizes and digests.
	OutputNone OutputStore = "None"
)

// Output says where the task's artifacts are kept.
type Output struct {
	// Store of the artifacts' content.
	//
	// +optional
	// +kubebuilder:default=ConfigMap
	Store OutputStore `json:"store,omitempty"`
}
