// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// TestObserved plays the worked example, a lost answer, a question and its approval, and reads what the manager says of it: its
// metrics, its log and its Events.
func TestObserved(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=1", "--delay=2s")
	address := harness.FreeAddress(t)
	manager := s.StartManager("--metrics-bind-address", address, "--metrics-secure=false")
	s.Create(s.RemoteAgent(agent.URL).Build())
	s.AwaitAgentReady(harness.AgentName)
	s.Create(s.Question("q").MessageID("m-71").Build())
	s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	s.Create(s.Answer("a", "q", "approve").MessageID("m-72").Build())
	s.AwaitPhase("a", v1alpha1.PhaseCompleted)
	s.AwaitPhase("q", v1alpha1.PhaseCompleted)
	requireMetrics(t, s, "http://"+address+"/metrics")
	requireLog(t, s, manager)
	requireEvents(t, s)
}

func requireMetrics(t *testing.T, s *harness.Space, url string) {
	t.Helper()
	of := fmt.Sprintf(`agent=%q,%%snamespace=%q`, harness.AgentName, s.Namespace)
	with := func(name, more string) string { return name + "{" + fmt.Sprintf(of, more) }
	want := []string{
		with("a2a_delegation_attempts_total", "") + `,outcome="Ambiguous"} 1`,
		with("a2a_delegation_attempts_total", "") + `,outcome="Accepted"} 2`,
		with("a2a_delegation_recoveries_total", `by="Replay",`) + "} 1",
		with("a2a_delegation_finished_total", "") + `,phase="Completed"} 2`,
		with("a2a_delegation_delivery_duration_seconds_count", "") + "} 2",
		with("a2a_delegation_completion_duration_seconds_count", "") + "} 2",
		with("a2a_delegation_delegations", fmt.Sprintf("client=%q,", s.Namespace)) + `,phase="Completed",shard="0"} 2`,
		`a2a_delegation_shards{shard="0"} 1`,
		with("a2a_delegation_agent_ready", "") + "} 1",
		with("a2a_delegation_calls_queued", "") + "} 0",
		`controller_runtime_max_concurrent_reconciles{controller="delegation"} 8`,
	}
	document, err := os.ReadFile(filepath.Join(harness.Root(t), "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, others, _ := strings.Cut(string(document), "## Others that")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(others, -1) {
		want = append(want, "\n"+m[1])
	}
	harness.Eventually(t, harness.Patience, "the metrics", func(ctx context.Context) (bool, string) {
		text := page(ctx, url)
		for _, line := range want {
			if !strings.Contains(text, line) {
				return false, "no " + line + " in\n" + grep(text, "a2a_delegation")
			}
		}
		return true, ""
	})
}

// page gets a page; where it can't be had it is the reason.
func page(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func grep(text, word string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return !strings.Contains(l, word) || strings.Contains(l, "_bucket") })
	return strings.Join(lines, "\n")
}

// requireLog requires one line for each change, and no word of the messages or the agent's.
func requireLog(t *testing.T, s *harness.Space, manager *harness.Process) {
	t.Helper()
	got, lines := map[string][]string{}, 0
	for line := range strings.Lines(manager.Output()) {
		lines++
		var entry struct{ Level, Logger, Msg, Namespace, Delegation, Agent, Phase, Reason string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("no JSON: %s", line)
			continue
		}
		if entry.Level == "error" {
			t.Errorf("an error without one: %s", line)
		}
		if entry.Logger != "delegation" {
			continue
		}
		if entry.Namespace != s.Namespace || entry.Agent != s.Namespace+"/"+harness.AgentName || !strings.Contains(line, `"taskId"`) || !strings.Contains(line, `"attempt"`) {
			t.Errorf("a key is missing: %s", line)
		}
		if entry.Reason != "Working" && entry.Reason != "Submitted" { // which of these are seen is a matter of time
			// The agent may ask before or after its task was found.
			seen := strings.TrimSpace(entry.Msg + " " + entry.Phase)
			got[entry.Delegation] = append(got[entry.Delegation], strings.Replace(seen, "delivered InputRequired", "changed InputRequired", 1))
		}
	}
	want := map[string][]string{
		"q": {"changed Sending", "recovered", "changed InputRequired", "finished Completed"},
		"a": {"finished Completed"},
	}
	for name, messages := range want {
		if !slices.Equal(got[name], messages) {
			t.Errorf("the log of %s: %q, want %q", name, got[name], messages)
		}
	}
	if lines > 45 {
		t.Errorf("%d lines", lines)
	}
}

// requireEvents requires each change to be told once.
func requireEvents(t *testing.T, s *harness.Space) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "the Events", func(context.Context) (bool, string) {
		text := s.Kubectl("get", "events.events.k8s.io", "-o", `jsonpath={range .items[?(@.regarding.name=="q")]}{.reason}{"\n"}{end}`)
		reasons := slices.Sorted(slices.Values(strings.Fields(text)))
		reasons = slices.DeleteFunc(reasons, func(r string) bool { return r == "Working" || r == "Submitted" })
		return slices.Equal(reasons, []string{"Completed", "InputRequired", "Recovered", "Recovering"}), strings.Join(reasons, " ")
	})
}
