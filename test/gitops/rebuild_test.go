// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// outcome is what a Delegation says after the cluster was rebuilt.
type outcome struct {
	phase       v1alpha1.Phase
	reason      string
	recoveredBy v1alpha1.Recovery
}

var (
	found    = outcome{v1alpha1.PhaseCompleted, "Completed", v1alpha1.RecoveredByLookup}
	sentAnew = outcome{v1alpha1.PhaseCompleted, "Completed", ""}
)

// rebuild is one agent whose work is in Git.
type rebuild struct {
	name  string
	flags []string
	// work is what is in the repository besides the RemoteAgent.
	work func(*harness.Space) []client.Object
	// edit is a commit after the work was done.
	edit func(*v1alpha1.DelegationSpec)
	// want is what each Delegation says in the new cluster.
	want map[string]outcome
	// received is how often the agent gets each message in the new cluster.
	received map[string]int
	// more is how many tasks the new cluster makes: none where the page on guarantees promises it.
	more int
}

// conversation is a question, its answer and a revision of the result.
func conversation(s *harness.Space) []client.Object {
	return []client.Object{
		s.Question("reconcile").MessageID("m-71").Build(),
		s.Answer("approve", "reconcile", "Approve").Data(`{"approve":true}`).MessageID("m-72").Build(),
		s.Refinement("revise", "reconcile", "Leave out bank fees").MessageID("m-73").Build(),
	}
}

func single(s *harness.Space) []client.Object {
	return []client.Object{s.Reconciliation("reconcile").MessageID("m-71").Build()}
}

func withoutMessageID(s *harness.Space) []client.Object {
	return []client.Object{s.Reconciliation("reconcile").Build()}
}

var rebuilds = []rebuild{
	{name: "an agent that deduplicates and keeps the history", work: conversation,
		want: map[string]outcome{"reconcile": found, "approve": found, "revise": found}},
	{name: "an agent that only keeps the history", flags: []string{"--dedup=false"}, work: conversation,
		want: map[string]outcome{"reconcile": found, "approve": found, "revise": found}},
	{name: "an agent that only deduplicates", flags: []string{"--history=false"}, work: single,
		want: map[string]outcome{"reconcile": sentAnew}, received: map[string]int{"m-71": 1}},
	{name: "an agent that has forgotten the messageId and keeps the history", flags: []string{"--retention=1s"}, work: conversation,
		want: map[string]outcome{"reconcile": found, "approve": found, "revise": found}},
	{name: "an agent that has forgotten the messageId, with notAfter", flags: []string{"--retention=1s", "--history=false"}, work: single,
		edit: func(d *v1alpha1.DelegationSpec) { d.NotAfter = &past },
		want: map[string]outcome{"reconcile": {v1alpha1.PhaseUndelivered, "Expired", ""}}},
	{name: "an agent that only keeps the history, with notAfter", flags: []string{"--dedup=false"}, work: single,
		edit: func(d *v1alpha1.DelegationSpec) { d.NotAfter = &past },
		want: map[string]outcome{"reconcile": found}},
	// What the guide warns of.
	{name: "an agent that knows nothing any more, without notAfter", flags: []string{"--dedup=false", "--history=false"}, work: single,
		want: map[string]outcome{"reconcile": sentAnew}, received: map[string]int{"m-71": 1}, more: 1},
	{name: "a manifest without messageId", work: withoutMessageID,
		want: map[string]outcome{"reconcile": sentAnew}, more: 1},
}

// Rebuild from Git: etcd is gone, the manifests are applied to an empty cluster. With a deduplicating agent and with one that
// only keeps history, the tasks at the agent are the same before and after, by count and by id.
func TestRebuildFromGit(t *testing.T) {
	t.Parallel()
	c := newOwnedCluster(t)
	type site struct {
		rebuild
		agent  *harness.Agent
		git    *repository
		before map[string]harness.Record
	}
	sites := make([]*site, 0, len(rebuilds))
	spaces := make([]*harness.Space, 0, len(rebuilds))
	for _, r := range rebuilds {
		s := c.Space(t)
		x := &site{rebuild: r, agent: harness.StartAgent(t, r.flags...), git: newRepository(t)}
		// The retention of the card is in force; the time an attempt may take has to be below it.
		x.git.commit(append(r.work(s), s.RemoteAgent(x.agent.URL).AttemptTimeout(shortAttempt).Build())...)
		x.git.apply(s)
		sites, spaces = append(sites, x), append(spaces, s)
	}
	manager := spaces[0].StartManager("--namespaces", "")
	for i, x := range sites {
		for name := range x.want {
			spaces[i].AwaitPhase(name, v1alpha1.PhaseCompleted)
		}
		if x.edit != nil {
			d := x.work(spaces[i])[0].(*v1alpha1.Delegation)
			x.edit(&d.Spec)
			x.git.commit(d)
			x.git.apply(spaces[i])
		}
		x.before = x.agent.Ledger()
	}
	manager.Stop()
	c.rebuild()
	for i, x := range sites {
		spaces[i] = c.Space(t)
		x.git.apply(spaces[i])
	}
	spaces[0].StartManager("--namespaces", "")
	for i, x := range sites {
		t.Run(x.name, func(t *testing.T) {
			s := spaces[i].In(t)
			for name, want := range x.want {
				d := s.AwaitWithin(time.Minute, name, "to settle", settled)
				if got := (outcome{d.Status.Phase, harness.Ready(d).Reason, d.Status.RecoveredBy}); got != want {
					t.Errorf("%s: %+v; want %+v: %s", name, got, want, harness.Describe(d))
				}
			}
			requireLedger(t, x.before, x.agent.Ledger(), x.received, x.more)
		})
	}
}

// requireLedger compares what the agent saw before and after: the same tasks of the same messages, and no message again but
// where it is said.
func requireLedger(t *testing.T, before, after map[string]harness.Record, received map[string]int, more int) {
	t.Helper()
	made := 0
	for id, now := range after {
		was := before[id]
		made += now.Accepted - was.Accepted
		if more == 0 && !slices.Equal(was.TaskIDs, now.TaskIDs) {
			t.Errorf("message %s: tasks %q before and %q after", id, was.TaskIDs, now.TaskIDs)
		}
		if _, known := before[id]; known && now.Received-was.Received != received[id] {
			t.Errorf("message %s came %d times more; want %d", id, now.Received-was.Received, received[id])
		}
		if now.Bodies > 1 {
			t.Errorf("%s", now)
		}
	}
	if made != more {
		t.Errorf("%d further tasks; want %d", made, more)
	}
}

// A task that is under way is found as well, and followed to its end.
func TestRebuildWhileATaskRuns(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=10m")
	git := newRepository(t)
	git.commit(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("reconcile").MessageID("m-71").Build())
	git.apply(s)
	manager := s.StartManager()
	first := s.Await("reconcile", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	manager.Kill()
	before := tasks(agent)
	wipe(t, s, first)
	git.apply(s)
	s.StartManager()
	again := s.Await("reconcile", "to be found", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	if again.UID == first.UID || again.Status.TaskID != first.Status.TaskID || again.Status.RecoveredBy != v1alpha1.RecoveredByLookup {
		t.Errorf("%s", harness.Describe(again))
	}
	requireTasks(t, agent, before)
	agent.CancelTask(first.Status.TaskID)
	s.AwaitPhase("reconcile", v1alpha1.PhaseCanceled)
}
