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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

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
		Limits: remote.Limits{Connections: a.limits(ra).InFlight},
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
