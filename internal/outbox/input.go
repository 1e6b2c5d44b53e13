// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Input is all that Next decides on.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Self names this process; every start of a process has its own name.
	Self string
	// Delegation as it was read. Next does not change it.
	Delegation *v1alpha1.Delegation
	// Agent is what the RemoteAgent says.
	Agent Agent
	// Body is the message as it would be sent now.
	Body Body
	// Running is the call that this process has queued or out for the Delegation.
	Running Call
	// Result is the last finished call of this process that is not recorded yet.
	Result *Result
}

// Problem says why something can't be used: a reason fit for a condition and a message with the remedy.
type Problem struct {
	Reason  string
	Message string
	// Transient says that it ends by itself in a moment, so that it is not worth a write once a message is on its way.
	Transient bool
}

// Agent is what the decision needs to know of a RemoteAgent.
type Agent struct {
	// Problem is why the agent can't be used now; nil when it can.
	Problem *Problem
	// Endpoint is the digest of the endpoint in use.
	Endpoint string
	// Deduplicates by messageId, for Retention since the first attempt.
	Deduplicates bool
	Retention    time.Duration
	// Lookup is what it proves when ListTasks does not show a message, Settle after the attempt's deadline.
	Lookup v1alpha1.LookupMode
	Settle time.Duration
	// AttemptTimeout bounds one attempt.
	AttemptTimeout time.Duration
	// Credentials is the version of the credentials in use; empty without any.
	Credentials string
}

// Body is the message as it would be sent now.
type Body struct {
	// Problem is why it can't be built; nil when it can.
	Problem *Problem
	// Digest of the canonical body.
	Digest string
}

// Action is the one thing to do next. Its implementations are the types of this file.
type Action interface{ isAction() }

// Send journals an attempt, together with the ids of the message, and then sends it. Started and Deadline of the attempt
// are stamped when the attempt begins, so that time in a queue does not eat them up.
type Send struct {
	Attempt   Attempt
	MessageID string
	ContextID string
	Timeout   time.Duration
}

// Ask makes a call that changes nothing at the agent, or cancels a task; it may be repeated at will.
type Ask struct {
	Call   Call
	TaskID string
	Query  Query
}

// Record writes the status, once, and then emits the event.
type Record struct {
	Status v1alpha1.DelegationStatus
	// Artifacts are to be stored before the status is written.
	Artifacts []Artifact
	// Settles says that the write holds all that the Result proved, which may be forgotten after it. Other results are
	// kept: the pace of further calls depends on them.
	Settles bool
	Event   *Event
}

// Event is a Kubernetes Event.
type Event struct {
	Warning bool
	Reason  string
	Message string
}

// Follow keeps a fresh view of a task and decides anew when it changes.
type Follow struct{ TaskID string }

// Wait does nothing until a time, or until something changes where Until is zero.
type Wait struct{ Until time.Time }

// Release lets the API server delete the Delegation.
type Release struct{ Event *Event }

func (Send) isAction()    {}
func (Ask) isAction()     {}
func (Record) isAction()  {}
func (Follow) isAction()  {}
func (Wait) isAction()    {}
func (Release) isAction() {}

// Identity returns the ids under which the message of d goes out: its own, or those that the first attempt will write.
// A missing messageId becomes the object's UID, which is unique and in etcd already, so that two replicas that mint at
// once mint the same one.
func Identity(d *v1alpha1.Delegation) (messageID, contextID string) {
	messageID, contextID = d.Spec.MessageID, d.Spec.ContextID
	if messageID == "" {
		messageID = string(d.UID)
	}
	if contextID == "" {
		contextID = "c-" + messageID
	}
	return messageID, contextID
}
