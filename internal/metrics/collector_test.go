// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// shelf is a reader of a few objects, as the cache is one of many.
type shelf struct {
	client.Reader
	agents      []v1alpha1.RemoteAgent
	delegations []v1alpha1.Delegation
}

func (s *shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.RemoteAgentList:
		l.Items = s.agents
	case *v1alpha1.DelegationList:
		for _, d := range s.delegations {
			if len(Delivery(&d)) > 0 {
				l.Items = append(l.Items, d)
			}
		}
	}
	return nil
}

func agentIs(name string, status metav1.ConditionStatus) v1alpha1.RemoteAgent {
	ra := v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: name, UID: types.UID(name)}}
	ra.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status}}
	return ra
}

// delegationTo is a Delegation of the namespace team, created so many seconds after the epoch.
func delegationTo(agent string, phase v1alpha1.Phase, reason string, created int64) v1alpha1.Delegation {
	d := v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "team", CreationTimestamp: metav1.Unix(created, 0)}}
	d.Spec.AgentRef = v1alpha1.AgentReference{Namespace: "books", Name: agent}
	d.Spec.DeliveryDeadline.Duration = 72 * time.Hour
	d.Status.Phase = phase
	d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
	return d
}

func booksState(*testing.T) *State { return booksStateOf(shard.Shard{}) }

func booksStateOf(part shard.Shard) *State {
	expires := delegationTo("finance", v1alpha1.PhasePending, "AgentNotReady", 700)
	expires.Spec.NotAfter = &metav1.Time{Time: time.Unix(1000, 0)}
	s := &shelf{
		agents: []v1alpha1.RemoteAgent{agentIs("finance", metav1.ConditionTrue), agentIs("audit", metav1.ConditionFalse)},
		delegations: []v1alpha1.Delegation{
			delegationTo("finance", v1alpha1.PhasePending, "Suspended", 100),
			delegationTo("finance", v1alpha1.PhasePending, "TargetNotFinished", 200),
			delegationTo("finance", v1alpha1.PhaseSending, "ConnectionRefused", 500),
			expires,
			delegationTo("finance", v1alpha1.PhaseCompleted, "Completed", 50),
			delegationTo("finance", v1alpha1.PhaseCompleted, "Completed", 60),
			delegationTo("finance", v1alpha1.PhaseUnknown, "OutcomeUnknown", 70),
			delegationTo("made-up-1", "", "", 900),
			delegationTo("made-up-2", v1alpha1.PhasePending, "AgentNotFound", 800),
		},
	}
	for i := range s.delegations {
		s.delegations[i].Name = fmt.Sprintf("d-%d", i)
	}
	return stateOf(s, part, func() map[types.UID]courier.Load {
		return map[types.UID]courier.Load{"finance": {InFlight: 2, Queued: 5}}
	})
}

// stateOf counts what is on the shelf.
func stateOf(s *shelf, part shard.Shard, calls func() map[types.UID]courier.Load) *State {
	state := &State{Client: s, Calls: calls, Shard: part, Delegations: func(context.Context, toolscache.ResourceEventHandler) error { return nil }}
	for i := range s.delegations {
		state.counted().OnAdd(&s.delegations[i], true)
	}
	return state
}

// What changes its phase is counted under the new one, and what goes, seen or not, is not counted any more.
func TestCensus(t *testing.T) {
	c := &census{}
	sending, working := delegationTo("finance", v1alpha1.PhaseSending, "", 1), delegationTo("finance", v1alpha1.PhaseWorking, "", 1)
	gone := delegationTo("audit", v1alpha1.PhaseCompleted, "", 1)
	c.OnAdd(&sending, true)
	c.OnAdd(&gone, false)
	c.OnAdd(&gone, false)
	c.OnUpdate(&sending, &working)
	c.OnDelete(&gone)
	c.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "team/gone", Obj: &gone})
	c.OnAdd("no Delegation", false)
	if got, want := c.groups(), map[group]int{groupOf(&working): 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestState(t *testing.T) {
	const want = `
# HELP a2a_delegation_agent_ready 1 where messages can be sent to a RemoteAgent, 0 where not.
# TYPE a2a_delegation_agent_ready gauge
a2a_delegation_agent_ready{agent="audit",namespace="books"} 0
a2a_delegation_agent_ready{agent="finance",namespace="books"} 1
# HELP a2a_delegation_calls_in_flight Calls to an agent that are out, or wait for their turn by its rate.
# TYPE a2a_delegation_calls_in_flight gauge
a2a_delegation_calls_in_flight{agent="audit",namespace="books"} 0
a2a_delegation_calls_in_flight{agent="finance",namespace="books"} 2
# HELP a2a_delegation_calls_queued Calls to an agent that wait for a place.
# TYPE a2a_delegation_calls_queued gauge
a2a_delegation_calls_queued{agent="audit",namespace="books"} 0
a2a_delegation_calls_queued{agent="finance",namespace="books"} 5
# HELP a2a_delegation_delegations Delegations there are, by the namespace they are in, their phase, and the shard that works on them.
# TYPE a2a_delegation_delegations gauge
a2a_delegation_delegations{agent="",client="team",namespace="",phase="Pending",shard="0"} 2
a2a_delegation_delegations{agent="finance",client="team",namespace="books",phase="Completed",shard="0"} 2
a2a_delegation_delegations{agent="finance",client="team",namespace="books",phase="Pending",shard="0"} 3
a2a_delegation_delegations{agent="finance",client="team",namespace="books",phase="Sending",shard="0"} 1
a2a_delegation_delegations{agent="finance",client="team",namespace="books",phase="Unknown",shard="0"} 1
# HELP a2a_delegation_next_deadline_timestamp_seconds When the next Delegation that was not delivered becomes one that never is.
# TYPE a2a_delegation_next_deadline_timestamp_seconds gauge
a2a_delegation_next_deadline_timestamp_seconds{agent="",namespace=""} 260000
a2a_delegation_next_deadline_timestamp_seconds{agent="finance",namespace="books"} 1000
# HELP a2a_delegation_oldest_undelivered_timestamp_seconds When the oldest Delegation was created that is to be delivered and waits for nothing but the agent.
# TYPE a2a_delegation_oldest_undelivered_timestamp_seconds gauge
a2a_delegation_oldest_undelivered_timestamp_seconds{agent="",namespace=""} 800
a2a_delegation_oldest_undelivered_timestamp_seconds{agent="finance",namespace="books"} 500
# HELP a2a_delegation_shards How many shards there are to be, by the managers that work, each as one of them.
# TYPE a2a_delegation_shards gauge
a2a_delegation_shards{shard="0"} 1
`
	if err := testutil.CollectAndCompare(booksState(t), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// Of two shards each reports what is its own, so that the sums are those of one manager; its calls are its own in any case.
func TestStateOfShards(t *testing.T) {
	whole := totals(t, booksState(t))
	sums := map[string]float64{}
	for _, of := range []string{"0/2", "1/2"} {
		part, err := shard.Parse(of)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range totals(t, booksStateOf(part)) {
			sums[name] += n
		}
	}
	for _, name := range []string{"a2a_delegation_delegations", "a2a_delegation_agent_ready"} {
		if sums[name] != whole[name] || whole[name] == 0 {
			t.Errorf("%s: the shards have %v together; want %v", name, sums[name], whole[name])
		}
	}
	if name := "a2a_delegation_shards"; sums[name] != 4 {
		t.Errorf("%s: %v; want 2 from each of 2", name, sums[name])
	}
	if name := "a2a_delegation_calls_queued"; sums[name] != 2*whole[name] {
		t.Errorf("%s: %v; want the calls of each, %v", name, sums[name], 2*whole[name])
	}
}

// totals are the sums of the gauges.
func totals(t *testing.T, s *State) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out[f.GetName()] += m.GetGauge().GetValue()
		}
	}
	return out
}

// It is registered while it runs, and a second one in the same process does no harm.
func TestStateRuns(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		s := booksState(t)
		s.Registry = registry
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Start(ctx) }()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n, err := testutil.GatherAndCount(registry); n != 0 || err != nil {
			t.Errorf("%d series are left, %v", n, err)
		}
	}
}

// BenchmarkScrape is one scrape with 20,000 Delegations of 50 agents.
func BenchmarkScrape(b *testing.B) {
	s := &shelf{}
	for i := range 50 {
		s.agents = append(s.agents, agentIs(fmt.Sprint("agent-", i), metav1.ConditionTrue))
	}
	for i := range 20_000 {
		s.delegations = append(s.delegations, delegationTo(fmt.Sprint("agent-", i%50), v1alpha1.PhasePending, "AgentNotReady", int64(i)))
	}
	state := stateOf(s, shard.Shard{}, courier.NewPool().Load)
	b.ReportAllocs()
	for b.Loop() {
		testutil.CollectAndCount(state)
	}
}
