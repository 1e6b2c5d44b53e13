// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

const (
	// cardRefresh is how often a card that could be read is read again.
	cardRefresh = 10 * time.Minute
	// cardTimeout bounds one reading.
	cardTimeout = 10 * time.Second
	// A card that can't be read is tried again after firstCardRetry, then twice as long each time.
	firstCardRetry = 2 * time.Second
	maxCardRetry   = time.Minute
)

// RemoteAgentReconciler examines RemoteAgents: their credentials, their card, and the endpoint to use.
type RemoteAgentReconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
	Agents *Agents
	// Shard is the part of the RemoteAgents that this process examines. Of the others it holds clients too, and drops them
	// with the object.
	Shard shard.Shard

	mu sync.Mutex
	// failures counts the readings of a card that failed in a row. Losing it only means an earlier try.
	failures map[types.NamespacedName]int
	uids     map[types.NamespacedName]types.UID
}

// Reconcile examines one RemoteAgent and writes its status where it changed.
func (r *RemoteAgentReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ra := &v1alpha1.RemoteAgent{}
	if err := r.Client.Get(ctx, req.NamespacedName, ra); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.remember(req.NamespacedName, ra.UID)
	if !r.Shard.Owns(req.NamespacedName) {
		return ctrl.Result{}, nil
	}
	users, wrote, err := r.protect(ctx, ra)
	if wrote || err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status, retry, err := r.examine(ctx, ra, inUse(users))
	retry = r.sooner(retry, ra)
	if err != nil || equality.Semantic.DeepEqual(ra.Status, *status) {
		return ctrl.Result{RequeueAfter: retry}, err
	}
	ra = ra.DeepCopy()
	ra.Status = *status
	err = r.Client.Status().Update(ctx, ra)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{RequeueAfter: retry}, client.IgnoreNotFound(err)
}

// verdict is what an examination found.
type verdict struct {
	problem *outbox.Problem
	// retry says that the problem may end without a change of the RemoteAgent or its Secret.
	retry bool
}

// examine returns the status that a RemoteAgent should have, and when to look again. One that is being deleted gets no worse,
// since its Secret may be gone before it, and says what keeps it from going.
func (r *RemoteAgentReconciler) examine(ctx context.Context, ra *v1alpha1.RemoteAgent, use *outbox.Problem) (*v1alpha1.RemoteAgentStatus, time.Duration, error) {
	s := ra.Status.DeepCopy()
	s.ObservedGeneration = ra.Generation
	v, err := r.inspect(ctx, ra, s)
	switch {
	case err != nil:
		return nil, 0, err
	case ra.DeletionTimestamp != nil && v.problem != nil:
		s = ra.Status.DeepCopy()
		s.ObservedGeneration = ra.Generation
	default:
		r.conclude(s, v)
	}
	if ra.DeletionTimestamp != nil {
		r.condition(s, v1alpha1.ConditionReconciling, metav1.ConditionTrue, use)
	}
	if err := r.monitor(ctx, ra, s); err != nil {
		return nil, 0, err
	}
	name := client.ObjectKeyFromObject(ra)
	switch {
	case v.retry:
		return s, r.failed(name), nil
	case v.problem == nil:
		r.succeeded(name)
		return s, r.Agents.refresh(ra), nil
	}
	return s, 0, nil
}

// inspect fills in the endpoint, the card and the deduplication.
func (r *RemoteAgentReconciler) inspect(ctx context.Context, ra *v1alpha1.RemoteAgent, s *v1alpha1.RemoteAgentStatus) (verdict, error) {
	if p := selectorProblem(ra); p != nil {
		return verdict{problem: p}, nil
	}
	creds, err := r.Agents.Credentials.For(ctx, ra)
	if err == nil {
		err = creds.Check(ctx)
	}
	if p := credential.Explain(ra, err); p != nil {
		return verdict{problem: p, retry: !r.Agents.watched(err)}, nil
	}
	if err != nil {
		return verdict{}, err
	}
	metrics.ClientCertificate(client.ObjectKeyFromObject(ra), creds.Expires())
	if len(ra.Spec.Interfaces) > 0 {
		s.Endpoint, s.Card = ra.Spec.Interfaces[0].DeepCopy(), nil
		s.Deduplication = deduplication(ra, 0, false)
		s.Limitations = limitations(*s.Endpoint, nil, ra.Spec.Updates.Mode)
		return r.Agents.permitted(ctx, s.Endpoint), nil
	}
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	card, signature, err := r.readCard(ctx, ra, creds)
	if err != nil {
		v, retried := r.Agents.cardProblem(ra, err)
		if v.problem != nil && ra.Spec.Verification != nil && credential.Explain(ra, err) == nil {
			// Nobody vouches for the endpoint any more. That can't be said while the Secret with the keys is wrong: a namespace
			// that is deleted loses it before its tasks are canceled at the endpoint.
			s.Endpoint, s.Card, s.Limitations = nil, nil, nil
		}
		return v, retried
	}
	s.Card = describeCard(card)
	s.Card.Signature = signature
	retention, advertised := remote.Retention(card)
	s.Deduplication = deduplication(ra, retention, advertised)
	endpoint, err := remote.SelectInterface(card, ra.Spec.CardURL, remote.OriginsOf(ra))
	if err != nil {
		s.Endpoint, s.Limitations = nil, nil
		return verdict{retry: true, problem: &outbox.Problem{Reason: "NoUsableInterface", Message: err.Error()}}, nil
	}
	s.Endpoint, s.Limitations = &endpoint, limitations(endpoint, card, ra.Spec.Updates.Mode)
	return r.Agents.permitted(ctx, s.Endpoint), nil
}

// conclude writes the conditions by the rules of kstatus.
func (r *RemoteAgentReconciler) conclude(s *v1alpha1.RemoteAgentStatus, v verdict) {
	reconciling, stalled := (*outbox.Problem)(nil), v.problem
	if v.retry {
		reconciling, stalled = v.problem, nil
	}
	if v.problem == nil {
		r.condition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, &outbox.Problem{Reason: "Ready", Message: "messages can be sent to " + s.Endpoint.URL})
	} else {
		r.condition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, v.problem)
	}
	r.condition(s, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reconciling)
	r.condition(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, stalled)
}

// condition sets a condition, or removes it where there is no reason for it. One that stays keeps its time, so that nothing
// new is no write.
func (r *RemoteAgentReconciler) condition(s *v1alpha1.RemoteAgentStatus, kind string, status metav1.ConditionStatus, why *outbox.Problem) {
	if why == nil {
		meta.RemoveStatusCondition(&s.Conditions, kind)
		return
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: why.Reason, Message: why.Message,
		ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
}

// deduplication in force: what the spec declares, else what the card advertises.
func deduplication(ra *v1alpha1.RemoteAgent, retention time.Duration, advertised bool) *v1alpha1.DeduplicationStatus {
	if d := ra.Spec.Contract.Deduplication; d != nil {
		out := &v1alpha1.DeduplicationStatus{Mode: d.Mode, Source: v1alpha1.DeduplicationDeclared}
		if d.Mode == v1alpha1.DeduplicationMessageID {
			out.Retention = &metav1.Duration{Duration: d.Retention.Duration}
		}
		return out
	}
	out := &v1alpha1.DeduplicationStatus{Mode: v1alpha1.DeduplicationNone, Source: v1alpha1.DeduplicationAgentCard}
	if advertised {
		out.Mode, out.Retention = v1alpha1.DeduplicationMessageID, &metav1.Duration{Duration: retention}
	}
	return out
}

func (r *RemoteAgentReconciler) failed(name types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures == nil {
		r.failures = map[types.NamespacedName]int{}
	}
	n := r.failures[name]
	r.failures[name] = min(n+1, 16)
	return min(firstCardRetry<<n, maxCardRetry)
}

func (r *RemoteAgentReconciler) succeeded(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failures, name)
}

// remember keeps the UID under a name, so that the client of an agent that is gone can be dropped.
func (r *RemoteAgentReconciler) remember(name types.NamespacedName, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uids == nil {
		r.uids = map[types.NamespacedName]types.UID{}
	}
	if old, ok := r.uids[name]; ok && old != uid {
		r.Agents.Forget(old)
	}
	r.uids[name] = uid
}

func (r *RemoteAgentReconciler) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if uid, ok := r.uids[name]; ok {
		r.Agents.Forget(uid)
	}
	metrics.Forget(name)
	delete(r.uids, name)
	delete(r.failures, name)
}
