// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A probe tells how real agents differ, says what it made, and leaves nothing that runs.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	w := newScreens(t, s)
	for _, c := range []struct {
		name  string
		flags []string
		// screen is the file that shows it; empty for none.
		screen string
		want   []string
		tasks  int
	}{
		{"finance", []string{"--bearer-token=t0ken"}, "probe", []string{
			"deduplicates by messageId yes", "keeps the history yes", "takes the client's contextId yes", "lists the message yes", "mode: MessageID", "retention: 72h0m0s",
		}, 1},
		{"forgetful", []string{"--dedup=false"}, "", []string{"deduplicates by messageId no", "mode: None"}, 2},
		{"lying", []string{"--duplicate-tasks"}, "", []string{"deduplicates by messageId no", "mode: None"}, 2},
		{"blind", []string{"--history=false"}, "", []string{"deduplicates by messageId open", "keeps the history no", "lists the message open"}, 1},
		{"lossy", []string{"--lose-responses=1"}, "", []string{"deduplicates by messageId open", "lists the message yes"}, 1},
		{"unlisted", []string{"--status-for=ListTasks:501:-1"}, "", []string{"lists the message no", "taskLookup:\n      mode: None"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			agent := harness.StartAgent(t, c.flags...)
			ra := s.RemoteAgent(agent.URL).Named(c.name)
			if strings.Contains(strings.Join(c.flags, " "), "bearer") {
				agent.Token = "t0ken"
				s.Create(s.Secret("token", map[string]string{"token": "t0ken"}))
				ra.Bearer("token", "token")
			}
			s.Create(ra.Build())
			args := []string{"agent", "probe", c.name, "--yes"}
			var ran harness.Ran
			if c.screen != "" {
				ran = w.run(c.screen, 0, args...)
			} else if ran = s.Plugin("", args...); ran.Code != 0 {
				t.Fatalf("%+v", ran)
			}
			flat := ran.Stdout + strings.Join(strings.Fields(ran.Stdout), " ")
			for _, want := range c.want {
				if !strings.Contains(flat, want) {
					t.Errorf("%q is missing:\n%s", want, ran.Output)
				}
			}
			made := 0
			for id, record := range agent.Ledger() {
				if !strings.HasPrefix(id, "probe-") || record.Received != 2 || record.Bodies != 1 {
					t.Errorf("%s", record)
				}
				for _, task := range record.TaskIDs {
					made++
					if state := agent.TaskState(task); !v1alpha1.TaskState(state).Terminal() || !strings.Contains(ran.Stderr, task) {
						t.Errorf("task %s is left in %s, or is not named:\n%s", task, state, ran.Stderr)
					}
				}
			}
			if made != c.tasks {
				t.Errorf("%d tasks were made, want %d", made, c.tasks)
			}
		})
	}
	w.compare()
}

// Nothing goes out without a yes, and the patch is the user's to apply.
func TestProbeAsksFirst(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.Create(s.RemoteAgent(agent.URL).Build())
	for _, input := range []string{"", "n\n", "\n"} {
		if ran := s.Plugin(input, "agent", "probe", "finance"); ran.Code != 1 || !strings.Contains(ran.Stderr, "nothing was sent") {
			t.Errorf("%+v", ran)
		}
	}
	if records := agent.Ledger(); len(records) != 0 {
		t.Errorf("the agent got %v", records)
	}
	ran := s.Plugin("y\n", "agent", "probe", "finance", "-o", "yaml")
	if ran.Code != 0 || !strings.Contains(ran.Stderr, "deduplicates") || strings.Contains(ran.Stdout, "deduplicates") {
		t.Fatalf("%+v", ran)
	}
	s.Shell("cat > p.yaml <<'EOF'\n" + ran.Stdout + "EOF\nkubectl patch ra finance --type=merge --patch-file p.yaml --dry-run=server")
	if out := s.Kubectl("get", "ra", "finance", "-o", "jsonpath={.spec.contract.deduplication}"); out != "" {
		t.Errorf("it was applied unasked: %s", out)
	}
	if ran := s.Plugin("", "agent", "probe", "finance", "--yes", "--apply", "--retention=24h"); ran.Code != 0 {
		t.Fatalf("%+v", ran)
	}
	if out := s.Kubectl("get", "ra", "finance", "-o", "jsonpath={.spec.contract.deduplication.mode} {.spec.contract.deduplication.retention} {.spec.contract.taskLookup.settle}"); out != "MessageID 24h 1m0s" {
		t.Errorf("the contract is %s", out)
	}
}

// Agents on the SDK answer otherwise than the finance agent.
func TestProbeOfOtherAgents(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	renames := func(call *a2asrv.ExecutorContext) a2a.Event {
		task := harness.AnswerCompletedTask(call).(*a2a.Task)
		task.ContextID = "mine"
		return task
	}
	for name, c := range map[string]struct {
		url  string
		code int
		want string
	}{
		"reply":   {harness.StartInstantAgent(t, harness.AnswerMessage), 0, "the agent answers without a task"},
		"task":    {harness.StartInstantAgent(t, harness.AnswerCompletedTask), 0, "deduplicates by messageId no"},
		"grpc":    {harness.StartInstantGRPCAgent(t, harness.AnswerCompletedTask), 0, "deduplicates by messageId no"},
		"renames": {harness.StartInstantAgent(t, renames), 0, "takes the client's contextId open"},
		"nobody":  {"http://127.0.0.1:1", 1, "spec.cardURL"},
	} {
		s.Create(s.RemoteAgent(c.url).Named(name).Build())
		ran := s.Plugin("", "agent", "probe", name, "--yes", "--timeout=5s")
		if ran.Code != c.code || !strings.Contains(strings.Join(strings.Fields(ran.Output), " "), c.want) {
			t.Errorf("%s: %d, want %d and %q\n%s", name, ran.Code, c.code, c.want, ran.Output)
		}
		t.Logf("%s:\n%s", name, ran.Output)
	}
}

// Where the card has to be signed, only an endpoint that the operator verified gets the message and the credentials.
func TestProbeOfAVerifiedAgent(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, other := harness.StartAgent(t), harness.StartAgent(t)
	ra := s.RemoteAgent(other.URL).With(func(spec *v1alpha1.RemoteAgentSpec) {
		spec.Verification = &v1alpha1.Verification{JWKSURL: "https://keys.example.com/jwks.json"}
	}).Build()
	s.Create(ra)
	refused := func(when string) {
		t.Helper()
		if ran := s.Plugin("", "agent", "probe", ra.Name, "--yes"); ran.Code != 1 || !strings.Contains(ran.Stderr, "kubectl wait --for=condition=Ready") {
			t.Errorf("%s: %+v", when, ran)
		}
	}
	refused("nothing is verified")
	ra.Status.ObservedGeneration, ra.Status.Endpoint = ra.Generation, &v1alpha1.AgentInterface{URL: agent.URL + "/a2a", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}
	status := func(ready metav1.ConditionStatus) {
		t.Helper()
		ra.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready, Reason: "Examined", LastTransitionTime: metav1.Now()}}
		if err := s.Client.Status().Update(t.Context(), ra); err != nil {
			t.Fatal(err)
		}
	}
	status(metav1.ConditionFalse)
	refused("the card that was read last is not signed")
	status(metav1.ConditionTrue)
	if ran := s.Plugin("", "agent", "probe", ra.Name, "--yes"); ran.Code != 0 || !strings.Contains(ran.Stderr, agent.URL) {
		t.Errorf("%+v", ran)
	}
	s.Kubectl("patch", "ra", ra.Name, "--type=merge", `-p={"spec":{"verification":{"jwksURL":"https://keys.example.com/others.json"}}}`)
	refused("the spec is another")
	if len(agent.Ledger()) != 1 || len(other.Ledger()) != 0 {
		t.Errorf("the agent got %v, and the one that nobody vouches for %v", agent.Ledger(), other.Ledger())
	}
}

// What was seen of one endpoint is not written down for another.
func TestProbeOfAnAgentThatMoves(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	moves := func(call *a2asrv.ExecutorContext) a2a.Event {
		s.Kubectl("patch", "ra", harness.AgentName, "--type=merge", `-p={"spec":{"cardURL":"http://127.0.0.1:1/card.json"}}`)
		return harness.AnswerCompletedTask(call)
	}
	s.Create(s.RemoteAgent(harness.StartInstantAgent(t, moves)).Build())
	ran := s.Plugin("", "agent", "probe", harness.AgentName, "--yes", "--apply")
	if ran.Code != 1 || !strings.Contains(ran.Stderr, "it changed meanwhile") || strings.Contains(ran.Stdout, "resourceVersion") {
		t.Errorf("%+v", ran)
	}
	if out := s.Kubectl("get", "ra", harness.AgentName, "-o", "jsonpath={.spec.contract.deduplication}"); out != "" {
		t.Errorf("the contract of the new endpoint is that of the old one: %s", out)
	}
}
