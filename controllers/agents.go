// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	v := contractOf(ra)
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
func contractOf(ra *v1alpha1.RemoteAgent) agentView {
	v := agentView{
		id:      ra.UID,
		limits:  courier.Limits{InFlight: int(ra.Spec.Delivery.MaxInFlight), PerSecond: int(ra.Spec.Delivery.RequestsPerSecond)},
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
	v.Identity = identityOf(ra)
	if d := ra.Status.Deduplication; d != nil && d.Mode == v1alpha1.DeduplicationMessageID && d.Retention != nil {
		v.Deduplicates, v.Retention = true, d.Retention.Duration
	}
	return v
}

// identityOf says where the credentials are from that an agent is shown.
func identityOf(ra *v1alpha1.RemoteAgent) outbox.Identity {
	auth := ra.Spec.Authentication
	switch {
	case auth == nil:
	case auth.Bearer != nil:
		return outbox.Identity{Secret: auth.Bearer.SecretRef.Name}
	case auth.Basic != nil:
		return outbox.Identity{Secret: auth.Basic.SecretRef.Name}
	case auth.APIKey != nil:
		return outbox.Identity{Secret: auth.APIKey.SecretRef.Name}
	case auth.OAuth2 != nil:
		return outbox.Identity{Secret: auth.OAuth2.ClientSecretRef.Name}
	case auth.ServiceAccountToken != nil:
		return outbox.Identity{ServiceAccount: auth.ServiceAccountToken.ServiceAccountName, Audience: auth.ServiceAccountToken.Audience}
	}
	if ra.Spec.TLS != nil && ra.Spec.TLS.ClientCertSecretRef != nil {
		return outbox.Identity{Secret: ra.Spec.TLS.ClientCertSecretRef.Name}
	}
	return outbox.Identity{}
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

// connect gives the view its client.
func (a *Agents) connect(ctx context.Context, ra *v1alpha1.RemoteAgent, v *agentView, leaving bool) error {
	version, problem, err := a.credentialVersion(ctx, ra)
	v.recheck = a.recheck(problem)
	if problem != nil && leaving && a.heldClient(ra, v) {
		return nil
	}
	if err != nil || problem != nil {
		v.Problem = problem
		return err
	}
	v.Credentials = version
	from := fmt.Sprintf("%s/%d/%s/%t/%s", v.Endpoint, ra.Generation, version, v.Deduplicates, ra.Status.Endpoint.ProtocolVersion)
	a.mu.Lock()
	held := a.clients[ra.UID]
	a.mu.Unlock()
	if held != nil && held.made == from {
		v.client = held.Client
		return nil
	}
	made, problem, err := a.dial(ctx, ra, v.Deduplicates)
	v.recheck = a.recheck(problem)
	if err != nil || problem != nil {
		v.Problem = problem
		return err
	}
	v.client, err = a.share(ra.UID, held, &agentClient{Client: made, made: from, endpoint: v.Endpoint})
	return err
}

// errOvertaken says that another worker made a client of another version of a RemoteAgent meanwhile.
var errOvertaken = errors.New("the RemoteAgent or its Secret changed while its client was made")

// share keeps a client for all workers, in the place of the one that was held when it was begun, and returns the one to use.
// Where several workers need one at once the first to be done wins: who used another would use one that is closed when the
// next takes its place, and no stream opens on it.
func (a *Agents) share(agent types.UID, before, made *agentClient) (*remote.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.clients[agent]
	if held != before && held != nil {
		made.Close()
		if held.made != made.made {
			return nil, errOvertaken
		}
		return held.Client, nil
	}
	if a.clients == nil {
		a.clients = map[types.UID]*agentClient{}
	}
	if held != nil {
		held.Close()
	}
	a.clients[agent] = made
	return made.Client, nil
}

// heldClient gives the view the client that was made while the Secret was there: a namespace that is deleted loses its
// Secrets before its tasks are canceled. It is none where it leads to another endpoint than the status names, and where the
// keys of the card may be what is missing: nobody vouches for the endpoint then, and only a RemoteAgent that is going uses it.
func (a *Agents) heldClient(ra *v1alpha1.RemoteAgent, v *agentView) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.clients[ra.UID]
	unvouched := ra.Spec.Verification != nil && ra.DeletionTimestamp == nil
	if held == nil || ra.Status.Endpoint == nil || unvouched || held.endpoint != endpointDigest(ra.Status.Endpoint) {
		return false
	}
	v.client, v.Endpoint = held.Client, held.endpoint
	return true
}

func (a *Agents) dial(ctx context.Context, ra *v1alpha1.RemoteAgent, deduplicates bool) (*remote.Client, *outbox.Problem, error) {
	creds, err := a.Credentials.For(ctx, ra)
	if problem := credential.Explain(ra, err); problem != nil {
		return nil, problem, nil
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := remote.New(remote.Config{
		Network: a.network(creds.TLS), Interface: *ra.Status.Endpoint,
		Authorize: creds.Authorize, Renew: creds.Renew, Deduplicates: deduplicates,
		Limits: remote.Limits{Connections: int(ra.Spec.Delivery.MaxInFlight)},
	})
	if err != nil {
		return nil, &outbox.Problem{Reason: "EndpointUnusable", Message: remote.Clean(err.Error())}, nil
	}
	return c, nil, nil
}

// credentialVersion names what the agent's credentials are made from, by the resourceVersions of the objects that they are
// read from. Only the metadata of these is cached, and where Secrets are not watched it is asked for each time.
func (a *Agents) credentialVersion(ctx context.Context, ra *v1alpha1.RemoteAgent) (string, *outbox.Problem, error) {
	var versions []string
	for _, ref := range credential.References(ra) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.Kind))
		from := a.Client
		if a.UnwatchedSecrets && ref.Kind == credential.KindSecret {
			from = a.Live
		}
		err := from.Get(ctx, types.NamespacedName{Namespace: ra.Namespace, Name: ref.Name}, object)
		switch {
		case apierrors.IsNotFound(err):
			return "", credential.Explain(ra, a.Credentials.Wrong(ra.Namespace, ref, credential.ErrNotFound)), nil
		case apierrors.IsForbidden(err) && ref.Kind == credential.KindSecret:
			return "", credential.Explain(ra, a.Credentials.Wrong(ra.Namespace, ref, credential.ErrUnreadable)), nil
		case err != nil:
			return "", nil, err
		}
		versions = append(versions, object.ResourceVersion)
	}
	return strings.Join(versions, "/"), nil, nil
}

// Forget drops the client and the lane of a RemoteAgent that is gone.
func (a *Agents) Forget(uid types.UID) {
	a.Pool.Forget(uid)
	a.Credentials.Forget(uid)
	a.keys.Forget(uid)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.noPush, uid)
	if held := a.clients[uid]; held != nil {
		held.Close()
		delete(a.clients, uid)
	}
}

// endpointDigest names an endpoint without its text, which may hold secrets in its query.
func endpointDigest(e *v1alpha1.AgentInterface) string {
	sum := sha256.Sum256([]byte(e.URL + "\n" + e.ProtocolBinding + "\n" + e.Tenant))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// reaches reports whether a Delegation's RemoteAgent leads to an endpoint now.
func (a *Agents) reaches(ctx context.Context, d *v1alpha1.Delegation, endpoint string) (bool, error) {
	ra, err := a.agentOf(ctx, d)
	return ra != nil && ra.Status.Endpoint != nil && endpointDigest(ra.Status.Endpoint) == endpoint, err
}
