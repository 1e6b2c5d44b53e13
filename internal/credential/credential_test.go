// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// agent is a RemoteAgent with a bearer token in key token of Secret finance-token.
func agent() *v1alpha1.RemoteAgent {
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "finance"}}
	ra.Spec.Authentication = &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{
		SecretRef: v1alpha1.KeyReference{Name: "finance-token", Key: "token"},
	}}
	return ra
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// holding is the Secret with this token.
func holding(token string) *corev1.Secret {
	return secret("books", "finance-token", map[string]string{"token": token, "other": "not this one"})
}

func reader(secrets ...*corev1.Secret) client.Reader {
	b := fake.NewClientBuilder()
	for _, s := range secrets {
		b = b.WithObjects(s)
	}
	return b.Build()
}

// authorized returns the headers of a request with the credentials on it.
func authorized(t *testing.T, authorize func(*http.Request) error) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://finance.example.com/a2a", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of before")
	req.Header.Set("Content-Type", "application/json")
	if err := authorize(req); err != nil {
		t.Fatal(err)
	}
	return req.Header
}

func TestFor(t *testing.T) {
	cases := []struct {
		name   string
		secret *corev1.Secret
		// header that is set, or the error.
		header string
		err    error
	}{
		{"a token", holding("s3cr3t.to-ken_~+/="), "Bearer s3cr3t.to-ken_~+/=", nil},
		{"a line break at the end", holding("s3cr3t\n"), "Bearer s3cr3t", nil},
		{"a line break of Windows at the end", holding("s3cr3t\r\n"), "Bearer s3cr3t", nil},
		{"spaces around it", holding(" \t s3cr3t \n\n"), "Bearer s3cr3t", nil},
		{"a line break inside", holding("s3cr3t\nX-Admin: true"), "", credential.ErrValueInvalid},
		{"a carriage return inside", holding("s3c\rr3t"), "", credential.ErrValueInvalid},
		{"a tab inside", holding("s3c\tr3t"), "", credential.ErrValueInvalid},
		{"a NUL inside", holding("s3c\x00r3t"), "", credential.ErrValueInvalid},
		{"a NUL at the end", holding("s3cr3t\x00"), "", credential.ErrValueInvalid},
		{"a DEL inside", holding("s3c\x7fr3t"), "", credential.ErrValueInvalid},
		{"empty", holding(""), "", credential.ErrValueInvalid},
		{"only spaces", holding(" \n\t "), "", credential.ErrValueInvalid},
		{"without the key", secret("books", "finance-token", map[string]string{"Token": "s3cr3t"}), "", credential.ErrKeyNotFound},
		{"without any key", secret("books", "finance-token", nil), "", credential.ErrKeyNotFound},
		{"of another name", secret("books", "finance", map[string]string{"token": "s3cr3t"}), "", credential.ErrSecretNotFound},
		{"of another namespace", secret("hr", "finance-token", map[string]string{"token": "s3cr3t"}), "", credential.ErrSecretNotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			authorize, err := credential.For(t.Context(), reader(c.secret), agent())
			if !errors.Is(err, c.err) || (authorize == nil) != (c.err != nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				if strings.Contains(err.Error(), "s3c") {
					t.Errorf("the error shows the token: %v", err)
				}
				return
			}
			want := http.Header{"Authorization": {c.header}, "Content-Type": {"application/json"}}
			if got := authorized(t, authorize); !reflect.DeepEqual(got, want) {
				t.Errorf("headers %v, want %v", got, want)
			}
		})
	}
}

func TestNoAuthentication(t *testing.T) {
	for name, auth := range map[string]*v1alpha1.Authentication{"none": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			ra := agent()
			ra.Spec.Authentication = auth
			// A reader that must not be asked.
			authorize, err := credential.For(t.Context(), nil, ra)
			if authorize != nil || err != nil || credential.SecretRef(ra) != nil {
				t.Errorf("error %v, reference %v; want no credentials", err, credential.SecretRef(ra))
			}
			if p := credential.Explain(ra, credential.ErrSecretNotFound); p != nil {
				t.Errorf("explained %+v", p)
			}
		})
	}
}

// The credentials of one reading stay as they are; a new reading brings the new ones.
func TestRotation(t *testing.T) {
	ra := agent()
	before, err := credential.For(t.Context(), reader(holding("old")), ra)
	if err != nil {
		t.Fatal(err)
	}
	after, err := credential.For(t.Context(), reader(holding("new")), ra)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		authorize func(*http.Request) error
		want      string
	}{{before, "Bearer old"}, {after, "Bearer new"}, {before, "Bearer old"}} {
		if got := authorized(t, c.authorize).Get("Authorization"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A failure of the API server is not the user's to mend: it is handed on, to be retried.
func TestFailedReading(t *testing.T) {
	failure := errors.New("the API server is away")
	broken := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return failure
		},
	})
	authorize, err := credential.For(t.Context(), broken, agent())
	if authorize != nil || !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	if p := credential.Explain(agent(), err); p != nil {
		t.Errorf("explained %+v", p)
	}
}

func TestExplain(t *testing.T) {
	cases := []struct {
		err    error
		reason string
	}{
		{credential.ErrSecretNotFound, "SecretNotFound"},
		{credential.ErrKeyNotFound, "SecretInvalid"},
		{credential.ErrValueInvalid, "SecretInvalid"},
		{nil, ""},
		{context.DeadlineExceeded, ""},
	}
	for _, c := range cases {
		for _, err := range []error{c.err, fmt.Errorf("dialing: %w", c.err)} {
			p := credential.Explain(agent(), err)
			if c.reason == "" {
				if p != nil {
					t.Errorf("%v: explained %+v", err, p)
				}
				continue
			}
			if p == nil || p.Reason != c.reason || p.Transient {
				t.Fatalf("%v: explained %+v, want %s", err, p, c.reason)
			}
			for _, name := range []string{`Secret "finance-token"`, `key "token"`, "namespace books", `RemoteAgent "finance"`} {
				if !strings.Contains(p.Message, name) {
					t.Errorf("%v: %q does not name %s", err, p.Message, name)
				}
			}
		}
	}
}
