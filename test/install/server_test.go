// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A server that knows every field takes what the chart makes, whatever the values.
func TestAServerTakesIt(t *testing.T) {
	t.Parallel()
	s := start(t).Space(t)
	s.Kubectl("create", "namespace", harness.OperatorNamespace)
	s.Kubectl("create", "namespace", "books")
	for _, c := range []struct {
		name, release string
		args          []string
	}{
		{"no values", release, nil},
		{"two replicas", release, []string{"-f", filepath.Join(chart(t), "values-ha.yaml")}},
		{"three shards", release, []string{"-f", filepath.Join(chart(t), "values-ha.yaml"), "--set=shards=3"}},
		{"all values", release, []string{"-f", "testdata/values-all.yaml"}},
		{"all values for a namespace", release, []string{"-f", "testdata/values-all.yaml", "--set=namespaces={books}"}},
		{"another name", "finance", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := withoutServiceMonitors(renderAs(t, c.release, c.args...))
			s.In(t).Kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", write(t, "manifests.yaml", text))
		})
	}
}

// withoutServiceMonitors leaves out the kind that the server does not know.
func withoutServiceMonitors(text string) string {
	var kept []string
	for _, document := range strings.Split(text, "\n---\n") {
		if !strings.Contains(document, "kind: ServiceMonitor") {
			kept = append(kept, document)
		}
	}
	return strings.Join(kept, "\n---\n")
}

// The ServiceMonitor finds the Service of the metrics, and Prometheus shows who it is.
func TestTheServiceMonitor(t *testing.T) {
	objects := map[string]*unstructured.Unstructured{}
	for _, u := range decode(t, render(t, "--set=metrics.enabled=true,serviceMonitor.enabled=true")) {
		objects[u.GetKind()+" "+u.GetName()] = u
	}
	monitor, service := objects["ServiceMonitor delegation-operator-metrics"], objects["Service delegation-operator-metrics"]
	if monitor == nil || service == nil {
		t.Fatal("not made")
	}
	wanted, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	for name, value := range wanted {
		if service.GetLabels()[name] != value {
			t.Errorf("the Service has the labels %v; the ServiceMonitor wants %v", service.GetLabels(), wanted)
		}
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	want := []any{map[string]any{
		"port": "metrics", "path": "/metrics", "scheme": "https", "honorLabels": true,
		"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token", "tlsConfig": map[string]any{"insecureSkipVerify": true},
	}}
	if diff := cmp.Diff(want, endpoints); diff != "" {
		t.Errorf("endpoints (-want, +got):\n%s", diff)
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	if len(ports) != 1 || ports[0].(map[string]any)["name"] != "metrics" {
		t.Errorf("the Service has the ports %v", ports)
	}
}
