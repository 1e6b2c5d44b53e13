// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DelegationStatus is what is known of the message and of the task that the agent made of it.
type DelegationStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of; -1 before the operator has seen any.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase says in one word what is certain.
	//
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// TaskID is the agent's id of the task. Once set it never changes.
	//
	// +optional
	TaskID string `json:"taskId,omitempty"`
	// ContextID is the conversation as the agent names it.
	//
	// +optional
	ContextID string `json:"contextId,omitempty"`
	// State is the task's state in A2A's own spelling, such as TASK_STATE_WORKING.
	//
	// +optional
	State TaskState `json:"state,omitempty"`
	// StateTimestamp is the agent's own timestamp of that state, where it gives one.
	//
	// +optional
	StateTimestamp *metav1.MicroTime `json:"stateTimestamp,omitempty"`
	// StateMessage is the text that the agent sent with that state, cut to 1 KiB.
	//
	// +optional
	StateMessage string `json:"stateMessage,omitempty"`
	// BodyDigest is the SHA-256 of the body that every attempt carries.
	//
	// +optional
	BodyDigest string `json:"bodyDigest,omitempty"`
	// Attempts counts the sends that were journalled.
	//
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// FirstAttemptTime is when the message was first about to be sent.
	//
	// +optional
	FirstAttemptTime *metav1.Time `json:"firstAttemptTime,omitempty"`
	// LastAttemptTime is when it was last about to be sent.
	//
	// +optional
	LastAttemptTime *metav1.Time `json:"lastAttemptTime,omitempty"`
	// NextAttemptTime is the earliest time of the next attempt; absent when none is planned.
	//
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
	// LastError is what went wrong last, cut to 1 KiB; absent once it no longer matters.
	//
	// +optional
	LastError string `json:"lastError,omitempty"`
	// RecoveredBy says how the task was found, where the first response was lost.
	//
	// +optional
	RecoveredBy Recovery `json:"recoveredBy,omitempty"`
	// Question is the text with which the agent interrupted the task, while it waits for an answer; cut to 1 KiB.
	//
	// +optional
	Question string `json:"question,omitempty"`
	// Interruptions counts how often the agent asked.
	//
	// +optional
	Interruptions int32 `json:"interruptions,omitempty"`
	// AnsweredBy is the Delegation whose message is the answer to the latest question. It is claimed here, with the
	// resourceVersion, before that message is sent, so that two answers to one question never both go out.
	//
	// +optional
	AnsweredBy *Claim `json:"answeredBy,omitempty"`
	// Duplicates are further tasks that the agent made of the same message; they are canceled.
	//
	// +optional
	// +listType=map
	// +listMapKey=taskId
	Duplicates []DuplicateTask `json:"duplicates,omitempty"`
	// Resolution is the person's answer that was carried out.
	//
	// +optional
	Resolution *ResolutionStatus `json:"resolution,omitempty"`
	// Reply is the text of the agent's direct answer, where it made no task; cut to 4 KiB.
	//
	// +optional
	Reply string `json:"reply,omitempty"`
	// Artifacts are the results of the task.
	//
	// +optional
	// +listType=map
	// +listMapKey=artifactId
	Artifacts []ArtifactStatus `json:"artifacts,omitempty"`
	// OmittedArtifacts says what of the task's artifacts only the agent has. It is not there where all of them are listed
	// and none is truncated.
	//
	// +optional
	OmittedArtifacts *OmittedArtifacts `json:"omittedArtifacts,omitempty"`
	// StartTime is when the agent was first known to have the message.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is when the Delegation finished.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Conditions: Ready, Reconciling and Stalled follow kstatus; Delivered, InputRequired and Finished are explained at their constants.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Claim is the right of one Delegation to answer one question.
type Claim struct {
	// Name and UID of the Delegation that holds it.
	Name string `json:"name"`
	// UID of the Delegation that holds it.
	UID types.UID `json:"uid"`
	// Interruption is the number of the question, from 1.
	Interruption int32 `json:"interruption"`
}

// DuplicateTask is a task that the agent should not have made.
type DuplicateTask struct {
	// TaskID of the task.
	TaskID string `json:"taskId"`
	// Canceled is true once the agent has answered the request to cancel it.
	//
	// +optional
	Canceled bool `json:"canceled,omitempty"`
}

// ResolutionStatus is a resolution that was carried out.
type ResolutionStatus struct {
	// Action that was taken.
	Action ResolutionAction `json:"action"`
	// TaskID is the task that was adopted.
	//
	// +optional
	TaskID string `json:"taskId,omitempty"`
	// Time at which it was carried out.
	Time metav1.Time `json:"time"`
	// Manager is the field manager that wrote spec.resolution; the API server's audit log has the user.
	//
	// +optional
	Manager string `json:"manager,omitempty"`
	// Attempt that it is about.
	Attempt int32 `json:"attempt"`
}

// OmittedArtifacts says what of a task's artifacts only the agent has, and how to ask for it.
type OmittedArtifacts struct {
	// Truncated is how many of the listed artifacts are marked truncated.
	//
	// +optional
	Truncated int32 `json:"truncated,omitempty"`
	// Unlisted is how many artifacts there are besides, at least.
	//
	// +optional
	Unlisted int64 `json:"unlisted,omitempty"`
	// Fetch is the request that the agent answers with the whole task: method, URL and body. Credentials come on top, and
	// over JSON-RPC and HTTP+JSON the header A2A-Version: 1.0 for an agent of that version.
	//
	// +optional
	Fetch string `json:"fetch,omitempty"`
}

// ArtifactStatus describes one artifact and where its content is. A small text is in the status itself, a larger one in
// a ConfigMap that the Delegation owns, a large one in chunks over several of these, and one too large for all of them is
// marked truncated: ask the agent for the task.
type ArtifactStatus struct {
	// ArtifactID is the agent's id of the artifact.
	ArtifactID string `json:"artifactId"`
	// Name is the agent's name for it.
	//
	// +optional
	Name string `json:"name,omitempty"`
	// MediaTypes of its parts, each once.
	//
	// +optional
	// +listType=atomic
	MediaTypes []string `json:"mediaTypes,omitempty"`
	// Size of its content in bytes; absent also where it is not known.
	//
	// +optional
	Size int64 `json:"size,omitempty"`
	// Digest is the SHA-256 of its content; absent also where it is not known.
	//
	// +optional
	Digest string `json:"digest,omitempty"`
	// Text is the content, where it is text of at most 2 KiB.
	//
	// +optional
	Text string `json:"text,omitempty"`
	// ConfigMapRef names the ConfigMap and key that hold the content.
	//
	// +optional
	ConfigMapRef *KeyReference `json:"configMapRef,omitempty"`
	// Chunks are the content piece by piece, where no ConfigMap holds it as a whole. Put together in this order they have the
	// size and the digest of the artifact.
	//
	// +optional
	// +listType=atomic
	Chunks []ArtifactChunk `json:"chunks,omitempty"`
	// URL of the content, where the agent gave one instead of the content.
	//
	// +optional
	URL string `json:"url,omitempty"`
	// Truncated is true where the content is too large to be kept in the cluster.
	//
	// +optional
	Truncated bool `json:"truncated,omitempty"`
}

// ArtifactChunk is a piece of an artifact's content.
type ArtifactChunk struct {
	// ConfigMapRef names the ConfigMap and key that hold the piece: in data where the whole content is text, which is never
	// split within a character, and else in binaryData.
	ConfigMapRef KeyReference `json:"configMapRef"`
	// Size of the piece in bytes.
	Size int64 `json:"size"`
	// Digest is the SHA-256 of the piece, as sha256: and 64 hexadecimal digits.
	Digest string `json:"digest"`
}
