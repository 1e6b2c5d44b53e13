// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"strings"
	"testing"
)

// What ends it that credentials are not accepted depends on what they are, and another namespace's are not told of.
func TestWrongCredentials(t *testing.T) {
	for _, c := range []struct {
		name, namespace string
		identity        Identity
		says, keeps     string
	}{
		{"a Secret", "", Identity{Secret: "finance-token"}, "kubectl edit secret -n books finance-token", ""},
		{"a ServiceAccount", "", Identity{ServiceAccount: "robot", Audience: "https://finance.example.com"}, `"robot" for audience "https://finance.example.com"`, "Secret"},
		{"none", "", Identity{}, "kubectl edit remoteagent -n books finance", "Secret"},
		{"another namespace's", "agents", Identity{Secret: "finance-token"}, `RemoteAgent "finance" in namespace agents, whose owner`, "finance-token"},
	} {
		w := newWorld()
		w.Delegation.Spec.AgentRef.Name, w.Delegation.Spec.AgentRef.Namespace = "finance", c.namespace
		w.Agent.Identity = c.identity
		got := (&decision{in: w.Input}).wrongCredentials(&Result{})
		if !strings.Contains(got, c.says) || c.keeps != "" && strings.Contains(got, c.keeps) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
