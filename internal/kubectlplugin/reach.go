// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// target is an agent that can be spoken to.
type target struct {
	client   *remote.Client
	endpoint v1alpha1.AgentInterface
	// as says who we are to it.
	as string
	// retention is what its card promises; empty where it promises none.
	retention string
}

// reach makes a client as the operator does, with the user's own rights: the endpoint is that of the spec, else that of the
// card, and credentials go only where the operator would send them. A card that has to be signed is the operator's to verify.
func (t *probing) reach(ctx context.Context, k *cluster, ra *v1alpha1.RemoteAgent) (*target, error) {
	keeper := &credential.Keeper{Live: k, Cluster: k, Clock: clock.RealClock{}}
	creds, err := keeper.For(ctx, ra)
	if err == nil {
		err = creds.Check(ctx)
	}
	if problem := credential.Explain(ra, err); problem != nil {
		return nil, errors.New(problem.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials of RemoteAgent %s: %w", ra.Name, explain(err))
	}
	out := &target{as: ", without credentials"}
	if creds.Authorize != nil || ra.Spec.TLS != nil && ra.Spec.TLS.ClientCertSecretRef != nil {
		out.as = ", with the credentials that it names"
	}
	network := remote.Network{TLS: creds.TLS}
	if len(ra.Spec.Interfaces) > 0 {
		out.endpoint = ra.Spec.Interfaces[0]
	} else if ra.Spec.Verification != nil {
		if err := verified(ra, out); err != nil {
			return nil, err
		}
	} else if err := t.read(ctx, network, ra, out); err != nil {
		return nil, err
	}
	out.client, err = remote.New(remote.Config{
		Network: network, Interface: out.endpoint, Authorize: creds.Authorize, Renew: creds.Renew,
		// As it would be with the contract that is to be found out: what stands in front of the agent gets the key too.
		Deduplicates: true,
	})
	return out, err
}

// verified takes the endpoint from the status: the operator wrote it there after it had verified the card's signature. A card
// that is read here may be anybody's, and the credentials would go where it says.
func verified(ra *v1alpha1.RemoteAgent, into *target) error {
	if ra.Status.Endpoint == nil || ra.Status.ObservedGeneration != ra.Generation ||
		!meta.IsStatusConditionTrue(ra.Status.Conditions, v1alpha1.ConditionReady) {
		return fmt.Errorf("RemoteAgent %[1]s has spec.verification, and the operator has not verified a card for this spec: "+
			"kubectl wait --for=condition=Ready -n %[2]s remoteagent/%[1]s waits for it, and kubectl describe says what is wrong", ra.Name, ra.Namespace)
	}
	into.endpoint = *ra.Status.Endpoint
	if d := ra.Status.Deduplication; d != nil && d.Source == v1alpha1.DeduplicationAgentCard && d.Retention != nil {
		into.retention = d.Retention.Duration.String()
	}
	return nil
}

// read takes the endpoint from the agent's card.
func (t *probing) read(ctx context.Context, n remote.Network, ra *v1alpha1.RemoteAgent, into *target) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	card, err := remote.FetchCard(ctx, n, ra.Spec.CardURL)
	if err != nil {
		return fmt.Errorf("spec.cardURL of RemoteAgent %s, as seen from this machine: %w", ra.Name, err)
	}
	if into.endpoint, err = remote.SelectInterface(card, ra.Spec.CardURL, remote.OriginsOf(ra)); err != nil {
		return err
	}
	if retention, ok := remote.Retention(card); ok {
		into.retention = retention.String()
	}
	return nil
}
