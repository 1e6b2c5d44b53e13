// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// startShards starts a manager for each of n shards.
func startShards(s *harness.Space, n int, flags ...string) []*harness.Process {
	var managers []*harness.Process
	for i := range n {
		managers = append(managers, s.StartManager(append(flags, harness.ShardFlag(i, n))...))
	}
	return managers
}

// requireOnce requires of Delegations that each was sent once, and is completed.
func requireOnce(t *testing.T, s *harness.Space, agent *harness.Agent, names []string) {
	t.Helper()
	for _, name := range names {
		d := s.AwaitPhase(name, v1alpha1.PhaseCompleted)
		tasks := 1
		if d.Spec.Continues != nil {
			tasks = 0 // its task is the one that it answers
		}
		if r := agent.Record(d.Spec.MessageID); r.Received != 1 || r.Accepted != tasks {
			t.Errorf("%s; the Delegation: %s", r, harness.Describe(d))
		}
	}
	if n := len(agent.Ledger()); n != len(names) {
		t.Errorf("the agent saw %d messages; want %d", n, len(names))
	}
}

// writers notes which names of a kind a manager writes.
type writers struct {
	mu    sync.Mutex
	names map[string]bool
}

// note counts all writes to a resource but those of a claim, which an answer's owner writes on the one that asks.
func (w *writers) note(resource string, answered func(name string) bool) harness.Around {
	w.names = map[string]bool{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if write, ok := harness.WriteOf(r); ok && strings.HasPrefix(write.Resource, resource) {
				_, path, _ := strings.Cut(r.URL.Path, "/"+resource+"/")
				if name, _, _ := strings.Cut(path, "/"); name != "" && !answered(name) {
					w.mu.Lock()
					w.names[name] = true
					w.mu.Unlock()
				}
			}
			next.ServeHTTP(rw, r)
		})
	}
}

// conversations creates plain Delegations, follow-ups of some of them, and questions with their answers, and returns the names
// and how many references lead to another shard of n.
func conversations(t *testing.T, s *harness.Space, n int) (names []string, across int) {
	t.Helper()
	const plain, refined, asked = 40, 10, 5
	refer := func(d *v1alpha1.Delegation, target string) {
		s.Create(d)
		names = append(names, d.Name)
		if target != "" && s.ShardOf(d.Name, n) != s.ShardOf(target, n) {
			across++
		}
	}
	for i := range plain {
		refer(s.Reconciliation(fmt.Sprintf("d-%d", i)).Build(), "")
	}
	for i := range refined {
		target := fmt.Sprintf("d-%d", i)
		refer(s.Refinement(fmt.Sprintf("r-%d", i), target, "Once more, as a table").File("ledger.csv", harness.LedgerTable).File("bank.csv", harness.BankTable).Build(), target)
	}
	for i := range asked {
		question := fmt.Sprintf("q-%d", i)
		refer(s.Question(question).Build(), "")
		refer(s.Answer(fmt.Sprintf("a-%d", i), question, "approve by Ada").Build(), question)
	}
	return names, across
}

// Three managers share the Delegations of one agent that does not deduplicate. Each writes its own, conversations lead from one
// to another, and each message goes once.
func TestShards(t *testing.T) {
	t.Parallel()
	const n = 3
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=200ms")
	var wrote [n]writers
	for i := range n {
		proxy := s.StartAPIProxy(wrote[i].note("delegations", func(name string) bool { return strings.HasPrefix(name, "q-") }))
		s.StartManagerBehind(proxy, harness.ShardFlag(i, n))
	}
	s.Create(s.RemoteAgent(agent.URL).Build())
	names, across := conversations(t, s, n)
	if across == 0 {
		t.Fatal("no conversation leads to another shard: the test shows nothing")
	}
	requireOnce(t, s, agent, names)
	for i := range n {
		wrote[i].mu.Lock()
		for name := range wrote[i].names {
			if owner := s.ShardOf(name, n); owner != i {
				t.Errorf("shard %d wrote %s, which is shard %d's", i, name, owner)
			}
		}
		t.Logf("shard %d wrote %d Delegations", i, len(wrote[i].names))
		wrote[i].mu.Unlock()
	}
}

// What belongs to a shard whose manager was killed waits, and everything else goes on; with its next start nothing is sent anew.
func TestAShardIsKilled(t *testing.T) {
	t.Parallel()
	const n, dead, each = 3, 1, 30
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=500ms")
	managers := startShards(s, n)
	// Whether the agent has what was out when the manager was killed is to be found out, which this one's list of tasks proves.
	s.Create(s.RemoteAgent(agent.URL).AttemptTimeout(2*time.Second).Lookup(v1alpha1.LookupAuthoritative, time.Second).Build())
	s.AwaitAgentReady(harness.AgentName)
	var names, waiting []string
	add := func(from int) {
		for i := from; i < from+each; i++ {
			names = append(names, fmt.Sprintf("d-%d", i))
			s.Create(s.Reconciliation(fmt.Sprintf("d-%d", i)).Build())
		}
	}
	add(0)
	managers[dead].Kill()
	add(each)
	for _, name := range names[each:] {
		if s.ShardOf(name, n) == dead {
			waiting = append(waiting, name)
			continue
		}
		s.AwaitPhase(name, v1alpha1.PhaseCompleted)
	}
	if len(waiting) == 0 {
		t.Fatal("the dead shard owns nothing: the test shows nothing")
	}
	for _, name := range waiting {
		if d := s.Get(name); d.Status.Phase != "" || d.Annotations[v1alpha1.AttemptAnnotation] != "" {
			t.Errorf("%s was touched while its shard had no manager", harness.Describe(d))
		}
	}
	s.StartManager(harness.ShardFlag(dead, n))
	requireOnce(t, s, agent, names)
}

// The number of shards changes while messages go out, and managers of both numbers run at once: those that believe to own one
// Delegation send it once. The agent neither deduplicates nor says what it has.
func TestTheNumberOfShardsChanges(t *testing.T) {
	t.Parallel()
	const each = 30
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--delay=500ms")
	var names []string
	add := func() {
		for range each {
			name := fmt.Sprintf("d-%d", len(names))
			names = append(names, name)
			s.Create(s.Reconciliation(name).Build())
		}
	}
	before := startShards(s, 2)
	s.Create(s.RemoteAgent(agent.URL).Lookup(v1alpha1.LookupNone, time.Second).Build())
	s.AwaitAgentReady(harness.AgentName)
	add()
	startShards(s, 3)
	add()
	for _, name := range names {
		s.AwaitPhase(name, v1alpha1.PhaseCompleted)
	}
	// All five are at work now: what both own is decided on at the same moment.
	add()
	for _, m := range before {
		m.Stop()
	}
	add()
	requireOnce(t, s, agent, names)
}

// A push goes to any shard: the one that follows the task hears of it through the API server.
func TestPushAcrossShards(t *testing.T) {
	t.Parallel()
	const n, told = 3, 0
	s := cluster.Space(t)
	at := newReceiver(t)
	agent := harness.StartAgent(t, "--push", "--delay=4s")
	for i := range n {
		flags := newReceiver(t).flags
		if i == told {
			flags = at.flags
		}
		flags[1] = at.flags[1] // all tell the agent the same address
		s.StartManager(append(flags, harness.ShardFlag(i, n))...)
	}
	s.Create(s.RemoteAgent(agent.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build())
	s.AwaitAgentReady(harness.AgentName)
	for i := range n {
		name := s.NameIn(i, n, "d")
		s.Create(s.Reconciliation(name).Build())
		// Without the push it would be looked at much later than this waits.
		s.AwaitPhase(name, v1alpha1.PhaseCompleted)
		d := s.Get(name)
		agent.Require(d.Spec.MessageID, 1, 1)
		if hint := d.Annotations[v1alpha1.HintAnnotation]; (hint != "") != (i != told) {
			t.Errorf("of shard %d, which %d told of, the hint is %q", i, told, hint)
		}
	}
}

// A RemoteAgent of one shard waits for the Delegations of another, whose task is canceled, and a time to live ends in each shard.
func TestDeletionAcrossShards(t *testing.T) {
	t.Parallel()
	const n = 3
	s := cluster.Space(t)
	slow, fast := harness.StartAgent(t, "--delay=10m"), harness.StartAgent(t)
	startShards(s, n)
	for i := range n {
		ra := s.RemoteAgent(slow.URL).Named(s.NameIn(i, n, fmt.Sprint("agent-", i))).Build()
		d := s.Reconciliation(s.NameIn((i+1)%n, n, fmt.Sprint("d-", i))).Agent(ra.Name).Build()
		s.Create(ra, d)
		task := s.Await(d.Name, "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" }).Status.TaskID
		s.Delete(ra)
		s.AwaitAgentReason(ra.Name, v1alpha1.ConditionReconciling, "InUse")
		s.Delete(d)
		s.AwaitGone(d)
		s.AwaitGone(ra)
		if state := slow.TaskState(task); state != string(v1alpha1.TaskStateCanceled) {
			t.Errorf("the task of %s is in state %s; want it canceled", d.Name, state)
		}
	}
	s.Create(s.RemoteAgent(fast.URL).Build())
	for i := range n {
		short := s.Reconciliation(s.NameIn(i, n, "short")).MessageID(fmt.Sprint("m-", i)).With(func(spec *v1alpha1.DelegationSpec) {
			spec.TTLSecondsAfterFinished = ptr.To[int32](1)
		}).Build()
		s.Create(short)
		s.AwaitGone(short)
		fast.Require(fmt.Sprint("m-", i), 1, 1)
	}
}

// The runs of a schedule may be of other shards than the schedule.
func TestSchedulesOfShards(t *testing.T) {
	t.Parallel()
	const n, schedules = 3, 9
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	startShards(s, n)
	cron, at := harness.OnceSoon()
	s.Create(s.RemoteAgent(agent.URL).Build())
	for i := range schedules {
		o := s.Schedule(cron, s.Reconciliation(fmt.Sprintf("s-%d", i)).Build())
		o.Spec.ConcurrencyPolicy = []v1alpha1.ConcurrencyPolicy{v1alpha1.ConcurrencyAllow, v1alpha1.ConcurrencyForbid, v1alpha1.ConcurrencyReplace}[i%3]
		s.Create(o)
	}
	for i := range schedules {
		o := s.AwaitSchedule(fmt.Sprintf("s-%d", i), "to have had its run", begun(at))
		requireOneTask(t, s, agent, o, at)
	}
}
