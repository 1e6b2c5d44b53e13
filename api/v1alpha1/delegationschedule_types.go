// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DelegationSchedule makes a Delegation at each time of a cron schedule, as batch/v1 CronJob makes Jobs. The name and the
// messageId of each are derived from the schedule and the time, so that a firing which is repeated is the same message.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=dls,categories=a2a
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Time-Zone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Agent",type=string,priority=1,JSONPath=`.spec.template.spec.agentRef.name`
// +kubebuilder:printcolumn:name="Active",type=string,priority=1,JSONPath=`.status.active[*].name`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the name must have at most 52 characters: the time is added to it for the name of each run"
type DelegationSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DelegationScheduleSpec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DelegationScheduleStatus `json:"status,omitzero"`
}

// DelegationScheduleSpec says when Delegations are made, and which.
//
// +kubebuilder:validation:XValidation:rule="has(self.messageIdQualifier) == has(oldSelf.messageIdQualifier) && (!has(self.messageIdQualifier) || self.messageIdQualifier == oldSelf.messageIdQualifier)",message="messageIdQualifier is immutable: with another one a firing that is evaluated again would be another message; create a new DelegationSchedule",fieldPath=".messageIdQualifier"
type DelegationScheduleSpec struct {
	// Schedule is when a Delegation is made, in cron's five fields (minute, hour, day of month, month, day of week) or as one
	// of @hourly, @daily, @weekly, @monthly and @yearly. There is no @every: its times depend on when it began, and a rebuilt
	// cluster would have others.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9A-Za-z*?/,-]+( +[0-9A-Za-z*?/,-]+){4})$')",message="schedule has to be five fields, such as 30 6 * * 1-5, or one of @hourly, @daily, @weekly, @monthly and @yearly; the time zone goes into timeZone, and there is no @every"
	Schedule string `json:"schedule"`
	// TimeZone is the IANA name of the time zone that the schedule is in, such as Europe/Berlin. UTC when absent.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'",message="timeZone has to be a name of the IANA database, such as Europe/Berlin"
	TimeZone *string `json:"timeZone,omitempty"`
	// ConcurrencyPolicy says what happens when a run is due while an earlier one is not finished. One that is Unknown is not
	// finished until its resolution is Abandon.
	//
	// +optional
	// +kubebuilder:default=Allow
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// Suspend holds back further runs, and has no effect on those that began. Times that pass meanwhile count as missed.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// StartingDeadlineSeconds is how late, in seconds, a run may begin that could not begin in time. Past it that run is
	// missed. Of several that are late only the latest begins. Absent means that there is no such limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// SuccessfulRunsHistoryLimit is how many runs that are Completed are kept. The latest run is kept in any case.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	SuccessfulRunsHistoryLimit *int32 `json:"successfulRunsHistoryLimit,omitempty"`
	// FailedRunsHistoryLimit is how many runs are kept that finished otherwise. The latest run is kept in any case, and one
	// that is Unknown until its resolution is Abandon.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	FailedRunsHistoryLimit *int32 `json:"failedRunsHistoryLimit,omitempty"`
	// MessageIDQualifier becomes part of the messageIds. The same schedule in two clusters sends the same messages: set it
	// where both send to one agent and each is to have its own. It never changes.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	MessageIDQualifier string `json:"messageIdQualifier,omitempty"`
	// Template is what each run is made from. A change counts for the runs that begin after it.
	Template DelegationTemplate `json:"template"`
}

// ConcurrencyPolicy says what happens when a run is due while an earlier one is not finished.
//
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ConcurrencyAllow: it begins all the same.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid: it waits for the end of the earlier one, up to startingDeadlineSeconds.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace: the earlier one is canceled. The new one begins when that has ended, and not before: the agent
	// may refuse to cancel.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// DelegationTemplate is what runs are made from.
type DelegationTemplate struct {
	// Metadata of the runs, besides what the operator adds.
	//
	// +optional
	Metadata RunMetadata `json:"metadata,omitzero"`
	// Spec of the runs. What is about one message has no place in it: messageId, which is derived, continues, cancel,
	// resolution and notAfter.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.messageId)",message="messageId is derived from the schedule and the time: leave it out",fieldPath=".messageId"
	// +kubebuilder:validation:XValidation:rule="!has(self.continues)",message="an answer belongs to one question and can't be scheduled",fieldPath=".continues"
	// +kubebuilder:validation:XValidation:rule="!has(self.cancel) || !self.cancel",message="cancel is about one run: set it there, or suspend the schedule",fieldPath=".cancel"
	// +kubebuilder:validation:XValidation:rule="!has(self.resolution)",message="resolution is about one run: set it there",fieldPath=".resolution"
	// +kubebuilder:validation:XValidation:rule="!has(self.notAfter)",message="notAfter is about one message; how late a run may begin is in startingDeadlineSeconds, how long it is delivered in deliveryDeadline",fieldPath=".notAfter"
	// +kubebuilder:validation:XValidation:rule="!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished >= 60",message="ttlSecondsAfterFinished must be at least 60: a run has to outlive the note that it began",fieldPath=".ttlSecondsAfterFinished"
	Spec DelegationSpec `json:"spec"`
}

// RunMetadata is metadata that runs get.
type RunMetadata struct {
	// Labels of the runs.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!('a2a.delegation.dev/schedule' in self)",message="the label a2a.delegation.dev/schedule is the operator's"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the runs. Those of a2a.delegation.dev are the operator's own.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('a2a.delegation.dev/'))",message="annotations that begin with a2a.delegation.dev/ are the operator's"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DelegationScheduleStatus is what became of the schedule.
type DelegationScheduleStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of; -1 before the operator has seen any.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Active are the runs that are not finished, the oldest first, at most 100 of them.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	Active []ActiveRun `json:"active,omitempty"`
	// LastScheduleTime is the time of the schedule for which a run began last. No run begins for it, or an earlier one, again.
	//
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// LastMissedTime is the latest time of the schedule for which no run began and none will.
	//
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`
	// LastSuccessfulTime is when a run was Completed last.
	//
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`
	// NextScheduleTime is the next time of the schedule; absent while there is none.
	//
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// Conditions: Ready, Reconciling and Stalled, by the rules of kstatus. Ready says that runs begin as planned, and nothing
	// of how they end.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ActiveRun names a run that is not finished.
type ActiveRun struct {
	// Name of the Delegation.
	Name string `json:"name"`
	// UID of the Delegation.
	UID types.UID `json:"uid"`
}

// DelegationScheduleList is a list of DelegationSchedules.
//
// +kubebuilder:object:root=true
type DelegationScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DelegationSchedule `json:"items"`
}
