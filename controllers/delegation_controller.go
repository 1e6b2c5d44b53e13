// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/shard"
	"github.com/delegation-dev/delegation-operator/internal/tracing"
)

const (
	// maxSteps bounds the actions of one Reconcile. A Delegation needs at most three in a row: what a call proved, what
	// it waits for now, and the wait. More would be a decision that does not come to rest.
	maxSteps = 8
	// staleRetry is how long a Delegation rests whose write found a newer version of it. The event of that version
	// normally comes first.
	staleRetry = 200 * time.Millisecond
)

// DelegationReconciler moves Delegations forward.
type DelegationReconciler struct {
	// Client reads from the cache and waits until the cache shows this process's own writes.
	Client client.Client
	// Live reads from the API server: Secrets and ConfigMaps are not cached.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Self names this process; every start of a process has its own name.
	Self string
	// Shard is the part of the Delegations that this process moves. Conversations and messages reach beyond it: what they
	// need of others is read.
	Shard    shard.Shard
	Agents   *Agents
	Courier  *courier.Courier
	Follower *follow.Follower
	// Push is what agents are told of where to push; nil where nothing takes their pushes.
	Push *push.Offer
	// Tracer tells of what is done for a Delegation; nil for nobody.
	Tracer *tracing.Tracer
	// heeded has the hints, by UID, that were followed up. Losing it to a restart costs a look.
	heeded sync.Map
	// uids maps the names of Delegations to their UIDs; those at rest are not in it.
	uids sync.Map
	// outdated has the resourceVersion of a Delegation, by UID, whose journal write found a newer one.
	outdated sync.Map
}

// step is what an action leaves to do: another decision, or to end the Reconcile with a result.
type step struct {
	done   bool
	result ctrl.Result
}

// Reconcile decides and acts until the Delegation has to wait.
func (r *DelegationReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.Shard.Owns(req.NamespacedName) {
		return ctrl.Result{}, nil
	}
	s, err := r.open(ctx, req.NamespacedName)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if r.isOutdated(s.delegation) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	for range maxSteps {
		next, err := r.perform(ctx, s, outbox.Next(r.input(s)))
		switch {
		case apierrors.IsNotFound(err):
			return ctrl.Result{}, nil
		case apierrors.IsConflict(err):
			return ctrl.Result{RequeueAfter: staleRetry}, nil
		case err != nil:
			return ctrl.Result{}, err
		case next.done:
			return next.result, nil
		}
	}
	return ctrl.Result{}, fmt.Errorf("no rest after %d actions", maxSteps)
}

// perform carries out one action.
func (r *DelegationReconciler) perform(ctx context.Context, s *scope, action outbox.Action) (step, error) {
	switch a := action.(type) {
	case outbox.Send:
		r.send(s, a)
		return step{done: true}, nil
	case outbox.Ask:
		r.ask(s, a)
		return step{done: true}, nil
	case outbox.Record:
		if s.trimmed {
			return step{}, r.complete(ctx, s)
		}
		return step{}, r.record(ctx, s, a)
	case outbox.Follow:
		return step{done: true, result: r.follow(s, a)}, nil
	case outbox.Claim:
		return step{}, r.claim(ctx, s, a)
	case outbox.Delete:
		return step{done: true}, r.delete(ctx, s)
	case outbox.Release:
		return step{done: true}, r.release(ctx, s, a)
	case outbox.Wait:
		return step{done: true, result: r.wait(s, a)}, nil
	}
	return step{}, fmt.Errorf("action %T is not known", action)
}

// wait ends the pass until a time or an event. A task that is done is followed no more, and one whose agent can't be used is
// not followed until it can: the follower would go on with the client, and the credentials, of before.
func (r *DelegationReconciler) wait(s *scope, a outbox.Wait) ctrl.Result {
	unusable := s.agent.Problem != nil && !s.agent.Problem.Transient
	if unusable || s.delegation.Status.Phase.Finished() {
		r.Follower.Drop(s.delegation.UID)
	}
	if s.running == outbox.CallNone && s.result == nil && atRest(s.delegation) {
		r.forget(s.key().NamespacedName)
	}
	result := r.at(a.Until)
	if again := s.agent.recheck; again > 0 && (result.RequeueAfter == 0 || result.RequeueAfter > again) {
		result.RequeueAfter = again
	}
	return result
}

// at turns a time into a delay; the zero time waits for an event.
func (r *DelegationReconciler) at(t time.Time) ctrl.Result {
	if t.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(t.Sub(r.Clock.Now()), time.Millisecond)}
}

// follow hands a task to the follower. What was seen of it is no news any more.
func (r *DelegationReconciler) follow(s *scope, a outbox.Follow) ctrl.Result {
	if s.result != nil && s.result.Outcome == outbox.Accepted {
		r.Courier.Recorded(s.delegation.UID, s.result)
	}
	updates, at := s.agent.updates, time.Time{}
	if known := s.delegation.Status.StateTimestamp; known != nil {
		at = known.Time
	}
	subject := follow.Subject{
		Key: s.key(), TaskID: a.TaskID, State: s.delegation.Status.State, Timestamp: at,
		Agent: s.agent.client, Lister: s.agent.client, AgentID: s.agent.id, Limits: s.agent.limits,
		AgentName:   s.delegation.AgentKey(),
		MinInterval: updates.PollInterval.Duration,
		MaxInterval: max(updates.MaxPollInterval.Duration, updates.PollInterval.Duration),
	}
	if s.agent.streams {
		subject.Streams = s.agent.client
	}
	r.Follower.Track(subject)
	r.heed(s.delegation)
	return r.at(a.Until)
}
