// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// agent is a RemoteAgent with one way to authenticate.
func agent(auth v1alpha1.Authentication) *v1alpha1.RemoteAgent {
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "finance", UID: "uid-1"}}
	ra.Spec.Authentication = &auth
	return ra
}

func key(name string) v1alpha1.KeyReference {
	return v1alpha1.KeyReference{Name: "finance-token", Key: name}
}

// bearer is a RemoteAgent with a bearer token in key token of Secret finance-token.
func bearer() *v1alpha1.RemoteAgent {
	return agent(v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{SecretRef: key("token")}})
}

func basic() *v1alpha1.RemoteAgent {
	return agent(v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{SecretRef: v1alpha1.SecretReference{Name: "finance-token"}}})
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: name}, Data: data}
}

// holding is the Secret with this token.
func holding(token string) *corev1.Secret {
	return secret("books", "finance-token", map[string]string{"token": token, "other": "not this one"})
}

// keeper reads these objects.
func keeper(objects ...client.Object) *credential.Keeper {
	return &credential.Keeper{Live: fake.NewClientBuilder().WithObjects(objects...).Build(), Clock: clock.RealClock{}}
}

func request(t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://finance.example.com/a2a", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of before")
	req.Header.Set("Content-Type", "application/json")
	return req
}

// authorized returns the headers of a request with the credentials on it.
func authorized(t *testing.T, c credential.Credentials) http.Header {
	t.Helper()
	req := request(t)
	if err := c.Authorize(req); err != nil {
		t.Fatal(err)
	}
	return req.Header
}
