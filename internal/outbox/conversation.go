// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// conversation checks that the Delegations which the message continues or refines are there and have what it needs.
func (c *decision) conversation() Action {
	switch spec := &c.in.Delegation.Spec; {
	case spec.Continues != nil:
		return c.continuation(spec.Continues.Name)
	case len(spec.Refines) > 0:
		return c.refinement(spec.Refines)
	}
	return nil
}

func (c *decision) continuation(name string) Action {
	root := c.in.Related.Root
	switch {
	case c.in.Related.Circle:
		return c.refuse(v1alpha1.PhaseRejected, "TargetIsItself", fmt.Sprintf(
			"spec.continues: Delegation %q leads back to this one, so that there is no task: create a Delegation that continues another", name))
	case root == nil:
		return c.pending(c.notThere("continues", name, "asks"))
	case root.Status.TaskID == "" && Over(&root.Status):
		return c.refuse(v1alpha1.PhaseRejected, "NoTask", fmt.Sprintf("Delegation %q ended without a task that could be continued", name))
	case root.Status.TaskID == "":
		return c.pending(&Problem{Reason: ReasonTargetNotBound, Message: fmt.Sprintf("Delegation %q has no task yet", name)})
	}
	return c.sameConversation(root, name)
}

// notThere is a target that does not exist, by a name that may be wrong and can't be corrected.
func (c *decision) notThere(field, name, event string) *Problem {
	return &Problem{Reason: ReasonTargetNotFound, Message: fmt.Sprintf(
		"spec.%s: Delegation %q is not there: create it, and the message is sent once it %s; or, where the name is wrong: %s, and create this one anew",
		field, name, event, c.kubectl("delete"))}
}

// refinement waits until every task that the message follows up is done.
func (c *decision) refinement(names []v1alpha1.DelegationReference) Action {
	for i, ref := range names {
		target := c.in.Related.Refined[i]
		switch {
		case target == nil:
			return c.pending(c.notThere("refines", ref.Name, "is done"))
		case target.Status.TaskID == "" && Over(&target.Status):
			return c.refuse(v1alpha1.PhaseRejected, "NoTask", fmt.Sprintf("Delegation %q ended without a task that could be refined", ref.Name))
		case !target.Status.State.Terminal() && target.Status.Phase.Finished():
			return c.refuse(v1alpha1.PhaseRejected, "NoTask", fmt.Sprintf("Delegation %q ended, and what became of its task %s is not known", ref.Name, target.Status.TaskID))
		case !target.Status.State.Terminal():
			return c.pending(&Problem{Reason: ReasonTargetNotFinished, Message: fmt.Sprintf("Delegation %q is not done yet", ref.Name)})
		}
	}
	for i, target := range c.in.Related.Refined[1:] {
		if a := c.sameAgent(target, names[i+1].Name); a != nil {
			return a
		}
	}
	return c.sameConversation(c.in.Related.Refined[0], names[0].Name)
}

// sameAgent refuses a target at another agent, which knows nothing of this one's tasks and is not to be told of them.
func (c *decision) sameAgent(target *v1alpha1.Delegation, name string) Action {
	mine, its := c.in.Delegation.AgentKey(), target.AgentKey()
	if mine == its {
		return nil
	}
	ref := its.Name
	if target.UsesForeignAgent() {
		ref += ", namespace: " + its.Namespace
	}
	return c.refuse(v1alpha1.PhaseRejected, "AgentMismatch", fmt.Sprintf(
		"spec.agentRef is not that of Delegation %q: create this one anew with agentRef: {name: %s}", name, ref))
}

// sameConversation refuses a contextId that is not the target's too: agents must reject such a message (A2A 1.0, section
// 3.4.3).
func (c *decision) sameConversation(target *v1alpha1.Delegation, name string) Action {
	if a := c.sameAgent(target, name); a != nil {
		return a
	}
	given := c.in.Delegation.Spec.ContextID
	if given == "" || given == target.Status.ContextID {
		return nil
	}
	return c.refuse(v1alpha1.PhaseRejected, "ContextMismatch", fmt.Sprintf(
		"spec.contextId is %q and the task of Delegation %q is in %q: create a Delegation without contextId", given, name, target.Status.ContextID))
}

// question waits for the task to ask, and claims the question. A message may also go to a task that is being worked on
// where the agent's owner said so; then there is no question to claim.
func (c *decision) question() Action {
	root := c.in.Related.Root
	if c.in.Delegation.Spec.Continues == nil {
		return nil
	}
	switch {
	case root.Status.State.Terminal():
		return c.terminal(root.Status.TaskID, string(root.Status.State))
	case root.Status.Phase.Finished():
		return c.refuse(v1alpha1.PhaseRejected, "NoTask", fmt.Sprintf("the agent no longer knows task %s", root.Status.TaskID))
	case c.in.Related.Ahead != "" && !c.holdsClaim(root):
		return c.pending(&Problem{Reason: ReasonOlderAnswerFirst, Message: fmt.Sprintf("Delegation %q answers the same task, is older, and goes first", c.in.Related.Ahead)})
	case root.Status.State.Interrupted():
		return c.claim(root)
	case c.in.Agent.TakesWhileWorking:
		return nil
	}
	return c.pending(c.notAsking(root))
}

// terminal refuses a message to a task that is done: tasks never restart (A2A 1.0, section 3.1.1).
func (c *decision) terminal(task, state string) Action {
	return c.refuse(v1alpha1.PhaseRejected, ReasonTaskTerminal, fmt.Sprintf(
		"task %s is in state %s and takes no more messages: create a Delegation with refines: [{name: %s}] instead of continues", task, state, c.in.Delegation.Spec.Continues.Name))
}

// claim takes the question where it is free, and goes on where this Delegation holds it.
func (c *decision) claim(root *v1alpha1.Delegation) Action {
	take, p := c.take(root)
	if p != nil {
		return c.pending(p)
	}
	return take
}

// holdsClaim reports whether this Delegation has the question that root asks now. Who has it goes, however old the others.
func (c *decision) holdsClaim(root *v1alpha1.Delegation) bool {
	held := root.Status.AnsweredBy
	return held != nil && held.UID == c.in.Delegation.UID && held.Interruption == root.Status.Interruptions
}

// take returns the claim on the question where it is free, nothing where this Delegation holds it, and otherwise who does.
func (c *decision) take(root *v1alpha1.Delegation) (Action, *Problem) {
	d := c.in.Delegation
	held := root.Status.AnsweredBy
	mine := v1alpha1.Claim{Name: d.Name, UID: d.UID, Interruption: root.Status.Interruptions}
	switch {
	case held != nil && *held == mine:
		return nil, nil
	case held == nil || c.void(held, root.Status.Interruptions):
		return Claim{Root: root, Claim: mine}, nil
	}
	return nil, &Problem{Reason: ReasonAnsweredByAnother, Message: fmt.Sprintf("Delegation %q answers the question; this one is sent if the agent asks again", held.Name)}
}

// resend sends one more copy of a message that the agent may have, because its owner or a person wants it. A copy of an
// answer is one more answer: the first may have been the answer to an earlier question, so that it has to have this one.
func (c *decision) resend() Action {
	root := c.in.Related.Root
	if c.in.Delegation.Spec.Continues == nil || root == nil || root.Status.Phase.Finished() {
		return c.again()
	}
	if !root.Status.State.Interrupted() {
		if c.in.Agent.TakesWhileWorking {
			return c.again()
		}
		return c.notAsked(c.notAsking(root))
	}
	switch take, p := c.take(root); {
	case p != nil:
		return c.notAsked(p)
	case take != nil:
		return take
	}
	return c.again()
}

// notAsked notes why one more copy has to wait.
func (c *decision) notAsked(p *Problem) Action {
	return c.noteSending(p.Reason, p.Message, c.untilEnd(Wait{}))
}

func (c *decision) notAsking(root *v1alpha1.Delegation) *Problem {
	return &Problem{Reason: ReasonTargetNotAsking, Message: fmt.Sprintf("task %s is in state %s; the message is sent once it asks", root.Status.TaskID, root.Status.State)}
}

// void reports whether a claim no longer stands: its holder is gone, ended without an answer, was given up by a person, or
// has answered an earlier question. One whose answer may still be on its way stands.
func (c *decision) void(held *v1alpha1.Claim, interruption int32) bool {
	holder := c.in.Related.Holder
	switch {
	case holder == nil || holder.UID != held.UID || held.UID == c.in.Delegation.UID:
		return true
	case holder.Status.TaskID != "" || holder.Status.Phase == v1alpha1.PhaseCompleted:
		return held.Interruption < interruption
	}
	return Over(&holder.Status)
}
