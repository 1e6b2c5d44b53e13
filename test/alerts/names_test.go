// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// documented are the metrics of docs/metrics.md, which other tests hold against what the programs export.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = true
		if m[2] == "histogram" {
			names[m[1]+"_bucket"], names[m[1]+"_sum"], names[m[1]+"_count"] = true, true, true
		}
	}
	return names
}

// variables of the dashboard, as Grafana fills them in.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*", "$agent", ".*")

func requireKnown(t *testing.T, known map[string]bool, where, expr string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(expr))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && !known[v.Name] {
			t.Errorf("%s: no metric %q in docs/metrics.md", where, v.Name)
		}
		return nil
	})
}

func TestMetricsOfAlerts(t *testing.T) {
	known := documented(t)
	for _, r := range alertsOf(t) {
		requireKnown(t, known, r.Alert, r.Expr)
	}
}

func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../config/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID    string `json:"uid"`
		Panels []struct {
			ID      int    `json:"id"`
			Type    string `json:"type"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	known, ids := documented(t), map[int]bool{}
	for _, p := range board.Panels {
		if p.Title == "" || ids[p.ID] || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q has no title, no id of its own or no query", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			requireKnown(t, known, p.Title, q.Expr)
		}
	}
	if board.UID == "" || len(ids) == 0 {
		t.Error("the dashboard has no uid or no panels")
	}
}

// Every alert says what to do about it, in a section that is there.
func TestRunbooks(t *testing.T) {
	const document = "https://github.com/delegation-dev/delegation-operator/blob/main/docs/troubleshooting.md#"
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(string(text), -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for _, r := range alertsOf(t) {
		anchor, ours := strings.CutPrefix(r.Annotations["runbook_url"], document)
		if !ours || !anchors[anchor] || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s: no summary, severity or section %q", r.Alert, r.Annotations["runbook_url"])
		}
	}
}
