// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alerts tries the alerts and the dashboard with Prometheus' own engine and parser. It is a module of its own, since
// nothing else needs Prometheus.
package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

const rulesFile = "../../config/prometheus/rules.yaml"

// rule is one alert of the PrometheusRule.
type rule struct {
	Alert       string
	Expr        string
	For         model.Duration
	Labels      map[string]string
	Annotations map[string]string
}

// scenario has series, and the alerts that fire at some times.
type scenario struct {
	Name        string
	Interval    model.Duration
	InputSeries []struct{ Series, Values string } `yaml:"input_series"`
	Alerts      []struct {
		Alertname string
		EvalTime  model.Duration `yaml:"eval_time"`
		Expected  []struct {
			Labels map[string]string `yaml:"exp_labels"`
		} `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func alertsOf(t *testing.T) map[string]rule {
	t.Helper()
	var file struct {
		Spec struct {
			Groups []struct{ Rules []rule }
		}
	}
	read(t, rulesFile, &file)
	all := map[string]rule{}
	for _, g := range file.Spec.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// TestAlerts plays each scenario of rules_test.yaml. Every alert has to fire in one of them, and not to at another time.
func TestAlerts(t *testing.T) {
	var file struct{ Tests []scenario }
	read(t, "rules_test.yaml", &file)
	all, fired, silent := alertsOf(t), map[string]bool{}, map[string]bool{}
	for _, s := range file.Tests {
		t.Run(s.Name, func(t *testing.T) {
			for _, a := range s.Alerts {
				want := []string{}
				for _, e := range a.Expected {
					e.Labels["alertname"] = a.Alertname
					want = append(want, labels.FromMap(e.Labels).String())
				}
				slices.Sort(want)
				if got := s.firing(t, all[a.Alertname], time.Duration(a.EvalTime)); !slices.Equal(got, want) {
					t.Errorf("%s at %s: %q, want %q", a.Alertname, a.EvalTime, got, want)
				}
				(map[bool]map[string]bool{true: fired, false: silent})[len(want) > 0][a.Alertname] = true
			}
		})
	}
	names := slices.Sorted(maps.Keys(all))
	for what, seen := range map[string]map[string]bool{"fire": fired, "be silent": silent} {
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, names) {
			t.Errorf("alerts that are seen to %s: %q, want %q", what, got, names)
		}
	}
}

// firing evaluates one alert up to a time, and returns the labels of what fires then.
func (s scenario) firing(t *testing.T, r rule, at time.Duration) []string {
	t.Helper()
	step := time.Duration(s.Interval)
	load := fmt.Sprintf("load %s\n", s.Interval)
	for _, series := range s.InputSeries {
		load += "  " + series.Series + " " + series.Values + "\n"
	}
	suite, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = suite.Close() }()
	suite.SubqueryInterval = step
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	alert := rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), 0, labels.FromMap(r.Labels), labels.FromMap(r.Annotations),
		labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	for now := time.Unix(0, 0).UTC(); !now.After(time.Unix(0, 0).Add(at)); now = now.Add(step) {
		suite.WithSamplesTill(now, func(err error) {
			if err == nil {
				_, err = alert.Eval(context.Background(), 0, now, rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), nil, 0)
			}
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
		})
	}
	firing := []string{}
	for _, a := range alert.ActiveAlerts() {
		for text, of := range map[string]string{"summary": a.Annotations.Get("summary"), "description": a.Annotations.Get("description")} {
			if strings.Contains(of, "<error") || strings.Contains(of, "<no value>") {
				t.Errorf("%s: %s is %q", r.Alert, text, of)
			}
		}
		if a.State == rules.StateFiring {
			firing = append(firing, a.Labels.String())
		}
	}
	slices.Sort(firing)
	return firing
}
