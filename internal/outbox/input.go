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
	// Related are the other Delegations that it depends on.
	Related Related
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
	// Identity says where they are from.
	Identity Identity
	// NamesContexts says that the agent names the conversations, not the operator.
	NamesContexts bool
	// TakesWhileWorking says that a message may go to a task that is being worked on.
	TakesWhileWorking bool
	// Shared says that Delegations of several namespaces may go to the agent, as one caller. That one from another namespace
	// does shows in the Delegation.
	Shared bool
}

// Related are the other Delegations that a decision depends on.
type Related struct {
	// Root is the Delegation that made the task that spec.continues leads to; nil where there is none.
	Root *v1alpha1.Delegation
	// Circle says that spec.continues leads back to the Delegation itself.
	Circle bool
	// Holder is the Delegation that holds the claim to Root's latest question; nil where it is gone or nobody does.
	Holder *v1alpha1.Delegation
	// Ahead names an older answer to Root's task that waits to be sent; empty without any.
	Ahead string
	// Refined are the Delegations of spec.refines, in order; nil for one that is not there.
	Refined []*v1alpha1.Delegation
	// SameMessage are Delegations to the same endpoint with the same messageId; SameContext those of other namespaces with
	// the same contextId.
	SameMessage []*v1alpha1.Delegation
	SameContext []*v1alpha1.Delegation
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
	Attempt  Attempt
	Envelope Envelope
	Timeout  time.Duration
	// Until is when the attempt has to have begun: one that waited longer for its turn is decided on anew. Zero for never.
	Until time.Time
}

// Claim writes the claim into the status of the Delegation that asks, with the resourceVersion it was read with: of two
// answers that claim at once, one conflicts.
type Claim struct {
	Root  *v1alpha1.Delegation
	Claim v1alpha1.Claim
}

// Delete deletes the Delegation, whose time to live is over.
type Delete struct{}

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
	// MoreArtifacts is how many there are besides, at least, of which nothing is known.
	MoreArtifacts int
	// Settles says that the write holds all that the Result proved, which may be forgotten after it. Other results are
	// kept: the pace of further calls depends on them.
	Settles bool
	// Protects says that the object has no finalizer yet and the status names a task: the finalizer is to be written
	// first, so that a deletion can't leave the task behind.
	Protects bool
	Event    *Event
}

// Event is a Kubernetes Event.
type Event struct {
	Warning bool
	Reason  string
	Message string
}

// Follow keeps a fresh view of a task and decides anew when it changes, and at Until unless that is zero.
type Follow struct {
	TaskID string
	Until  time.Time
}

// Wait does nothing until a time, or until something changes where Until is zero.
type Wait struct{ Until time.Time }

// Release lets the API server delete the Delegation.
type Release struct{ Event *Event }

func (Send) isAction()    {}
func (Claim) isAction()   {}
func (Delete) isAction()  {}
func (Ask) isAction()     {}
func (Record) isAction()  {}
func (Follow) isAction()  {}
func (Wait) isAction()    {}
func (Release) isAction() {}
