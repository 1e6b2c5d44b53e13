// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// lookupTimeout bounds how long it is tried to tell early that an endpoint is denied.
const lookupTimeout = 5 * time.Second

// network is how connections to the agents that users name are made: only where the policy allows it.
func (a *Agents) network(trust *tls.Config) remote.Network {
	return remote.Network{DialContext: a.Egress.DialContext, TLS: trust}
}

// permitted says early that no connection will be made to an endpoint. Whatever it says, each connection is decided on by
// itself: the names of an endpoint may get other addresses at any time.
func (a *Agents) permitted(ctx context.Context, endpoint *v1alpha1.AgentInterface) verdict {
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return verdict{} // whoever makes the client says so
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return denial(a.Egress.Check(ctx, u.Hostname()))
}

// denial is the verdict on an error; none if it is no denial. It is tried again, since the name may get another address.
func denial(err error) verdict {
	var denied *egress.DeniedError
	if !errors.As(err, &denied) {
		return verdict{}
	}
	return verdict{retry: true, problem: &outbox.Problem{Reason: remote.ReasonEgressDenied, Message: remote.Clean(denied.Error())}}
}
