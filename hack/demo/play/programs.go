// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/hack/cluster/controlplane"
)

const (
	managerName = "manager"
	agentName   = "finance-agent"
	// exampleLabel marks the samples.
	exampleLabel = "a2a.delegation.dev/example"

	startTimeout = 15 * time.Second
)

// startPrograms starts the operator and the agent. Those of an earlier demo go first, and what it delegated with them.
func (d *demo) startPrograms(ctx context.Context) error {
	if err := d.stopPrograms(); err != nil {
		return err
	}
	if err := d.start(managerName, "--kubeconfig="+d.Cluster.Kubeconfig, "--health-probe-bind-address=0", "--egress-allow=127.0.0.0/8"); err != nil {
		return err
	}
	if err := d.clean(ctx); err != nil {
		return err
	}
	return d.startAgent(ctx, "--lose-responses=1", "--delay=3s")
}

func (d *demo) stopPrograms() error {
	return errors.Join(
		controlplane.StopProgram(d.programs(), managerName),
		controlplane.StopProgram(d.programs(), agentName),
	)
}

// programs are kept apart from the control plane's own.
func (d *demo) programs() controlplane.Options {
	o := d.Cluster
	o.StateDir = d.StateDir
	return o
}

// start runs one of this project's programs in the background.
func (d *demo) start(name string, args ...string) error {
	path := filepath.Join(d.Root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: run `make build`", err)
	}
	shown := []string{d.short(path)}
	for _, arg := range args {
		flag, value, _ := strings.Cut(arg, "=")
		shown = append(shown, flag+"="+d.short(value))
	}
	d.show(append(shown, "&")...)
	return controlplane.StartProgram(d.programs(), controlplane.Program{Name: name, Path: path, Args: args})
}

// startAgent starts the agent on a free port, which it writes into a file, and waits for that.
func (d *demo) startAgent(ctx context.Context, flags ...string) error {
	address := filepath.Join(d.StateDir, "finance-agent.url")
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.start(agentName, append(flags, "--address-file="+address)...); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		url, err := os.ReadFile(address)
		if err != nil {
			return false, controlplane.CheckProgram(d.programs(), agentName)
		}
		d.agent = strings.TrimSpace(string(url))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the agent to listen: %w", err)
	}
	return d.pointSamplesAt(d.agent)
}

// clean deletes what was delegated since an earlier demo, by its user too: all that goes to its agent holds the agent. The
// operator settles each with the agent first; that one has ended and forgotten its tasks, so one without faults stands in
// for it.
func (d *demo) clean(ctx context.Context) error {
	var old v1alpha1.DelegationList
	if err := d.query(ctx, &old, "get", "delegations", "--selector="+exampleLabel); err != nil || len(old.Items) == 0 {
		return err
	}
	d.printf("cleaning up after an earlier demo\n")
	if err := d.startAgent(ctx); err != nil {
		return err
	}
	if err := d.run(ctx, "patch", "remoteagent", "finance", "--type=merge", "--patch", `{"spec":{"cardURL":"`+d.agent+`"}}`); err != nil {
		return err
	}
	// One after the other: a schedule would begin more, and a Delegation is settled with the help of its RemoteAgent.
	for _, what := range [][]string{{"delegationschedules", "--all"}, {"delegations", "--all"}, {"remoteagents", "--selector=" + exampleLabel}} {
		if err := d.run(ctx, "delete", what[0], what[1], "--timeout=60s"); err != nil {
			return fmt.Errorf("%w; to begin from nothing: make demo-down", err)
		}
	}
	return controlplane.StopProgram(d.programs(), agentName)
}

// alive returns an error where a program of the demo has ended.
func (d *demo) alive() error {
	return errors.Join(
		controlplane.CheckProgram(d.programs(), managerName),
		controlplane.CheckProgram(d.programs(), agentName),
	)
}

const overlay = `# The samples, with the agent of this demo.
resources:
- %s
patches:
- target: {kind: RemoteAgent, name: finance}
  patch: |
    - {op: replace, path: /spec/cardURL, value: "%s"}
`

// samples is the directory of the patched samples.
func (d *demo) samples() string { return filepath.Join(d.StateDir, "samples") }

// pointSamplesAt writes a kustomization on top of config/samples.
func (d *demo) pointSamplesAt(url string) error {
	if err := os.MkdirAll(d.samples(), 0o700); err != nil {
		return err
	}
	// A kustomization can't name another by an absolute path, and names it by what links lead to.
	from, err := filepath.EvalSymlinks(d.samples())
	if err != nil {
		return err
	}
	to, err := filepath.EvalSymlinks(filepath.Join(d.Root, "config", "samples"))
	if err != nil {
		return err
	}
	base, err := filepath.Rel(from, to)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.samples(), "kustomization.yaml"), fmt.Appendf(nil, overlay, filepath.ToSlash(base), url), 0o600)
}
