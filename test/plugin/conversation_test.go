// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// samples reads a file of config/samples/data.
func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "config", "samples", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The worked example from its first message to its revision, with the plugin alone. What it shows is in the documentation.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=1", "--delay=2s")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.ConfigMap("september", map[string]string{
		"ledger.csv": sample(t, "ledger.csv"), "bank.csv": sample(t, "bank.csv"),
	}))
	s.AwaitAgentReady(harness.AgentName)
	w := newScreens(t, s)
	w.run("create", 0, "create", "reconcile-2026-09", "--agent", "finance", "--message-id", "m-71", "--text", "Reconcile September 2026",
		"--from-configmap", "september/ledger.csv", "--from-configmap", "september/bank.csv")
	w.run("watch", 3, "watch", "reconcile-2026-09")
	w.run("reply", 0, "reply", "reconcile-2026-09", "Approve", "--data", `{"approve": true, "by": "the controller"}`, "--wait")
	if d := s.AwaitPhase("reconcile-2026-09", v1alpha1.PhaseCompleted); d.Status.RecoveredBy != v1alpha1.RecoveredByReplay {
		t.Errorf("%s", harness.Describe(d))
	}
	// A second answer to a question that has one is not made by accident, nor one to a task that is done.
	w.run("refused", 1, "reply", "reconcile-2026-09", "Approve")
	w.run("refine", 0, "refine", "reconcile-2026-09", "Leave out bank fees", "--name", "revise-2026-09", "--wait")
	w.run("get", 0, "get")
	w.run("tree", 0, "tree", "revise-2026-09")
	dir := filepath.Join(t.TempDir(), "results")
	saved := w.run("artifacts", 0, "artifacts", "reconcile-2026-09")
	if !strings.Contains(saved.Stdout, "report.md") {
		t.Errorf("no report: %s", saved.Stdout)
	}
	if ran := s.Plugin("", "artifacts", "reconcile-2026-09", "--save", dir); ran.Code != 0 {
		t.Errorf("%+v", ran)
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !strings.HasPrefix(string(report), "# Reconciliation of 2026-09") {
		t.Errorf("the saved report is %q, %v", report, err)
	}
	agent.Require("m-71", 2, 1)
	w.compare()
	// kubectl's own wait does as well.
	if out := s.Kubectl("wait", "--for=condition=Finished", "delegation", "--all", "--timeout=30s"); strings.Count(out, "condition met") != 3 {
		t.Errorf("kubectl wait: %s", out)
	}
}
