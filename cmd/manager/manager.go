// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/delegation-dev/delegation-operator/controllers"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/shard"
	"github.com/delegation-dev/delegation-operator/internal/streamlist"
	"github.com/delegation-dev/delegation-operator/internal/tracing"
)

const (
	// reconcileTimeout bounds one pass over an object; it makes API calls only.
	reconcileTimeout = 30 * time.Second
	// drainTimeout is how long a stopping manager waits for the answers of what it has sent.
	drainTimeout = 20 * time.Second
	// recordTimeout is how long it takes after that, at the most, to write them down.
	recordTimeout = 8 * time.Second
	agentWorkers  = 4
	// scheduleWorkers are how many DelegationSchedules are looked at once: at midnight many are due.
	scheduleWorkers = 4
)

type options struct {
	leaderElect          bool
	leaderElectNamespace string
	namespaces           string
	shard                shardOptions
	metrics              metricsOptions
	probes               string
	pprof                string
	workers              int
	maxStreams           int
	eventQPS             int

	maxInFlightPerNamespace int
	push                    pushOptions
	egress                  egressOptions
	tracing                 tracingOptions
}

func (o *options) bind(f *flag.FlagSet) {
	f.BoolVar(&o.leaderElect, "leader-elect", false, "Let one of several replicas do the work. Safety does not depend on it.")
	f.StringVar(&o.leaderElectNamespace, "leader-election-namespace", "", "Namespace of the lease; the manager's own when empty, which needs a pod.")
	f.StringVar(&o.namespaces, "namespaces", "", "Namespaces to work in, separated by commas; all when empty.")
	o.shard.bind(f)
	o.metrics.bind(f)
	f.StringVar(&o.probes, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz; 0 for none.")
	f.StringVar(&o.pprof, "pprof-bind-address", "", "Address of Go's profiles at /debug/pprof/, such as 127.0.0.1:6060; none when empty. "+
		"Nobody is asked who they are: a profile has what is in memory, so let only the own machine reach it.")
	o.push.bind(f)
	o.egress.bind(f)
	o.tracing.bind(f)
	f.IntVar(&o.workers, "workers", 8, "Delegations that are decided on at once. Calls to agents don't count: couriers make them.")
	f.IntVar(&o.maxInFlightPerNamespace, "max-in-flight-per-namespace", 0, "Calls for the Delegations of one namespace that are out at once, to all agents; 0 for no limit but the agents'.")
	f.IntVar(&o.eventQPS, "event-qps", 10, "Events that are written in a second, on average, of each type, Normal and Warning; what is left out beyond it is in the objects' status.")
	f.IntVar(&o.maxStreams, "max-streams", follow.DefaultMaxStreams, "Streams of task updates that are open at once, to all agents; 0 for none. Tasks beyond are polled.")
}

func newManager(cfg *rest.Config, o *options) (manager.Manager, error) {
	// The API server's own priority and fairness decides what is too much; a limit in the client only adds latency.
	cfg.QPS = -1
	streamlist.Wrap(cfg)
	part, err := o.shard.parse()
	if err != nil {
		return nil, err
	}
	metrics, err := o.metrics.server()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         controllers.CacheOptions(o.watched()),
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.probes,
		PprofBindAddress:              o.pprof,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              part.Lease("delegation-operator.a2a.delegation.dev"),
		LeaderElectionNamespace:       o.leaderElectNamespace,
		LeaderElectionReleaseOnCancel: true,
		Controller:                    config.Controller{ReconciliationTimeout: reconcileTimeout},
		GracefulShutdownTimeout:       ptr.To(drainTimeout + recordTimeout + tracing.ShutdownTimeout + 2*time.Second),
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	pushing, err := o.push.prepare(cfg, o.push.keyNamespaceOr(o.leaderElectNamespace))
	if err != nil {
		return nil, err
	}
	policy, err := o.egress.policy()
	if err != nil {
		return nil, err
	}
	return mgr, register(mgr, o, part, pushing, policy)
}

func (o *options) watched() map[string]cache.Config {
	if o.namespaces == "" {
		return nil
	}
	out := map[string]cache.Config{}
	for _, ns := range o.namespaceList() {
		out[ns] = cache.Config{}
	}
	return out
}

// namespaceList are the namespaces to work in; none for all.
func (o *options) namespaceList() []string {
	if o.namespaces == "" {
		return nil
	}
	var list []string
	for _, ns := range strings.Split(o.namespaces, ",") {
		list = append(list, strings.TrimSpace(ns))
	}
	return list
}

// register wires the parts together.
func register(mgr manager.Manager, o *options, part shard.Shard, pushing *pushing, policy *egress.Policy) error {
	wall := clock.RealClock{}
	wake := controllers.NewWake()
	pool := courier.NewPool()
	pool.LimitTenants(part.Share(o.maxInFlightPerNamespace))
	couriers := courier.New(pool, wall, wake.Add)
	follower := follow.New(pool, wall, couriers.Deliver, follow.WithMaxStreams(o.maxStreams))
	// Past the cache, so that no Secret is held in it; tokens and reviews are no objects.
	direct, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	own, err := learn(context.Background(), direct, o.namespaceList())
	if err != nil {
		return err
	}
	if !own.watchesSecrets {
		ctrl.Log.Info("Secrets are not watched, for want of the right to list them: what waits for one is looked at once a minute", "user", own.user)
	}
	keeper := &credential.Keeper{
		Live: mgr.GetAPIReader(), Cluster: direct, Clock: clock.RealClock{}, DialContext: policy.DialContext, Operator: own.user,
	}
	agents := &controllers.Agents{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Credentials: keeper, Egress: policy, Pool: pool, Shard: part, Namespaces: o.namespaceList(), UnwatchedSecrets: !own.watchesSecrets,
	}
	name := self()
	tracer, err := o.tracing.tracer(name)
	if err != nil {
		return err
	}
	delegations := &controllers.DelegationReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: controllers.LimitEvents(mgr.GetEventRecorder("delegation-operator"), o.eventQPS),
		Clock: wall, Self: name, Shard: part, Tracer: tracer, Agents: agents, Courier: couriers, Follower: follower, Push: pushing.offer(),
	}
	if err := delegations.SetupWithManager(mgr, wake, o.workers); err != nil {
		return err
	}
	remoteAgents := &controllers.RemoteAgentReconciler{
		Client: mgr.GetClient(), Clock: wall, Agents: agents, Shard: part,
	}
	if err := remoteAgents.SetupWithManager(mgr, agentWorkers); err != nil {
		return err
	}
	schedules := &controllers.ScheduleReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: delegations.Recorder, Clock: wall, Shard: part,
	}
	if err := schedules.SetupWithManager(mgr, scheduleWorkers); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(follower.Start)); err != nil {
		return err
	}
	if err := pushing.serve(mgr, follower, part); err != nil {
		return err
	}
	if err := mgr.Add(&metrics.State{
		Client: mgr.GetClient(), Delegations: metrics.Informed(mgr.GetCache()), Calls: pool.Load, Shard: part, Registry: ctrlmetrics.Registry,
	}); err != nil {
		return err
	}
	return mgr.Add(drain{pool: pool, couriers: couriers, delegations: delegations, tracer: tracer})
}

// self names this process. The pod's name is for people; the random part makes every start another holder.
func self() string {
	host, err := os.Hostname()
	if err != nil {
		host = "manager"
	}
	return host + "_" + uuid.NewString()
}

// drain lets what is out come home when the manager stops, so that a rolling update loses no answer.
type drain struct {
	pool        *courier.Pool
	couriers    *courier.Courier
	delegations *controllers.DelegationReconciler
	tracer      *tracing.Tracer
}

// Start waits for the end of the manager, which stops this before the controllers and the cache. A controller may be at
// the same Delegation; then one of the two writes conflicts, and both would have written the same.
func (d drain) Start(ctx context.Context) error {
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	d.pool.Drain(waiting)
	bounded, done := context.WithTimeout(ctx, recordTimeout)
	defer done()
	for _, name := range d.couriers.Unrecorded() {
		if _, err := d.delegations.Reconcile(bounded, ctrl.Request{NamespacedName: name}); err != nil {
			ctrl.Log.Error(err, "the answer of an agent could not be recorded; it is recovered after the next start", "namespace", name.Namespace, "delegation", name.Name)
		}
	}
	if err := d.tracer.Shutdown(ctx); err != nil {
		ctrl.Log.V(1).Info("the collector did not take the last spans", "error", err.Error())
	}
	return nil
}

// NeedLeaderElection puts the drain into the group that stops first.
func (d drain) NeedLeaderElection() bool { return false }
