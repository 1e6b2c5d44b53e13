// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Namespaces that share a RemoteAgent are one caller to the agent. So their ids are kept apart by their form: an id that one
// of them sends, or searches for, begins with its name. There is nothing to be claimed, to get lost, or to be cleaned up.

// mintMessageID returns the id of a message whose manifest names none.
func mintMessageID(d *v1alpha1.Delegation) string {
	if d.UsesForeignAgent() {
		return d.Namespace + "/" + string(d.UID)
	}
	return string(d.UID)
}

// mintContextID returns the id of the conversation that a message begins.
func mintContextID(d *v1alpha1.Delegation, messageID string) string {
	if rest, carried := strings.CutPrefix(messageID, d.Namespace+"/"); carried && d.UsesForeignAgent() {
		return d.Namespace + "/c-" + rest
	}
	return "c-" + messageID
}

// MintedFrom returns the messageId that a contextId of the form of the minted ones would come from.
func MintedFrom(contextID string) (messageID string, minted bool) {
	namespace, rest, shared := strings.Cut(contextID, "/c-")
	if shared && !strings.Contains(namespace, "/") {
		return namespace + "/" + rest, true
	}
	return strings.CutPrefix(contextID, "c-")
}

// owns reports whether an id is one that d's namespace may use at an agent that it shares. In the RemoteAgent's own
// namespace that is every id that does not name another one.
func owns(d *v1alpha1.Delegation, id string) bool {
	namespace, _, named := strings.Cut(id, "/")
	if d.UsesForeignAgent() {
		return id == "" || (named && namespace == d.Namespace)
	}
	return !named || namespace == d.Namespace || len(validation.IsDNS1123Label(namespace)) > 0
}

// shared reports whether Delegations of several namespaces go to the agent.
func (c *decision) shared() bool {
	return c.in.Agent.Shared || c.in.Delegation.UsesForeignAgent()
}

// trespass says what of a message's envelope may be another namespace's; nil where nothing is. A person who may write a
// Delegation may write its annotations too, so that nothing in the journal is taken on trust where that would reach beyond
// the namespace.
func (c *decision) trespass() *Problem {
	d := c.in.Delegation
	switch {
	case c.misdirected():
		return &Problem{Reason: ReasonTargetNotFound, Message: fmt.Sprintf("the message may have been sent to task %s, which is not that of a Delegation that spec.continues leads to, "+
			"and nothing is sent or asked for it meanwhile; to give the message up: %s", c.to.TaskID, c.kubectl("delete"))}
	case !c.shared():
		return nil
	case !owns(d, c.to.MessageID):
		return c.notNamespaced("MessageIdNotNamespaced", "messageId", c.to.MessageID)
	case !owns(d, c.to.ContextID) && !c.targetsContext():
		return c.notNamespaced("ContextIdNotNamespaced", "contextId", c.to.ContextID)
	case c.attempt != nil && !c.corroborated():
		return &Problem{Reason: ReasonTargetNotFound, Message: "the message may have been sent to a task that no Delegation which spec.continues and spec.refines name has any more, " +
			"and an agent that namespaces share is not asked about such a task; to give the message up: " + c.kubectl("delete")}
	}
	return nil
}

func (c *decision) notNamespaced(reason, field, id string) *Problem {
	d := c.in.Delegation
	if d.UsesForeignAgent() {
		return &Problem{Reason: reason, Message: fmt.Sprintf(
			"%s %q does not begin with %q, as it has to at a RemoteAgent of another namespace: create this one anew with %s: %s/%s, or without %s",
			field, id, d.Namespace+"/", field, d.Namespace, id[strings.LastIndex(id, "/")+1:], field)}
	}
	return &Problem{Reason: reason, Message: fmt.Sprintf(
		"%s %q begins as those of another namespace do, and the RemoteAgent is open to others: create this one anew with another %s, or without", field, id, field)}
}

// targetsContext reports whether the conversation is that of the Delegation which the message continues or refines first.
// Before the first attempt that is compared where the target is looked at.
func (c *decision) targetsContext() bool {
	spec := &c.in.Delegation.Spec
	target := c.in.Related.Root
	if len(spec.Refines) > 0 && len(c.in.Related.Refined) > 0 {
		target = c.in.Related.Refined[0]
	}
	if c.attempt == nil {
		return spec.Continues != nil || len(spec.Refines) > 0
	}
	return target != nil && target.Status.ContextID == c.to.ContextID
}

// misdirected reports whether the journal names a task that spec.continues does not lead to: who may write a Delegation and
// not answer questions would answer one by it. The operator never writes such a journal. A target that was restored without
// its status has its task again once it is found; one that is gone says nothing of the journal.
func (c *decision) misdirected() bool {
	root := c.in.Related.Root
	if c.attempt == nil || c.to.TaskID == "" {
		return false
	}
	return c.in.Delegation.Spec.Continues == nil || root != nil && root.Status.TaskID != c.to.TaskID
}

// corroborated reports whether the tasks that the journal names are those of the Delegations that the spec names.
func (c *decision) corroborated() bool {
	task, references := "", []string(nil)
	if root := c.in.Related.Root; root != nil {
		task = root.Status.TaskID
	}
	for _, target := range c.in.Related.Refined {
		if target != nil {
			references = append(references, target.Status.TaskID)
		}
	}
	return (c.to.TaskID == "" || c.to.TaskID == task) && (len(c.to.References) == 0 || slices.Equal(c.to.References, references))
}

// outOfBounds refuses a message with an id that may be another namespace's before anything is asked or sent.
func (c *decision) outOfBounds() Action {
	if p := c.trespass(); p != nil {
		return c.refuse(v1alpha1.PhaseRejected, p.Reason, p.Message)
	}
	return nil
}

// keepBounds makes the agent of no use to a message whose journal reaches beyond its namespace: no call is made for it, and
// what one found proves nothing.
func (c *decision) keepBounds() {
	if c.attempt == nil || c.in.Delegation.Status.TaskID != "" {
		return
	}
	p := c.trespass()
	if p == nil {
		return
	}
	if r := c.in.Result; r != nil && r.Call != CallSend {
		c.in.Result = nil
	}
	if c.in.Agent.Problem == nil {
		c.in.Agent.Problem = p
	}
}
