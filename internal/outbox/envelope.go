// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Envelope is what a message carries besides its content.
type Envelope struct {
	MessageID string
	ContextID string
	// TaskID is the task that the message continues; empty for a new one.
	TaskID string
	// References are the tasks that the message follows up.
	References []string
}

// Address returns the envelope of d's message: what its spec says, what the Delegations that it continues or refines
// bring, and what the first attempt will write. A missing messageId becomes the object's UID, which is unique and in etcd
// already, so that two replicas that mint at once mint the same one. At a RemoteAgent of another namespace minted ids begin
// with the Delegation's own.
//
// An attempt on record fixes the envelope, whatever became of the other Delegations since.
func Address(d *v1alpha1.Delegation, related Related, agentNamesContexts bool) Envelope {
	attempt, err := Journalled(d)
	if err != nil {
		attempt = nil
	}
	return address(d, attempt, related, agentNamesContexts)
}

func address(d *v1alpha1.Delegation, attempt *Attempt, related Related, agentNamesContexts bool) Envelope {
	e := Envelope{MessageID: d.Spec.MessageID, ContextID: d.Spec.ContextID}
	if e.MessageID == "" {
		e.MessageID = mintMessageID(d)
	}
	if attempt != nil {
		e.TaskID, e.References = attempt.Task, attempt.References
		return e
	}
	switch {
	case d.Spec.Continues != nil:
		if root := related.Root; root != nil {
			e.TaskID = root.Status.TaskID
			e.ContextID = first(e.ContextID, root.Status.ContextID)
		}
	case len(d.Spec.Refines) > 0:
		for i, target := range related.Refined {
			if target == nil {
				continue
			}
			e.References = append(e.References, target.Status.TaskID)
			if i == 0 {
				e.ContextID = first(e.ContextID, target.Status.ContextID)
			}
		}
	case e.ContextID == "" && !agentNamesContexts:
		e.ContextID = mintContextID(d, e.MessageID)
	}
	return e
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
