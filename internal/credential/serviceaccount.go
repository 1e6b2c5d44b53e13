// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"cmp"
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// serviceAccount returns the tokens of a ServiceAccount, which is one of the RemoteAgent's own namespace: who may write
// RemoteAgents there can be any of its ServiceAccounts to an agent, and none of another namespace.
func (r reading) serviceAccount(s *v1alpha1.ServiceAccountTokenAuthentication) *tokens {
	made := digest("serviceAccount", r.ra.Namespace, s.ServiceAccountName, s.Audience, s.Expiration.Duration)
	return r.hold(r.ra.UID, made, func() *tokens {
		// The reading outlives this call: what it keeps of the RemoteAgent is its namespace.
		of := reading{Keeper: r.Keeper, ra: &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: r.ra.Namespace}}}
		asked := *s
		return &tokens{clock: r.Clock, checked: true, fetch: func(ctx context.Context) (token, error) { return of.request(ctx, asked) }}
	})
}

// request has the API server issue a token (TokenRequest), and hands it out only if the API server would not accept it
// itself (TokenReview). Else whoever may write RemoteAgents could have the operator send a ServiceAccount's rights in the
// cluster to a server of theirs.
func (r reading) request(ctx context.Context, s v1alpha1.ServiceAccountTokenAuthentication) (token, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.ra.Namespace, Name: s.ServiceAccountName}}
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{s.Audience}, ExpirationSeconds: ptr.To(int64(s.Expiration.Seconds())),
	}}
	issued := r.Clock.Now()
	if err := r.Cluster.SubResource("token").Create(ctx, account, asked); err != nil {
		return token{}, r.refused(s.ServiceAccountName, err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: asked.Status.Token}}
	if err := r.Cluster.Create(ctx, review); err != nil {
		return token{}, r.refused(s.ServiceAccountName, err)
	}
	if review.Status.Authenticated {
		return token{}, r.wrong(Reference{Kind: KindServiceAccount, Name: s.ServiceAccountName}, ErrAudience)
	}
	if !sendable(asked.Status.Token) {
		return token{}, fmt.Errorf("the API server issued no token for ServiceAccount %s in namespace %s", s.ServiceAccountName, r.ra.Namespace)
	}
	return token{value: asked.Status.Token, issued: issued, expires: asked.Status.ExpirationTimestamp.Time}, nil
}

// refused tells what the user can mend from an error that is to be retried.
func (r reading) refused(name string, err error) error {
	ref := Reference{Kind: KindServiceAccount, Name: name}
	switch {
	case apierrors.IsNotFound(err):
		return r.wrong(ref, ErrNotFound)
	case apierrors.IsForbidden(err):
		return r.wrong(ref, ErrForbidden)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return r.wrong(ref, ErrRequestInvalid)
	}
	return fmt.Errorf("requesting a token of ServiceAccount %s in namespace %s: %s",
		name, r.ra.Namespace, cmp.Or(string(apierrors.ReasonForError(err)), "the API server can't be reached"))
}
