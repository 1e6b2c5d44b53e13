// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential knows who the operator is to an agent, and whom it trusts to be the agent. It reads the Secrets and
// ConfigMaps that a RemoteAgent names, all in the RemoteAgent's own namespace, and gets and keeps the tokens that others
// issue.
//
// What is secret stands in no error of this package.
package credential

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Credentials are what the client of one agent needs. They stay as they were read, except for the tokens that they get; what
// has changed since is in the next ones.
type Credentials struct {
	// TLS configures HTTPS; nil for the default.
	TLS *tls.Config
	// Authorities are certificates in PEM that the RemoteAgent names; nil where only the system's count.
	Authorities []byte
	// Authorize puts the credentials on a request; nil without any. Its errors are fit to be shown. Where a token has to be
	// got first, it waits for it as long as the request's context allows, and the token comes to the next request if that
	// was too short.
	Authorize func(*http.Request) error
	// Renew is told the headers of a request that was answered 401, and reports whether Authorize has others now; nil where
	// it never has.
	Renew func(rejected http.Header) bool

	tokens *tokens
}

// Check gets a token from the cluster where one is needed and none is held, so that what is wrong about it is known before a
// message is to be sent. Token endpoints are not asked before.
func (c Credentials) Check(ctx context.Context) error {
	if c.tokens == nil || !c.tokens.checked {
		return nil
	}
	_, err := c.tokens.get(ctx)
	return err
}

// DialFunc makes a network connection, as net.Dialer.DialContext does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Keeper makes Credentials, and keeps the tokens in them for as long as they are good for the same RemoteAgent. Its methods
// may be called at the same time.
type Keeper struct {
	// Live reads Secrets and ConfigMaps from the API server.
	Live client.Reader
	// Cluster issues and reviews tokens of ServiceAccounts.
	Cluster client.Client
	// Operator is who the operator is to the API server, for the commands that grant it a right; DefaultOperator when empty.
	Operator string
	// DialContext connects to token endpoints in place of net.Dialer; nil for the default.
	DialContext DialFunc
	// Clock tells when a token is to be renewed.
	Clock clock.PassiveClock

	mu   sync.Mutex
	kept map[types.UID]kept
}

// kept are the tokens of one RemoteAgent, and the digest of what they are asked for with.
type kept struct {
	made   string
	tokens *tokens
}

// For reads the credentials of a RemoteAgent. An error that Explain knows is the user's to mend; others are to be retried.
func (k *Keeper) For(ctx context.Context, ra *v1alpha1.RemoteAgent) (Credentials, error) {
	r := reading{Keeper: k, ra: ra}
	conf, authorities, err := r.tls(ctx)
	if err != nil {
		return Credentials{}, err
	}
	c := Credentials{TLS: conf, Authorities: authorities}
	auth := ra.Spec.Authentication
	switch {
	case auth == nil:
		return c, nil
	case auth.Bearer != nil:
		c.Authorize, err = r.bearer(ctx, auth.Bearer)
	case auth.Basic != nil:
		c.Authorize, err = r.basic(ctx, auth.Basic)
	case auth.APIKey != nil:
		c.Authorize, err = r.apiKey(ctx, auth.APIKey)
	case auth.OAuth2 != nil:
		c.tokens, err = r.oauth2(ctx, auth.OAuth2, authorities)
	case auth.ServiceAccountToken != nil:
		c.tokens = r.serviceAccount(auth.ServiceAccountToken)
	}
	if err != nil {
		return Credentials{}, err
	}
	if c.tokens != nil {
		c.Authorize, c.Renew = c.tokens.authorize, c.tokens.renew
	}
	return c, nil
}

// hold returns the tokens that are kept for a RemoteAgent, new ones where what they are asked for with has changed.
func (k *Keeper) hold(uid types.UID, made string, source func() *tokens) *tokens {
	k.mu.Lock()
	defer k.mu.Unlock()
	if held, ok := k.kept[uid]; ok && held.made == made {
		return held.tokens
	}
	if k.kept == nil {
		k.kept = map[types.UID]kept{}
	}
	k.kept[uid] = kept{made: made, tokens: source()}
	return k.kept[uid].tokens
}

// Forget drops the tokens of a RemoteAgent that is gone.
func (k *Keeper) Forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, uid)
}

// Expires is when the client certificate ends; the zero time without one.
func (c Credentials) Expires() time.Time {
	if c.TLS == nil || len(c.TLS.Certificates) == 0 || c.TLS.Certificates[0].Leaf == nil {
		return time.Time{}
	}
	return c.TLS.Certificates[0].Leaf.NotAfter
}
