// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// robot is a RemoteAgent with tokens of the ServiceAccount robot, in a namespace of its own.
func robot(t *testing.T, admin client.Client, audience string) *v1alpha1.RemoteAgent {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "finance", UID: types.UID(ns.Name)}}
	ra.Spec.Authentication = &v1alpha1.Authentication{ServiceAccountToken: &v1alpha1.ServiceAccountTokenAuthentication{
		ServiceAccountName: "robot", Audience: audience, Expiration: metav1.Duration{Duration: 10 * time.Minute},
	}}
	return ra
}

// A ServiceAccount's token is for the agent's audience and of the RemoteAgent's namespace, and one that is missing is named.
func TestServiceAccountToken(t *testing.T) {
	const audience = "https://finance.example.com"
	r, _, admin := newReconciler(t)
	ra, keeper := robot(t, admin, audience), r.Agents.Credentials
	creds, err := keeper.For(t.Context(), ra)
	if err != nil {
		t.Fatal(err)
	}
	err = creds.Check(t.Context())
	if p := credential.Explain(ra, err); !errors.Is(err, credential.ErrNotFound) || p == nil || p.Reason != "ServiceAccountNotFound" || credential.Watched(err) {
		t.Fatalf("without the ServiceAccount: %v, explained %+v", err, p)
	}
	create(t, admin, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ra.Namespace, Name: "robot"}})
	eventually(t, func() bool { return creds.Check(t.Context()) == nil })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, audience, nil)
	if err := creds.Authorize(req); err != nil {
		t.Fatal(err)
	}
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	create(t, admin, review)
	if want := "system:serviceaccount:" + ra.Namespace + ":robot"; !review.Status.Authenticated || review.Status.User.Username != want {
		t.Errorf("the token is of %+v, want %s", review.Status, want)
	}
	again, err := keeper.For(t.Context(), ra)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Authorize(req); err != nil || req.Header.Get("Authorization") != "Bearer "+token {
		t.Errorf("another reading has another token, error %v", err)
	}
}

// A token that the API server accepts would hand the ServiceAccount's rights in the cluster to the agent.
func TestNoTokenForTheAPIServer(t *testing.T) {
	r, _, admin := newReconciler(t)
	ra := robot(t, admin, "placeholder")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ra.Namespace, Name: "robot"}}
	create(t, admin, account)
	own := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, own); err != nil || len(own.Spec.Audiences) == 0 {
		t.Fatalf("audiences %v, error %v", own.Spec.Audiences, err)
	}
	ra.Spec.Authentication.ServiceAccountToken.Audience = own.Spec.Audiences[0]
	creds, err := r.Agents.Credentials.For(t.Context(), ra)
	if err != nil {
		t.Fatal(err)
	}
	if err := creds.Check(t.Context()); !errors.Is(err, credential.ErrAudience) {
		t.Errorf("a token for %s: %v; want %v", own.Spec.Audiences[0], err, credential.ErrAudience)
	}
	if err := creds.Authorize(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)); !errors.Is(err, credential.ErrAudience) {
		t.Errorf("a request is authorized with it: %v", err)
	}
}

// A changed Secret or ConfigMap makes another client, and one that is missing is a problem that names it.
func TestRotationOfCredentials(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "agent", UID: d.UID}}
	ra.Spec.Authentication = &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{SecretRef: v1alpha1.KeyReference{Name: "token", Key: "token"}}}
	ra.Status.Endpoint = &v1alpha1.AgentInterface{URL: "https://finance.example.com", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}
	connect := func(ctx context.Context) agentView {
		v := agentView{}
		if err := r.Agents.connect(ctx, ra, &v, false); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := connect(t.Context()); v.Problem == nil || v.Problem.Reason != "SecretNotFound" || !strings.Contains(v.Problem.Message, `"token"`) {
		t.Fatalf("without the Secret: %+v", v.Problem)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "token"}, StringData: map[string]string{"token": "one"}}
	create(t, admin, secret)
	var first agentView
	eventually(t, func() bool { first = connect(t.Context()); return first.Problem == nil })
	if again := connect(t.Context()); again.client != first.client {
		t.Error("another client without a change")
	}
	secret.StringData = map[string]string{"token": "two"}
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		second := connect(t.Context())
		return second.client != first.client && second.Credentials == secret.ResourceVersion && second.Credentials != first.Credentials
	})
}

// The operator's right to request tokens may be missing: it is said how to grant it.
func TestForbiddenToken(t *testing.T) {
	_, _, admin := newReconciler(t)
	ra := robot(t, admin, "https://finance.example.com")
	weak := impersonating(t, "system:serviceaccount:"+ra.Namespace+":nobody")
	keeper := &credential.Keeper{Live: admin, Cluster: weak, Clock: clock.RealClock{}}
	creds, err := keeper.For(t.Context(), ra)
	if err != nil {
		t.Fatal(err)
	}
	err = creds.Check(t.Context())
	if p := credential.Explain(ra, err); !errors.Is(err, credential.ErrForbidden) || p == nil || !strings.Contains(p.Message, "serviceaccounts/token") {
		t.Errorf("%v, explained %+v", err, p)
	}
}

// Credentials, a certificate among them, go to no place that only a card names.
func TestCredentialsStayAtTheCardsOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		spec  func(*v1alpha1.RemoteAgentSpec)
		stays bool
	}{
		"none":           {func(*v1alpha1.RemoteAgentSpec) {}, false},
		"authentication": {func(s *v1alpha1.RemoteAgentSpec) { s.Authentication = bearerFrom("finance-keys", "keys") }, true},
		"tls": {func(s *v1alpha1.RemoteAgentSpec) {
			s.TLS = &v1alpha1.TLS{CASecretRef: &v1alpha1.KeyReference{Name: "ca", Key: "ca.crt"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(t)
			e := verifying(t, w, "t0ken", false)
			plain := httptest.NewServer(w.Config.Handler)
			t.Cleanup(plain.Close)
			e.ra.Spec = byCard(plain.URL)
			c.spec(&e.ra.Spec)
			const elsewhere = "https://127.0.0.1:1/a2a"
			for _, url := range []string{plain.URL + "/a2a", elsewhere} {
				w.serveCard([]byte(naming(url)))
				s := e.ra.Status.DeepCopy()
				v, err := e.r.inspect(t.Context(), e.ra, s)
				refused := v.problem != nil && v.problem.Reason == "NoUsableInterface" && s.Endpoint == nil
				if err != nil || refused != (c.stays && url == elsewhere) || !refused && (v.problem != nil || s.Endpoint.URL != url) {
					t.Errorf("a card that names %s: %+v, %v, endpoint %+v", url, v.problem, err, s.Endpoint)
				}
			}
		})
	}
}

func bearerFrom(secret, key string) *v1alpha1.Authentication {
	return &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{SecretRef: v1alpha1.KeyReference{Name: secret, Key: key}}}
}
