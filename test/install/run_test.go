// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// What helm template prints can be applied by other means, and the manager that it describes works, with its flags and rights
// and no others: for some namespaces with Roles only, and credentials from their Secrets.
func TestWhatIsRenderedWorks(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.Space(t)
	s.Kubectl("create", "namespace", harness.OperatorNamespace)
	text := render(t, "--set=namespaces={"+s.Namespace+"},credentials.secrets=All,egress.allow={127.0.0.0/8}")
	s.Kubectl("apply", "--server-side", "-f", write(t, "manifests.yaml", text))
	agent := harness.StartAgent(t, "--bearer-token=right")
	s.StartDeployment(harness.OperatorNamespace, deployment)
	s.Create(s.Secret("credentials", map[string]string{"token": "right"}),
		s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build(), s.Reconciliation("d").Build())
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
}

// Two replicas hold one lease. The one that works ends, and the other goes on.
func TestReplicas(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := p.Space(t)
	p.helm("install", release, chart(t), "--create-namespace", "-f", filepath.Join(chart(t), "values-ha.yaml"), "--set=egress.allow={127.0.0.0/8}")
	agent := harness.StartAgent(t)
	first := s.StartDeployment(harness.OperatorNamespace, deployment)
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("first").Build())
	s.AwaitPhase("first", v1alpha1.PhaseCompleted)
	holder := lease(t, s)
	s.StartDeployment(harness.OperatorNamespace, deployment)
	first.Stop()
	s.Create(s.Reconciliation("second").Build())
	s.AwaitPhase("second", v1alpha1.PhaseCompleted)
	if next := lease(t, s); next == holder {
		t.Errorf("the lease is still held by %s", next)
	}
}

// lease returns who holds it.
func lease(t *testing.T, s *harness.Space) string {
	t.Helper()
	l := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: harness.OperatorNamespace, Name: "delegation-operator.a2a.delegation.dev"}
	if err := s.Client.Get(t.Context(), key, l); err != nil {
		t.Fatal(err)
	}
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

var (
	section = regexp.MustCompile(`(?m)^## (.*)$`)
	block   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// The commands of docs/install.md run as they are, section by section, each on a cluster of its own. Those that need a
// container engine or a cluster's registry are not marked as sh.
func TestTheDocumentedCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := section.FindAllStringSubmatchIndex(string(text), -1)
	run := 0
	for i, at := range sections {
		end := len(text)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		var commands []string
		for _, b := range block.FindAllStringSubmatch(string(text[at[1]:end]), -1) {
			commands = append(commands, b[1])
		}
		if len(commands) == 0 {
			continue
		}
		run++
		t.Run(string(text[at[2]:at[3]]), func(t *testing.T) { runAll(t, commands) })
	}
	if run < 3 {
		t.Errorf("docs/install.md has %d sections with commands", run)
	}
}

// runAll runs commands in a directory that has what they name, one after the other.
func runAll(t *testing.T, commands []string) {
	p := start(t)
	root, dir := harness.Root(t), t.TempDir()
	for _, name := range []string{"charts", "config"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	// As make build-installer writes it.
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dist", "install.yaml"), []byte(kustomized(t, "config/default")), 0o600); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{filepath.Dir(helmBinary(t)), testenv.Assets(t), os.Getenv("PATH")}, string(os.PathListSeparator))
	environment := append(os.Environ(), helmHome(t)...)
	environment = append(environment, "PATH="+path, "KUBECONFIG="+p.kubeconfig, "IMAGE=registry.example.com/delegation-operator", "TAG=v1", "IMG=registry.example.com/delegation-operator:v1")
	for _, c := range commands {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", c)
		cmd.Dir, cmd.Env = dir, environment
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%v\n%s", c, err, out)
		}
	}
}
