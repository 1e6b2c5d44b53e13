// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// put creates a Delegation with a status, which no operator is there to change.
func put(t *testing.T, s *harness.Space, d *v1alpha1.Delegation, status v1alpha1.DelegationStatus) {
	t.Helper()
	s.Create(d)
	d.Status = status
	if err := s.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// The exit codes are the same of a look and of a watch, and a watch ends where nothing moves.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	for _, c := range []struct {
		name   string
		status v1alpha1.DelegationStatus
		code   int
	}{
		{"completed", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted}, 0},
		{"failed", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseFailed}, 2},
		{"undelivered", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseUndelivered}, 2},
		{"asks", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseInputRequired, Interruptions: 1, Question: "Which month?"}, 3},
		{"unknown", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseUnknown}, 4},
		{"answered", v1alpha1.DelegationStatus{
			Phase: v1alpha1.PhaseInputRequired, Interruptions: 1, AnsweredBy: &v1alpha1.Claim{Name: "a", UID: "u", Interruption: 1},
		}, 5},
		{"working", v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseWorking, TaskID: "t-1"}, 5},
	} {
		put(t, s, s.Delegation(c.name).With(func(spec *v1alpha1.DelegationSpec) { spec.MessageID = c.name }).Build(), c.status)
		for _, args := range [][]string{{"get", "delegation/" + c.name, "--exit-code"}, {"watch", "dlg/" + c.name, "--timeout=2s"}} {
			if ran := s.Plugin("", args...); ran.Code != c.code {
				t.Errorf("kubectl delegation %q: exit code %d, want %d\n%s", args, ran.Code, c.code, ran.Output)
			}
		}
	}
	if ran := s.Plugin("", "get", "-l", "month=none", "--exit-code"); ran.Code != 0 {
		t.Errorf("where nothing matches the exit code is %d\n%s", ran.Code, ran.Output)
	}
	if ran := s.Plugin("", "get", "-o", "name"); ran.Code != 0 || strings.Count(ran.Stdout, "delegation.a2a.delegation.dev/") != 7 {
		t.Errorf("%+v", ran)
	}
	if ran := s.Plugin("", "watch", "completed", "unknown", "asks"); ran.Code != 4 {
		t.Errorf("of several the worst counts, and the exit code is %d\n%s", ran.Code, ran.Output)
	}
}

// What is wrong on a command line is named, with what to write instead, and nothing is written.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	put(t, s, s.Delegation("done").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted, Artifacts: []v1alpha1.ArtifactStatus{
		{ArtifactID: "1", Name: "twice"}, {ArtifactID: "2", Name: "twice"},
	}})
	put(t, s, s.Delegation("working").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseWorking})
	put(t, s, s.Delegation("asks").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseInputRequired, Interruptions: 1})
	put(t, s, s.Delegation("unknown").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseUnknown})
	const stored = "jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}\n{end}"
	before := s.Kubectl("get", "dlg", "-o", stored)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"nonsense", []string{"there is no command", "--help"}},
		{"create x", []string{"message", "--text"}},
		{"create x --text a", []string{"--agent", "kubectl get remoteagents"}},
		{"create x --agent finance --data [1]", []string{"--data", "JSON object"}},
		{"create x --agent finance --text a --from-configmap september", []string{"--from-configmap", "NAME/KEY"}},
		{"create x --agent finance --text a --not-after soon", []string{"--not-after", "48h"}},
		{"create x --agent finance --text a --on-unknown hope", []string{"--on-unknown", "Resend"}},
		{"create x --agent finance --text a --dry-run=maybe", []string{"--dry-run", "client or server"}},
		{"create x --agent finance --text a -o yml", []string{"yml", "yaml"}},
		{"refine done a -o yml", []string{"yml", "yaml"}},
		{"reply asks a -o yml", []string{"yml", "yaml"}},
		{"cancel working -o yml", []string{"yml", "yaml"}},
		{"resolve unknown --as resend -o yml", []string{"yml", "yaml"}},
		{"create x --agent finance --text a --message-id -", []string{"spec.messageId"}},
		{"create done --agent finance --text a", []string{"already exists", "another name"}},
		{"create x --agent finance --text a --continues a --refines b", []string{"--continues, --refines"}},
		{"reply done a", []string{"refine done"}},
		{"reply asks a --name b", []string{"--name", "--ahead"}},
		{"reply working a", []string{"--ahead"}},
		{"reply missing a", []string{"not found", "kubectl get delegations"}},
		{"resolve done", []string{"--as", "abandon"}},
		{"resolve done --as adopt", []string{"--task"}},
		{"resolve done --as resend", []string{"only Unknown is resolved"}},
		{"tree don", []string{"there is done"}},
		{"watch don", []string{"there is done"}},
		{"watch -l month=none", []string{"--forever"}},
		{"watch done -A", []string{"give either"}},
		{"artifacts done --save=", []string{"--save", "empty"}},
		{"artifacts done --show=", []string{"--show", "empty"}},
		{"artifacts done --show twice", []string{"--show", "2 artifacts", "ids"}},
		{"artifacts done --show x", []string{"--show", "lists them"}},
		{"agent probe missing --yes", []string{"not found", "remoteagents"}},
	} {
		ran := s.Plugin("", strings.Fields(c.args)...)
		if ran.Code != 1 || ran.Stdout != "" {
			t.Errorf("kubectl delegation %s: exit code %d, want 1, and no output\n%s", c.args, ran.Code, ran.Output)
		}
		for _, want := range c.want {
			if !strings.Contains(ran.Stderr, want) {
				t.Errorf("kubectl delegation %s: %q lacks %q", c.args, ran.Stderr, want)
			}
		}
	}
	if after := s.Kubectl("get", "dlg", "-o", stored); after != before {
		t.Errorf("there were %s, and are %s", before, after)
	}
}

// A manifest for Git holds its messageId, and applied twice it is one Delegation.
func TestManifestForGit(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	args := []string{
		"create", "x", "--agent", "finance", "--text", "Hello", "--data", `{"n": 9007199254740993}`, "--accept", "text/csv", "--not-after", "2126-01-01T00:00:00Z",
		"--delivery-deadline", "1h", "--active-deadline", "2h", "--ttl", "24h", "--on-unknown", "resend", "--label", "month=2026-09", "-o", "yaml",
	}
	ran := s.Plugin("", append(args, "--dry-run=client")...)
	if ran.Code != 0 || strings.Contains(ran.Stdout, "status") || strings.Contains(ran.Stdout, "namespace") || ran.Stderr != "" {
		t.Fatalf("%+v", ran)
	}
	d := &v1alpha1.Delegation{}
	if err := yaml.UnmarshalStrict([]byte(ran.Stdout), d); err != nil || len(d.Spec.MessageID) != 36 {
		t.Fatalf("%v: %s", err, ran.Stdout)
	}
	if out := s.Kubectl("get", "dlg", "-o", "name"); out != "" {
		t.Errorf("a dry run created %s", out)
	}
	s.Shell("cat > x.yaml <<'EOF'\n" + ran.Stdout + "EOF\nkubectl apply -f x.yaml; kubectl apply -f x.yaml")
	got := s.Get("x")
	if got.Spec.MessageID != d.Spec.MessageID || got.Spec.OnUnknown != v1alpha1.UnknownResend || got.Labels["month"] != "2026-09" ||
		!strings.Contains(string(got.Spec.Message.Parts[1].Data.Raw), "9007199254740993") || *got.Spec.TTLSecondsAfterFinished != 86400 {
		t.Errorf("%+v", got.Spec)
	}
	if ran := s.Plugin("", append(args, "--dry-run=server", "-n", s.Namespace)...); ran.Code != 1 || !strings.Contains(ran.Stderr, "already exists") {
		t.Errorf("%+v", ran)
	}
	if ran := s.Plugin("- text: from a file\n", "create", "y", "--agent", "other/finance", "-f", "-", "-o", "name"); ran.Stdout != "delegation.a2a.delegation.dev/y\n" {
		t.Errorf("%+v", ran)
	}
	if y := s.Get("y"); y.Spec.AgentRef.Namespace != "other" || !strings.HasPrefix(y.Spec.MessageID, s.Namespace+"/") {
		t.Errorf("the messageId to an agent that is shared is %q", y.Spec.MessageID)
	}
}

// Shells complete what there is in the cluster.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	s.Create(s.RemoteAgent("https://finance.example.com").Build())
	put(t, s, s.Delegation("done").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted})
	put(t, s, s.Delegation("asks").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseInputRequired, Interruptions: 1})
	put(t, s, s.Delegation("unknown").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseUnknown})
	for _, c := range []struct{ args, want string }{
		{"tree,", "asks,done,unknown"}, {"tree,d", "done"}, {"tree,done,", ""}, {"watch,done,", "asks,unknown"}, {"reply,", "asks"}, {"cancel,", "asks,unknown"},
		{"resolve,", "unknown"}, {"resolve,unknown,--as,", "adopt,resend,abandon"}, {"create,x,--agent,", "finance"}, {"agent,probe,", "finance"},
	} {
		ran := s.Plugin("", append([]string{"__complete"}, strings.Split(c.args, ",")...)...)
		lines := strings.Split(strings.TrimSpace(ran.Stdout), "\n")
		if got := strings.Join(lines[:len(lines)-1], ","); got != c.want || ran.Code != 0 {
			t.Errorf("%s completes %q, want %q: %s", c.args, got, c.want, ran.Stderr)
		}
	}
}

// Agents' words do not reach a terminal as commands to it, in whatever form they are printed.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	const evil = "clear\x1b[2J\u009b2J \u202eabc\x07"
	put(t, s, s.Delegation("evil").Text(evil).Build(), v1alpha1.DelegationStatus{
		Phase: v1alpha1.PhaseInputRequired, Interruptions: 1, Question: evil, StateMessage: evil, TaskID: evil,
		Artifacts: []v1alpha1.ArtifactStatus{{ArtifactID: evil, Name: evil, URL: evil, MediaTypes: []string{evil}}},
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "InputRequired", Message: evil, LastTransitionTime: metav1.Now(),
		}},
	})
	for _, args := range []string{
		"get", "tree evil", "watch evil", "artifacts evil", "artifacts evil -o name", "artifacts evil -o json", "get evil -o json", "get -o json",
		"reply evil yes --dry-run=client", "artifacts evil --save " + t.TempDir(),
	} {
		ran := s.Plugin("", strings.Fields(args)...)
		if strings.ContainsAny(ran.Output, "\x1b\u009b\u202e\x07") || ran.Output == "" {
			t.Errorf("kubectl delegation %s prints %q", args, ran.Output)
		}
	}
}
