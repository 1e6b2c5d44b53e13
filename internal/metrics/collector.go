// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// scrapeTimeout bounds one look at the cache.
const scrapeTimeout = 5 * time.Second

var (
	delegations = desc("delegations", "Delegations there are, by the namespace they are in, their phase, and the shard that works on them.", "client", "phase", "shard")
	ready       = desc("agent_ready", "1 where messages can be sent to a RemoteAgent, 0 where not.")
	oldest      = desc("oldest_undelivered_timestamp_seconds", "When the oldest Delegation was created that is to be delivered and waits for nothing but the agent.")
	deadline    = desc("next_deadline_timestamp_seconds", "When the next Delegation that was not delivered becomes one that never is.")
	inFlight    = desc("calls_in_flight", "Calls to an agent that are out, or wait for their turn by its rate.")
	queued      = desc("calls_queued", "Calls to an agent that wait for a place.")
	shards      = prometheus.NewDesc(prefix+"shards", "How many shards there are to be, by the managers that work, each as one of them.", []string{"shard"}, nil)
)

func desc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels(more...), nil)
}

// State is read at each scrape: what is in the cache, and the queues of the couriers. Only how many Delegations there are is
// kept in between. Of several shards each reports its own objects and its own calls, so that sums over them are right.
type State struct {
	// Client reads from the cache.
	Client client.Reader
	// Delegations has a handler told of all Delegations, of those that are there before it returns; see Informed.
	Delegations func(context.Context, toolscache.ResourceEventHandler) error
	// Calls tells of the calls to each agent, by the UID of its RemoteAgent.
	Calls func() map[types.UID]courier.Load
	// Shard is the part of the objects that this process reports.
	Shard shard.Shard
	// Registry is where it is registered while it runs.
	Registry prometheus.Registerer

	census census
}

// Start offers the state for as long as this process is the one that works: of several replicas with leader election one
// reports it. Where it is registered already, that one goes on.
func (s *State) Start(ctx context.Context) error {
	// The end may come before all are counted.
	if err := s.Delegations(ctx, s.counted()); err != nil && ctx.Err() == nil {
		return err
	}
	if err := s.Registry.Register(s); err != nil {
		if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			return nil
		}
		return err
	}
	<-ctx.Done()
	s.Registry.Unregister(s)
	return nil
}

// counted has the census told of this shard's Delegations.
func (s *State) counted() toolscache.ResourceEventHandler {
	return toolscache.FilteringResourceEventHandler{Handler: &s.census, FilterFunc: func(object any) bool {
		name, err := toolscache.DeletionHandlingObjectToName(object)
		return err == nil && s.Shard.Owns(types.NamespacedName{Namespace: name.Namespace, Name: name.Name})
	}}
}

// Describe implements prometheus.Collector.
func (*State) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{delegations, ready, oldest, deadline, inFlight, queued, shards} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Objects are not copied, and the cache is not waited for.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	agents, list := &v1alpha1.RemoteAgentList{}, &v1alpha1.DelegationList{}
	err := s.Client.List(ctx, agents, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err == nil {
		err = s.Client.List(ctx, list, client.MatchingFields{ByDelivery: Undelivered}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		ch <- prometheus.NewInvalidMetric(delegations, err)
		return
	}
	t := newTally(agents)
	for i := range list.Items {
		if d := &list.Items[i]; s.Shard.Owns(client.ObjectKeyFromObject(d)) {
			t.add(d)
		}
	}
	own := strconv.Itoa(s.Shard.Index())
	t.emit(ch, s.census.groups(), own)
	ch <- prometheus.MustNewConstMetric(shards, prometheus.GaugeValue, float64(s.Shard.Count()), own)
	s.agents(ch, agents)
}

func (s *State) agents(ch chan<- prometheus.Metric, agents *v1alpha1.RemoteAgentList) {
	calls := s.Calls()
	for i := range agents.Items {
		ra := &agents.Items[i]
		c := calls[ra.UID]
		numbers := map[*prometheus.Desc]int{inFlight: c.InFlight, queued: c.Queued}
		if s.Shard.Owns(client.ObjectKeyFromObject(ra)) {
			numbers[ready] = 0
			if meta.IsStatusConditionTrue(ra.Status.Conditions, v1alpha1.ConditionReady) {
				numbers[ready] = 1
			}
		}
		for d, n := range numbers {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), ra.Namespace, ra.Name)
		}
	}
}
