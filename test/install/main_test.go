// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests the ways to install the operator: the chart with helm itself, on a control plane with a
// kube-controller-manager, and what it installs against what kustomize makes of config.
package install

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	// release is what docs/install.md calls it, which gives the names of config/default.
	release = "delegation-operator"
	// commandTimeout bounds one command of helm or of a shell.
	commandTimeout = 2 * time.Minute
)

// plane is a control plane of a test's own: names of the chart's are the cluster's, so that two can't be in one.
type plane struct {
	*harness.Cluster
	kubeconfig string
	t          *testing.T
}

// start starts one without the CRDs.
func start(t *testing.T) *plane {
	t.Helper()
	dir := t.TempDir()
	o := controlplane.Options{StateDir: dir, Assets: testenv.Assets(t), Kubeconfig: filepath.Join(dir, "kubeconfig"), ExitWithCaller: true, UnsafeNoFsync: true, Out: t.Output()}
	t.Cleanup(func() { _ = controlplane.Down(context.WithoutCancel(t.Context()), o) })
	if err := controlplane.Up(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return &plane{Cluster: harness.NewClusterWith(config, harness.Nothing), kubeconfig: o.Kubeconfig, t: t}
}

// helm runs helm for the release as an administrator.
func (p *plane) helm(args ...string) string {
	p.t.Helper()
	out, err := runHelm(p.t, append(args, "--kubeconfig", p.kubeconfig, "--namespace", harness.OperatorNamespace)...)
	if err != nil {
		p.t.Fatalf("helm %q: %v\n%s", args, err, out)
	}
	return out
}

// runHelm returns what helm printed, its complaints included, and an error where it failed.
func runHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, helmBinary(t), args...)
	cmd.Env = append(os.Environ(), helmHome(t)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// helmHome keeps helm from the settings of who runs the tests.
func helmHome(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	return []string{"HELM_CACHE_HOME=" + dir, "HELM_CONFIG_HOME=" + dir, "HELM_DATA_HOME=" + dir}
}

func helmBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(harness.Root(t), "bin", "tools", "helm")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make bin/tools/helm`", err)
	}
	return path
}

// chart is the chart's directory.
func chart(t *testing.T) string {
	t.Helper()
	return filepath.Join(harness.Root(t), "charts", "delegation-operator")
}

// render returns what the chart makes of values.
func render(t *testing.T, args ...string) string {
	t.Helper()
	return renderAs(t, release, args...)
}

// renderAs does so for a release of another name.
func renderAs(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := runHelm(t, append([]string{"template", name, chart(t), "--namespace", harness.OperatorNamespace}, args...)...)
	if err != nil {
		t.Fatalf("helm template %q: %v\n%s", args, err, out)
	}
	return out
}

// kustomized returns what kustomize makes of a directory of the repository.
func kustomized(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(testenv.Assets(t), "kubectl"), "kustomize", filepath.Join(harness.Root(t), path)).Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v", path, err)
	}
	return string(out)
}

// decode reads objects.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	var list []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		switch {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatal(err)
		case len(u.Object) > 0:
			list = append(list, u)
		}
	}
}

// write makes a file of a test's own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
