// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/jwks"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// Agents knows how to reach the agents that RemoteAgents describe. Its clients are kept between calls, for their
// connections; one whose RemoteAgent, Secret or ConfigMap changed is made anew.
type Agents struct {
	// Client reads from the cache; Live reads from the API server what the cache may not list: Namespaces and Secrets.
	Client client.Reader
	Live   client.Reader
	// Credentials reads Secrets from the API server, and has the tokens that were issued.
	Credentials *credential.Keeper
	// UnwatchedSecrets says that the operator may get single Secrets only, and is told of no change of one.
	UnwatchedSecrets bool
	// Egress says where connections may go; nil for what holds without flags.
	Egress *egress.Policy
	// Namespaces are those that the manager works in; none for all.
	Namespaces []string
	// Shard is this manager's part of the Delegations, and so of what an agent's owner allows.
	Shard shard.Shard
	// Pool has a lane for each agent.
	Pool *courier.Pool

	// keys are those that cards are verified with, where they are published.
	keys jwks.Keeper

	mu      sync.Mutex
	clients map[types.UID]*agentClient
	// noPush has the agents that refused to push, with what they were made from then: they are asked again once that
	// changes. Losing it to a restart costs one more refusal.
	noPush map[types.UID]string
}

type agentClient struct {
	*remote.Client
	// made is what the client was made from, and endpoint where it leads.
	made, endpoint string
}

// agentView is a RemoteAgent as one Delegation sees it.
type agentView struct {
	outbox.Agent
	id      types.UID
	client  *remote.Client
	limits  courier.Limits
	updates v1alpha1.Updates
	// streams says that tasks are listened to.
	streams bool
	// pushes says that the agent may be asked to push; made is the RemoteAgent and the card as they were then.
	pushes bool
	made   string
	// recheck is how soon to look again at one that can't be used although nothing says that it changed; zero for never.
	recheck time.Duration
}

// view returns the agent that a Delegation names. What keeps it from being used is in the view; an error is to be retried.
func (a *Agents) view(ctx context.Context, d *v1alpha1.Delegation) (agentView, error) {
	ra, err := a.agentOf(ctx, d)
	if err != nil {
		return agentView{}, err
	}
	if ra == nil {
		return a.notThere(d), nil
	}
	v, err := a.viewOf(ctx, ra, d)
	if d.UsesForeignAgent() {
		v.Problem = discreet(v.Problem, d.AgentKey())
	}
	return v, err
}

// viewOf returns a RemoteAgent as a Delegation sees it that may use it.
func (a *Agents) viewOf(ctx context.Context, ra *v1alpha1.RemoteAgent, d *v1alpha1.Delegation) (agentView, error) {
	if ra.DeletionTimestamp != nil && !controllerutil.ContainsFinalizer(d, v1alpha1.DeliveryFinalizer) {
		return unusable("AgentNotFound", fmt.Sprintf("RemoteAgent %q in namespace %s is being deleted", ra.Name, ra.Namespace)), nil
	}
	v := a.contractOf(ra)
	v.pushes = pushes(ra) && !a.refusesPush(ra.UID, v.made)
	leaving := d.DeletionTimestamp != nil || ra.DeletionTimestamp != nil
	ready := meta.FindStatusCondition(ra.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil || ra.Status.ObservedGeneration != ra.Generation:
		v.Problem = &outbox.Problem{Reason: "AgentNotReady", Message: fmt.Sprintf("RemoteAgent %q is being examined", ra.Name), Transient: true}
		return v, nil
	case ready.Status != metav1.ConditionTrue && leaving && a.heldClient(ra, &v):
		return v, nil
	case ready.Status != metav1.ConditionTrue || ra.Status.Endpoint == nil:
		v.Problem = &outbox.Problem{Reason: ready.Reason, Message: fmt.Sprintf("RemoteAgent %q is not ready: %s", ra.Name, ready.Message)}
		return v, nil
	}
	v.Endpoint = endpointDigest(ra.Status.Endpoint)
	return v, a.connect(ctx, ra, &v, leaving)
}

func unusable(reason, message string) agentView {
	return agentView{Agent: outbox.Agent{Problem: &outbox.Problem{Reason: reason, Message: message}}}
}

// contractOf copies what the RemoteAgent's owner promised and allows.
func (a *Agents) contractOf(ra *v1alpha1.RemoteAgent) agentView {
	v := agentView{
		id:      ra.UID,
		limits:  a.limits(ra),
		updates: ra.Spec.Updates,
		streams: listens(ra),
		made:    fmt.Sprintf("%d/%s", ra.Generation, cardVersion(ra)),
	}
	v.Lookup = ra.Spec.Contract.TaskLookup.Mode
	if e := ra.Status.Endpoint; e != nil && !remote.Lists(*e) {
		v.Lookup = v1alpha1.LookupNone
	}
	v.Settle = ra.Spec.Contract.TaskLookup.Settle.Duration
	v.NamesContexts = ra.Spec.Contract.ContextID == v1alpha1.ContextIDServer
	v.TakesWhileWorking = ra.Spec.Contract.WhileWorking == v1alpha1.WhileWorkingSend
	v.AttemptTimeout = ra.Spec.Delivery.AttemptTimeout.Duration
	v.Shared = opens(ra)
	v.Identity = credential.Identity(ra)
	if d := ra.Status.Deduplication; d != nil && d.Mode == v1alpha1.DeduplicationMessageID && d.Retention != nil {
		v.Deduplicates, v.Retention = true, d.Retention.Duration
	}
	return v
}

// listens reports whether an agent's tasks are listened to.
func listens(ra *v1alpha1.RemoteAgent) bool {
	switch ra.Spec.Updates.Mode {
	case v1alpha1.UpdatesSubscribe:
		return true
	case v1alpha1.UpdatesPoll, v1alpha1.UpdatesPush:
		return false
	}
	return ra.Status.Card != nil && ra.Status.Card.Streaming
}

// reaches reports whether a Delegation's RemoteAgent leads to an endpoint now.
func (a *Agents) reaches(ctx context.Context, d *v1alpha1.Delegation, endpoint string) (bool, error) {
	ra, err := a.agentOf(ctx, d)
	return ra != nil && ra.Status.Endpoint != nil && endpointDigest(ra.Status.Endpoint) == endpoint, err
}
