// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the table of values into the chart's README.md")

const valuesBegin, valuesEnd = "<!-- begin: written by TestValuesAreDocumented -->\n", "<!-- end -->\n"

func TestLint(t *testing.T) {
	for _, args := range [][]string{nil, {"-f", filepath.Join(chart(t), "values-ha.yaml")}, {"-f", "testdata/values-all.yaml"}, {"-f", "testdata/values-previous.yaml"}} {
		if out, err := runHelm(t, append([]string{"lint", "--strict", chart(t)}, args...)...); err != nil {
			t.Errorf("helm lint --strict %q: %v\n%s", args, err, out)
		}
	}
}

// A value that can't be meant is refused by an error that names it.
func TestBadValues(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"replica=2", "replica"},
		{"replicas=two", "/replicas"},
		{"replicas=-1", "/replicas"},
		{"shards=0", "/shards"},
		{"shards=65", "/shards"},
		{"shards=two", "/shards"},
		{"image.tag=", "/image/tag"},
		{"image.digest=latest", "/image/digest"},
		{"image.pullPolicy=Sometimes", "/image/pullPolicy"},
		{"podDisruptionBudget.maxUnavailable=some", "/podDisruptionBudget/maxUnavailable"},
		{"podDisruptionBudget.maxUnavailable=0", "/podDisruptionBudget/maxUnavailable"},
		{"podDisruptionBudget.maxUnavailable=0%", "/podDisruptionBudget/maxUnavailable"},
		{"namespaces={Books}", "/namespaces/0"},
		{"credentials.secrets=Some", "/credentials/secrets"},
		{"egress.allow={http://agent}", "/egress/allow/0"},
		{"push.url=push.example.com", "/push/url"},
		{"push.enabled=true", "push.url"},
		{"push.url=https://push.example.com", "push.enabled"},
		{"metrics.enabled=yes", "/metrics/enabled"},
		{"metrics.secure=false", "secure"},
		{"serviceMonitor.enabled=true", "metrics.enabled"},
		{"serviceMonitor.interval=often", "/serviceMonitor/interval"},
		{"crds.keep=1", "/crds/keep"},
		{"crds.install=false,crds.keep=false", "crds.keep"},
		{"extraArgs={workers}", "/extraArgs/0"},
		{"topologySpreadConstraints[0].maxSkew=1", "/topologySpreadConstraints/0"},
		{"leaderElection.enabled=false,replicas=2", "leaderElection.enabled"},
	} {
		t.Run(c.set, func(t *testing.T) {
			t.Parallel()
			out, err := runHelm(t, "template", release, chart(t), "--set", c.set)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("helm template: %v; want an error that names %s:\n%s", err, c.want, out)
			}
		})
	}
}

// A name that YAML would take for a number stays a name.
func TestPriorityClassNameIsQuoted(t *testing.T) {
	if out := render(t, "--set-string=priorityClassName=1000"); !strings.Contains(out, `priorityClassName: "1000"`) {
		t.Error("it is not")
	}
}

// value is a value of the chart.
type value struct{ path, preset, comment string }

// valuesOf are the values below a node that have a comment, and those that have none and no values below them.
func valuesOf(t *testing.T, node *yaml.Node, path string) []value {
	t.Helper()
	var list []value
	for i := 0; i < len(node.Content); i += 2 {
		name, at := node.Content[i], node.Content[i+1]
		child := strings.TrimPrefix(path+"."+name.Value, ".")
		comment := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(name.HeadComment, "\n# ", " "), "# ", ""))
		if comment == "" && at.Kind == yaml.MappingNode && len(at.Content) > 0 {
			list = append(list, valuesOf(t, at, child)...)
			continue
		}
		var preset any
		if err := at.Decode(&preset); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(preset)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, value{path: child, preset: string(text), comment: comment})
	}
	return list
}

// schema is the part of a JSON schema that says what there is.
type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

// paths are the properties of a schema that have no properties of their own.
func (s schema) paths(path string) map[string]string {
	out := map[string]string{}
	for name, p := range s.Properties {
		child := strings.TrimPrefix(path+"."+name, ".")
		if p.Description == "" && len(p.Properties) > 0 {
			maps.Copy(out, p.paths(child))
			continue
		}
		out[child] = p.Description
	}
	return out
}

// Each value is in values.yaml with a comment, in the schema with the same words, and in the table of the README.
func TestValuesAreDocumented(t *testing.T) {
	var document yaml.Node
	var s schema
	if err := yaml.Unmarshal(read(t, "values.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(read(t, "values.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	described := s.paths("")
	delete(described, "global")
	var table strings.Builder
	table.WriteString("| value | default | |\n|---|---|---|\n")
	for _, v := range valuesOf(t, document.Content[0], "") {
		if v.comment == "" || v.comment != described[v.path] {
			t.Errorf("%s is %q in values.yaml and %q in the schema; want the same words", v.path, v.comment, described[v.path])
		}
		delete(described, v.path)
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.path, v.preset, v.comment)
	}
	if len(described) > 0 {
		t.Errorf("in the schema and not in values.yaml: %q", slices.Sorted(maps.Keys(described)))
	}
	readme := string(read(t, "README.md"))
	before, rest, found := strings.Cut(readme, valuesBegin)
	written, after, ended := strings.Cut(rest, valuesEnd)
	switch {
	case !found || !ended:
		t.Fatal("the chart's README.md has no place for the table")
	case *update:
		if err := os.WriteFile(filepath.Join(chart(t), "README.md"), []byte(before+valuesBegin+table.String()+valuesEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case written != table.String():
		t.Error("the table of the chart's README.md is not up to date: write it with -update")
	}
}

// read returns a file of the chart.
func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
