// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standing says how a Delegation stands: whether it waits for its agent, for a person, or for nothing any more, and
// with which code a command ends that speaks of it. It does no I/O.
package standing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Code is how a command ends. Scripts depend on the numbers.
type Code int

// The codes.
const (
	// Done: all is completed.
	Done Code = 0
	// Error: the command itself failed, or was not understood.
	Error Code = 1
	// Unsuccessful: a task failed, was rejected or canceled, or its message will never be sent.
	Unsuccessful Code = 2
	// Waiting: an agent waits for input or for credentials.
	Waiting Code = 3
	// Unknown: a message may have been accepted, and a person has to decide.
	Unknown Code = 4
	// Timeout: the time is over and something still moves.
	Timeout Code = 5
)

// severity is the order in which codes win over others: what can't be mended any more comes first.
var severity = []Code{Error, Unsuccessful, Unknown, Waiting, Timeout, Done}

// Worst is the code that speaks for several Delegations; Done for none.
func Worst(codes ...Code) Code {
	for _, c := range severity {
		for _, has := range codes {
			if has == c {
				return c
			}
		}
	}
	return Done
}

// Of returns the code of a Delegation, and whether it rests: nothing will happen to it until a person does something. The code
// of one that moves is Timeout, since that is what ends the wait for it.
func Of(d *v1alpha1.Delegation) (code Code, rests bool) {
	switch phase := d.Status.Phase; {
	case phase == v1alpha1.PhaseCompleted:
		return Done, true
	case phase.Finished():
		return Unsuccessful, true
	case phase == v1alpha1.PhaseUnknown:
		if decided(d) {
			return Timeout, false
		}
		return Unknown, true
	case Asks(d):
		return Waiting, true
	}
	return Timeout, false
}

// Asks reports whether the agent waits for a message that nobody has begun to send.
func Asks(d *v1alpha1.Delegation) bool {
	if d.Spec.Cancel || d.Status.Phase != v1alpha1.PhaseInputRequired && d.Status.Phase != v1alpha1.PhaseAuthRequired {
		return false
	}
	by := d.Status.AnsweredBy
	return by == nil || by.Interruption != d.Status.Interruptions
}

// decided reports whether a resolution is there that the operator has not yet looked at.
func decided(d *v1alpha1.Delegation) bool {
	want, done := d.Spec.Resolution, d.Status.Resolution
	if want == nil || d.Status.ObservedGeneration == d.Generation || meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionFinished) {
		return false
	}
	return done == nil || done.Action != want.Action || done.TaskID != want.TaskID || want.Attempt != 0 && want.Attempt != done.Attempt
}

// Abandoned reports whether a person decided to leave an Unknown message as it is.
func Abandoned(d *v1alpha1.Delegation) bool {
	return d.Status.Phase == v1alpha1.PhaseUnknown && meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionFinished)
}

// Next is the command that goes on from here, in the short form; empty where there is none. Command is how this program is
// called.
func Next(command string, d *v1alpha1.Delegation) string {
	name := d.Name
	switch {
	case Asks(d) && d.Status.Phase == v1alpha1.PhaseAuthRequired:
		return fmt.Sprintf("%s reply %s --from-secret SECRET/KEY", command, name)
	case Asks(d):
		return fmt.Sprintf("%s reply %s TEXT", command, name)
	case d.Status.Phase == v1alpha1.PhaseUnknown && !Abandoned(d) && !decided(d):
		return fmt.Sprintf("%s resolve %s --as adopt|resend|abandon", command, name)
	case len(d.Status.Artifacts) > 0:
		return fmt.Sprintf("%s artifacts %s", command, name)
	}
	return ""
}

// Reason is the reason of the condition Ready, and Why its message.
func Reason(d *v1alpha1.Delegation) string {
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// Why is the message of the condition Ready, with the command that ends a stop.
func Why(d *v1alpha1.Delegation) string {
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}
