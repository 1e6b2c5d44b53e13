// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// AttemptAnnotation is the journal of the outbox: the latest attempt to deliver a Delegation's message, as JSON. It
	// is written by the operator, before the first byte of the attempt is sent, and is never to be edited by hand.
	AttemptAnnotation = "a2a.delegation.dev/attempt"
	// HintAnnotation says that a Delegation's task may have changed: a replica of the operator that was told so by the agent
	// and does not follow the task writes it for the one that does. Each new value has the task looked at once.
	HintAnnotation = "a2a.delegation.dev/hint"
	// TraceparentAnnotation is the W3C traceparent of whoever created a Delegation: the operator's spans go into that trace. It
	// is read where the operator traces, and never written by it.
	TraceparentAnnotation = "a2a.delegation.dev/traceparent"
	// DeliveryFinalizer holds a Delegation until the operator has settled what it may have started at the agent.
	DeliveryFinalizer = "a2a.delegation.dev/delivery"
	// InUseFinalizer holds a RemoteAgent until no Delegation needs it any more: without it their tasks could not be canceled.
	InUseFinalizer = "a2a.delegation.dev/in-use"
	// ScheduleLabel of a run is the name of the DelegationSchedule that made it.
	ScheduleLabel = "a2a.delegation.dev/schedule"
	// ScheduledTimeAnnotation of a run is the time of the schedule that it was made for, in RFC 3339.
	ScheduledTimeAnnotation = "a2a.delegation.dev/scheduled-time"
	// DeduplicationExtensionURI names the agent card extension by which an agent says that it deduplicates messages by
	// messageId. Its parameter retention is a Go duration string.
	DeduplicationExtensionURI = "https://a2a.delegation.dev/extensions/message-deduplication/v1"
)

// Phase says in one word what is certain about a Delegation.
//
// +kubebuilder:validation:Enum=Pending;Sending;Submitted;Working;InputRequired;AuthRequired;Completed;Canceled;Failed;Rejected;Undelivered;Unknown
type Phase string

// The phases of a Delegation.
const (
	// PhasePending: not sent; the condition Reconciling says what it waits for.
	PhasePending Phase = "Pending"
	// PhaseSending: an attempt may be out, or is being retried or looked up.
	PhaseSending Phase = "Sending"
	// PhaseSubmitted: the agent made a task and has not begun it.
	PhaseSubmitted Phase = "Submitted"
	// PhaseWorking: the agent works on the task.
	PhaseWorking Phase = "Working"
	// PhaseInputRequired: the agent waits for a further message.
	PhaseInputRequired Phase = "InputRequired"
	// PhaseAuthRequired: the agent waits for credentials.
	PhaseAuthRequired Phase = "AuthRequired"
	// PhaseCompleted: the task is done, or the agent replied directly.
	PhaseCompleted Phase = "Completed"
	// PhaseCanceled: the task was canceled.
	PhaseCanceled Phase = "Canceled"
	// PhaseFailed: the agent says that the task failed, or no longer knows it.
	PhaseFailed Phase = "Failed"
	// PhaseRejected: the agent, or the operator before sending, refused the message.
	PhaseRejected Phase = "Rejected"
	// PhaseUndelivered: the message was never accepted and will not be sent again.
	PhaseUndelivered Phase = "Undelivered"
	// PhaseUnknown: the message may have been accepted; a later lookup or a person decides. It is never sent again by itself.
	PhaseUnknown Phase = "Unknown"
)

// Finished reports whether the operator expects no further change of a Delegation in this phase. Unknown is not
// finished: a lookup may still find the task.
func (p Phase) Finished() bool {
	switch p {
	case PhaseCompleted, PhaseCanceled, PhaseFailed, PhaseRejected, PhaseUndelivered:
		return true
	}
	return false
}

// TaskState is the state of an A2A task in the specification's own spelling (A2A 1.0, section 4.1.3). A value that the
// specification does not know is kept as it came.
type TaskState string

// The task states of A2A 1.0.
const (
	TaskStateSubmitted     TaskState = "TASK_STATE_SUBMITTED"
	TaskStateWorking       TaskState = "TASK_STATE_WORKING"
	TaskStateInputRequired TaskState = "TASK_STATE_INPUT_REQUIRED"
	TaskStateAuthRequired  TaskState = "TASK_STATE_AUTH_REQUIRED"
	TaskStateCompleted     TaskState = "TASK_STATE_COMPLETED"
	TaskStateCanceled      TaskState = "TASK_STATE_CANCELED"
	TaskStateFailed        TaskState = "TASK_STATE_FAILED"
	TaskStateRejected      TaskState = "TASK_STATE_REJECTED"
)

// Terminal reports whether the specification allows no further change from this state.
func (s TaskState) Terminal() bool {
	switch s {
	case TaskStateCompleted, TaskStateCanceled, TaskStateFailed, TaskStateRejected:
		return true
	}
	return false
}

// Interrupted reports whether the task waits for a message from the client.
func (s TaskState) Interrupted() bool {
	return s == TaskStateInputRequired || s == TaskStateAuthRequired
}

// Recovery names the way in which a Delegation whose first response was lost found its task.
//
// +kubebuilder:validation:Enum=Replay;Lookup;Resolution
type Recovery string

// The ways of recovery.
const (
	// RecoveredByReplay: the identical message was sent again and a deduplicating agent answered with its task.
	RecoveredByReplay Recovery = "Replay"
	// RecoveredByLookup: the task was found by its history in the agent's list of tasks.
	RecoveredByLookup Recovery = "Lookup"
	// RecoveredByResolution: a person named the task.
	RecoveredByResolution Recovery = "Resolution"
)

// Condition types. Ready, Reconciling and Stalled follow kstatus.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	// ConditionDelivered is True once the agent is known to have the message, False while it certainly has not, and
	// Unknown while an attempt has no known outcome.
	ConditionDelivered = "Delivered"
	// ConditionInputRequired is True while the agent waits for a message that continues the task.
	ConditionInputRequired = "InputRequired"
	// ConditionContractHonored of a RemoteAgent is False once it made several tasks of one message although it promised to
	// deduplicate.
	ConditionContractHonored = "ContractHonored"
	// ConditionFinished is True once nothing more will happen to the Delegation.
	ConditionFinished = "Finished"
)
