// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// selectorOf is what an object selects pods by, at a path of its own.
func selectorOf(t *testing.T, u *unstructured.Unstructured, path ...string) labels.Selector {
	t.Helper()
	set, found, err := unstructured.NestedStringMap(u.Object, path...)
	if err != nil || !found {
		t.Fatalf("%s has no %v: %v", key(u), path, err)
	}
	return labels.SelectorFromSet(set)
}

// Each shard is a Deployment with a budget, that select its pods and no others; Services and a NetworkPolicy select all.
func TestShardsAreDeployments(t *testing.T) {
	const n = 3
	objects := byName(decode(t, render(t, "-f", filepath.Join(chart(t), "values-ha.yaml"), fmt.Sprintf("--set=shards=%d,networkPolicy.enabled=true", n),
		"--set=metrics.enabled=true,push.enabled=true,push.url=https://push.example.com/a2a")))
	at := func(kind, name string) *unstructured.Unstructured {
		o := objects[kind+" "+harness.OperatorNamespace+"/"+name]
		if o == nil {
			t.Fatalf("no %s %s", kind, name)
		}
		return &unstructured.Unstructured{Object: o}
	}
	pods := make([]labels.Set, n)
	for i := range n {
		set, _, err := unstructured.NestedStringMap(at("Deployment", fmt.Sprintf("%s-%d", deployment, i)).Object, "spec", "template", "metadata", "labels")
		if err != nil {
			t.Fatal(err)
		}
		pods[i] = set
	}
	for i := range n {
		name := fmt.Sprintf("%s-%d", deployment, i)
		d := at("Deployment", name)
		containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
		if args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args"); !slices.Contains(args, harness.ShardFlag(i, n)) {
			t.Errorf("%s has the flags %q", name, args)
		}
		spread, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "topologySpreadConstraints")
		for j := range n {
			for what, selector := range map[string]labels.Selector{
				"the Deployment": selectorOf(t, d, "spec", "selector", "matchLabels"),
				"the budget":     selectorOf(t, at("PodDisruptionBudget", name), "spec", "selector", "matchLabels"),
				"the spread":     selectorOf(t, &unstructured.Unstructured{Object: spread[0].(map[string]any)}, "labelSelector", "matchLabels"),
			} {
				if selector.Matches(pods[j]) != (i == j) {
					t.Errorf("%s of shard %d selects pods of shard %d: %t", what, i, j, i != j)
				}
			}
		}
	}
	for what, selector := range map[string]labels.Selector{
		"the metrics' Service": selectorOf(t, at("Service", "delegation-operator-metrics"), "spec", "selector"),
		"the pushes' Service":  selectorOf(t, at("Service", "delegation-operator-push"), "spec", "selector"),
		"the NetworkPolicy":    selectorOf(t, at("NetworkPolicy", "delegation-operator-manager"), "spec", "podSelector", "matchLabels"),
	} {
		for i := range n {
			if !selector.Matches(pods[i]) {
				t.Errorf("%s does not select the pods of shard %d", what, i)
			}
		}
	}
}

// A release of a chart that had no shards, upgraded with --reuse-values, has no such value: it stays one manager.
func TestNoShardsIsOne(t *testing.T) {
	if render(t, "--set=shards=null") != render(t) {
		t.Error("it is not")
	}
}

// One release is installed with one manager and becomes one of two shards. Each has the rights to its own lease, and what was
// under way is not sent again.
func TestShardsOfARelease(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=2s")
	p.helm("install", release, chart(t), "--create-namespace", "--set=egress.allow={127.0.0.0/8}")
	one := s.StartDeployment(harness.OperatorNamespace, deployment)
	s.Create(s.RemoteAgent(agent.URL).Build())
	var names []string
	add := func(prefix string) {
		for i := range 2 {
			name := s.NameIn(i, 2, prefix)
			names = append(names, name)
			s.Create(s.Reconciliation(name).Build())
		}
	}
	add("before")
	s.Await(names[0], "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	p.helm("upgrade", release, chart(t), "--set=egress.allow={127.0.0.0/8},shards=2")
	for i := range 2 {
		s.StartDeployment(harness.OperatorNamespace, fmt.Sprintf("%s-%d", deployment, i))
	}
	add("during")
	one.Stop()
	add("after")
	for _, name := range names {
		d := s.AwaitPhase(name, v1alpha1.PhaseCompleted)
		agent.Require(d.Spec.MessageID, 1, 1)
	}
	for _, held := range []string{"delegation-operator.a2a.delegation.dev-0", "delegation-operator.a2a.delegation.dev-1"} {
		s.Kubectl("get", "lease", "-n", harness.OperatorNamespace, held)
	}
}
