// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

func TestPrinterColumns(t *testing.T) {
	s := cluster.Space(t)
	d := s.Delegation("reconcile").MessageID("m-71").Build()
	s.Create(d)
	d.Status.Phase, d.Status.TaskID, d.Status.ContextID, d.Status.Attempts = v1alpha1.PhaseWorking, "t-1", "c-09", 2
	d.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "AtWork", LastTransitionTime: metav1.Now(),
	}}
	if err := s.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	s.Create(s.RemoteAgent("https://finance.example.com").Build())
	for _, c := range []struct {
		name   string
		args   []string
		header string
		row    string
	}{
		{name: "Delegation", args: []string{"delegations"}, header: "NAME AGENT PHASE TASK REASON AGE", row: "reconcile finance Working t-1 AtWork"},
		{name: "Delegation, short name", args: []string{"dlg"}, header: "NAME AGENT PHASE TASK REASON AGE", row: "reconcile finance Working t-1 AtWork"},
		{name: "Delegation, wide", args: []string{"dlg", "--output=wide"}, header: "NAME AGENT PHASE TASK REASON AGE MESSAGE-ID CONTEXT ATTEMPTS",
			row: "reconcile finance Working t-1 AtWork * m-71 c-09 2"},
		{name: "RemoteAgent", args: []string{"ra"}, header: "NAME READY REASON DEDUPLICATION AGE", row: "finance"},
		{name: "RemoteAgent, wide", args: []string{"remoteagents", "--output=wide"}, header: "NAME READY REASON DEDUPLICATION AGE URL", row: "finance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := s.In(t).Kubectl(append([]string{"get"}, c.args...)...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != 2 || strings.Join(strings.Fields(lines[0]), " ") != c.header {
				t.Fatalf("kubectl shows\n%s\nwant the columns %s", out, c.header)
			}
			got, want := strings.Fields(lines[1]), strings.Fields(c.row)
			for i := range want {
				if i >= len(got) || want[i] != "*" && got[i] != want[i] {
					t.Fatalf("kubectl shows the row %q; want %q", got, want)
				}
			}
		})
	}
	if out := s.Kubectl("get", "a2a", "--output=name"); len(strings.Fields(out)) != 2 {
		t.Errorf("the category a2a shows %q; want both objects", out)
	}
}

func TestKubectlExplain(t *testing.T) {
	s := cluster.Space(t)
	// The API server publishes the schema of a new kind a moment after it serves it.
	harness.Eventually(t, harness.Patience, "the schema to be published", func(context.Context) (bool, string) {
		out, err := s.TryKubectl("explain", "delegation.spec.messageId")
		return err == nil, out
	})
	out := strings.Join(strings.Fields(s.Kubectl("explain", "delegation.spec.messageId")), " ")
	for _, want := range []string{"FIELD: messageId <string>", "names the message to the agent", "It never changes."} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl explain lacks %q: %s", want, out)
		}
	}
}

// Each field of both kinds has a description that is a sentence.
func TestEveryFieldIsExplained(t *testing.T) {
	s := cluster.Space(t)
	if err := apiextensionsv1.AddToScheme(s.Client.Scheme()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"delegations", "remoteagents"} {
		u := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.Client.Get(t.Context(), client.ObjectKey{Name: name + "." + v1alpha1.GroupVersion.Group}, u); err != nil {
			t.Fatal(err)
		}
		// The fields next to these are the API server's own.
		for _, field := range []string{"spec", "status"} {
			schema := u.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[field]
			for _, path := range unexplained(name+"."+field, &schema) {
				t.Errorf("%s has no description", path)
			}
		}
	}
}

func unexplained(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	for name, field := range schema.Properties {
		at := path + "." + name
		if !strings.HasSuffix(field.Description, ".") {
			out = append(out, at)
		}
		out = append(out, unexplained(at, &field)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		out = append(out, unexplained(path+"[]", schema.Items.Schema)...)
	}
	slices.Sort(out)
	return out
}

// The samples are applied as they are, by either way, and again.
func TestSamplesApplyAsTheyAre(t *testing.T) {
	s := cluster.Space(t)
	samples := filepath.Join(harness.Root(t), "config", "samples")
	for _, args := range [][]string{{"apply"}, {"apply"}, {"apply", "--server-side", "--force-conflicts"}} {
		s.Kubectl(append(args, "-k", samples)...)
	}
	named := s.Get("reconcile-2026-09")
	if named.Spec.MessageID != "m-71" || named.Spec.ContextID != "c-recon-09" {
		t.Errorf("reconcile-2026-09 has messageId %q and contextId %q", named.Spec.MessageID, named.Spec.ContextID)
	}
	if len(named.Spec.Message.Parts) != 3 {
		t.Errorf("reconcile-2026-09 has %d parts; want the text and two tables", len(named.Spec.Message.Parts))
	}
	if minted := s.Get("revise-2026-09"); minted.Spec.MessageID != "" {
		t.Errorf("revise-2026-09 brings messageId %q; want it left to the operator", minted.Spec.MessageID)
	}
}

// So are those for several namespaces, which bring their own.
func TestTenancySamplesApplyAsTheyAre(t *testing.T) {
	s := cluster.Space(t)
	for _, args := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}} {
		s.Kubectl(append(args, "-k", filepath.Join(harness.Root(t), "config", "samples", "tenancy"))...)
	}
	d := &v1alpha1.Delegation{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "books", Name: "status-2026-09"}, d); err != nil {
		t.Fatal(err)
	}
	ra := &v1alpha1.RemoteAgent{}
	if err := s.Client.Get(t.Context(), d.AgentKey(), ra); err != nil || ra.Spec.AllowedNamespaces.From != v1alpha1.NamespacesFromSelector {
		t.Errorf("RemoteAgent %s is open to %+v, error %v", d.AgentKey(), ra.Spec.AllowedNamespaces, err)
	}
}
