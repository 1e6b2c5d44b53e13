// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import "fmt"

// Identity names where a RemoteAgent's credentials are from: a Secret, or else a ServiceAccount and the audience of its
// tokens; all empty for an agent that is called without.
type Identity struct {
	Secret                   string
	ServiceAccount, Audience string
}

// wrongCredentials says what ends it that an agent does not accept the operator's credentials. What those of another
// namespace are is for its owner alone.
func (c *decision) wrongCredentials(r *Result) string {
	agent, id := c.in.Delegation.AgentKey(), c.in.Agent.Identity
	edit := fmt.Sprintf("kubectl edit remoteagent -n %s %s", agent.Namespace, agent.Name)
	var remedy string
	switch {
	case c.in.Delegation.UsesForeignAgent():
		remedy = fmt.Sprintf("they are those of RemoteAgent %q in namespace %s, whose owner has to correct them; new ones are used at once", agent.Name, agent.Namespace)
	case id.Secret != "":
		remedy = fmt.Sprintf("correct the Secret that the RemoteAgent names, and it is used at once: kubectl edit secret -n %s %s", agent.Namespace, id.Secret)
	case id.ServiceAccount != "":
		remedy = fmt.Sprintf("have the agent accept tokens of ServiceAccount %q for audience %q, or name another ServiceAccount or audience: %s", id.ServiceAccount, id.Audience, edit)
	default:
		remedy = "the RemoteAgent names none: set spec.authentication: " + edit
	}
	return "the agent does not accept the operator's credentials (" + r.Reason + "): " + remedy
}
