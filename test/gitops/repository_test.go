// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// repository is a directory of manifests, as Git has them: without a status and without what the operator wrote.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	return &repository{t: t, dir: t.TempDir()}
}

// commit writes objects, each into a file of its name.
func (r *repository) commit(objects ...client.Object) {
	r.t.Helper()
	for _, o := range objects {
		text, err := yaml.Marshal(manifest(r.t, o))
		if err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(r.path(o), text, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *repository) path(o client.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	return filepath.Join(r.dir, fmt.Sprintf("%s-%s.yaml", kind, o.GetName()))
}

// longForm is how Go writes hours and minutes.
var longForm = regexp.MustCompile(`: ([0-9]+h)0m0s\n|: ((?:[0-9]+h)?[0-9]+m)0s\n`)

// manifest is what a person writes of an object: no status, no namespace, no field that is the schema's default, and 24h for
// a day.
func manifest(t *testing.T, o client.Object) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Spec       map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(longForm.ReplaceAll(text, []byte(": $1$2\n")), &content); err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"apiVersion": content.APIVersion, "kind": content.Kind, "metadata": map[string]any{"name": o.GetName()}, "spec": content.Spec,
	}
}

// apply applies the repository as a GitOps controller does, server-side, and returns what was printed.
func (r *repository) apply(s *harness.Space) string {
	r.t.Helper()
	return s.Kubectl("apply", "--server-side", "--field-manager=gitops", "-f", r.dir)
}

// ownedCluster is a control plane of one test, which can lose its etcd.
type ownedCluster struct {
	*harness.Cluster
	t       *testing.T
	options controlplane.Options
}

func newOwnedCluster(t *testing.T) *ownedCluster {
	t.Helper()
	c := &ownedCluster{t: t}
	t.Cleanup(func() { c.down(context.WithoutCancel(t.Context())) })
	c.rebuild()
	return c
}

// rebuild brings up a control plane without any object, in place of the one that was there.
func (c *ownedCluster) rebuild() {
	c.t.Helper()
	c.down(c.t.Context())
	dir := c.t.TempDir()
	c.options = controlplane.Options{
		StateDir: dir, Assets: testenv.Assets(c.t), Kubeconfig: filepath.Join(dir, "kubeconfig"), ExitWithCaller: true, UnsafeNoFsync: true, Out: c.t.Output(),
	}
	if err := controlplane.Up(c.t.Context(), c.options); err != nil {
		c.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.options.Kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Cluster = harness.NewCluster(config)
}

func (c *ownedCluster) down(ctx context.Context) {
	if c.options.StateDir == "" {
		return
	}
	if err := controlplane.Down(ctx, c.options); err != nil {
		c.t.Error(err)
	}
	c.options.StateDir = ""
}

// tasks is what the agent has made of each message.
func tasks(agent *harness.Agent) map[string][]string {
	out := map[string][]string{}
	for id, r := range agent.Ledger() {
		out[id] = r.TaskIDs
	}
	return out
}

// requireTasks requires the agent to have the very tasks that it had before, and each message with one body.
func requireTasks(t *testing.T, agent *harness.Agent, before map[string][]string) {
	t.Helper()
	if diff := cmp.Diff(before, tasks(agent)); diff != "" {
		t.Errorf("the agent's tasks, -before +after:\n%s", diff)
	}
	for _, r := range agent.Ledger() {
		if r.Bodies > 1 {
			t.Errorf("%s", r)
		}
	}
}

func settled(d *v1alpha1.Delegation) bool {
	return (d.Status.Phase.Finished() || d.Status.Phase == v1alpha1.PhaseUnknown) && d.Status.ObservedGeneration == d.Generation
}
