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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// row is a Secret, and the header that comes of it or the error.
type row struct {
	name   string
	secret *corev1.Secret
	header string
	err    error
}

// requireHeader checks what a RemoteAgent's credentials make of a Secret.
func requireHeader(t *testing.T, ra *v1alpha1.RemoteAgent, header string, rows []row) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			creds, err := keeper(c.secret).For(t.Context(), ra)
			if !errors.Is(err, c.err) || (creds.Authorize == nil) != (c.err != nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				if strings.Contains(err.Error(), "s3c") || strings.Contains(credential.Explain(ra, err).Message, "s3c") {
					t.Errorf("the error shows the secret: %v", err)
				}
				return
			}
			want := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer of before"}}
			want.Set(header, c.header)
			if got := authorized(t, creds); !reflect.DeepEqual(got, want) {
				t.Errorf("headers %v, want %v", got, want)
			}
		})
	}
}

func TestBearer(t *testing.T) {
	requireHeader(t, bearer(), "Authorization", []row{
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
		{"not ASCII", holding("s3crét"), "", credential.ErrValueInvalid},
		{"empty", holding(""), "", credential.ErrValueInvalid},
		{"only spaces", holding(" \n\t "), "", credential.ErrValueInvalid},
		{"without the key", secret("books", "finance-token", map[string]string{"Token": "s3cr3t"}), "", credential.ErrKeyNotFound},
		{"without any key", secret("books", "finance-token", nil), "", credential.ErrKeyNotFound},
		{"of another name", secret("books", "finance", map[string]string{"token": "s3cr3t"}), "", credential.ErrNotFound},
		{"of another namespace", secret("hr", "finance-token", map[string]string{"token": "s3cr3t"}), "", credential.ErrNotFound},
	})
}

// The example of RFC 7617, section 2, and that of UTF-8 in section 2.1.
func TestBasic(t *testing.T) {
	pair := func(user, password string) *corev1.Secret {
		return secret("books", "finance-token", map[string]string{"username": user, "password": password})
	}
	requireHeader(t, basic(), "Authorization", []row{
		{"the RFC's", pair("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", nil},
		{"not ASCII", pair("test", "123£"), "Basic dGVzdDoxMjPCow==", nil},
		{"line breaks at the end", pair("Aladdin\n", "open sesame\r\n"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", nil},
		{"a colon in the password", pair("a", "b:c"), "Basic YTpiOmM=", nil},
		{"a space around the password is the password's", pair("a", " b "), "Basic YTogYiA=", nil},
		{"a colon in the user name", pair("s3c:b", "c"), "", credential.ErrUserInvalid},
		{"a control character in the password", pair("a", "s3c\x01t"), "", credential.ErrUserInvalid},
		{"a line break in the user name", pair("s3c\nb", "c"), "", credential.ErrUserInvalid},
		{"not UTF-8", pair("a", "s3c\xff"), "", credential.ErrUserInvalid},
		{"no user name", pair("", "s3c"), "", credential.ErrUserInvalid},
		{"an empty password", pair("s3c", ""), "", credential.ErrUserInvalid},
		{"no password", secret("books", "finance-token", map[string]string{"username": "s3c"}), "", credential.ErrKeyNotFound},
		{"no Secret", holding("s3c").DeepCopy(), "", credential.ErrKeyNotFound},
	})
}

func TestAPIKey(t *testing.T) {
	ra := agent(v1alpha1.Authentication{APIKey: &v1alpha1.APIKeyAuthentication{Header: "X-API-Key", SecretRef: key("token")}})
	requireHeader(t, ra, "X-API-Key", []row{
		{"a key", holding("s3cr3t\n"), "s3cr3t", nil},
		{"a line break inside", holding("s3c\r\nX-Admin: true"), "", credential.ErrValueInvalid},
		{"no Secret", secret("books", "another", nil), "", credential.ErrNotFound},
	})
}

func TestNoAuthentication(t *testing.T) {
	for name, auth := range map[string]*v1alpha1.Authentication{"none": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			ra := bearer()
			ra.Spec.Authentication = auth
			// A reader that must not be asked.
			creds, err := (&credential.Keeper{}).For(t.Context(), ra)
			if creds.Authorize != nil || creds.Renew != nil || creds.TLS != nil || err != nil || credential.References(ra) != nil {
				t.Errorf("%+v, error %v, references %v; want no credentials", creds, err, credential.References(ra))
			}
		})
	}
}

// The credentials of one reading stay as they are; a new reading brings the new ones.
func TestRotation(t *testing.T) {
	before, err := keeper(holding("old")).For(t.Context(), bearer())
	if err != nil {
		t.Fatal(err)
	}
	after, err := keeper(holding("new")).For(t.Context(), bearer())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		creds credential.Credentials
		want  string
	}{{before, "Bearer old"}, {after, "Bearer new"}, {before, "Bearer old"}} {
		if got := authorized(t, c.creds).Get("Authorization"); got != c.want {
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
	creds, err := (&credential.Keeper{Live: broken}).For(t.Context(), bearer())
	if creds.Authorize != nil || !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	if p := credential.Explain(bearer(), err); p != nil {
		t.Errorf("explained %+v", p)
	}
}

func TestExplain(t *testing.T) {
	ofSecret := credential.Reference{Kind: credential.KindSecret, Name: "finance-token", Keys: []string{"token"}}
	ofConfigMap := credential.Reference{Kind: credential.KindConfigMap, Name: "ca", Keys: []string{"ca.crt"}}
	ofAccount := credential.Reference{Kind: credential.KindServiceAccount, Name: "robot"}
	cases := []struct {
		reference credential.Reference
		cause     error
		reason    string
		named     []string
	}{
		{ofSecret, credential.ErrNotFound, "SecretNotFound", []string{`Secret "finance-token"`, `key "token"`, "create it"}},
		{ofSecret, credential.ErrKeyNotFound, "SecretInvalid", []string{`Secret "finance-token"`, `key "token"`, "correct the Secret"}},
		{ofSecret, credential.ErrValueInvalid, "SecretInvalid", []string{`Secret "finance-token"`, `key "token"`, "line break"}},
		{ofConfigMap, credential.ErrNotFound, "ConfigMapNotFound", []string{`ConfigMap "ca"`, `key "ca.crt"`}},
		{ofConfigMap, credential.ErrAuthoritiesInvalid, "ConfigMapInvalid", []string{`ConfigMap "ca"`, "PEM"}},
		{ofAccount, credential.ErrNotFound, "ServiceAccountNotFound", []string{"kubectl create serviceaccount -n books robot"}},
		{ofSecret, credential.ErrUnreadable, "SecretForbidden", []string{`Secret "finance-token"`, "kubectl create rolebinding -n books", credential.SecretReaderRole, credential.DefaultOperator}},
		{ofAccount, credential.ErrForbidden, "ServiceAccountTokenForbidden", []string{`"robot"`, "serviceaccounts/token", "kubectl create rolebinding -n books", credential.TokenRole}},
		{ofAccount, credential.ErrAudience, "ServiceAccountTokenRefused", []string{`"robot"`, "audience"}},
	}
	for _, c := range cases {
		err := fmt.Errorf("connecting: %w", &credential.Error{Reference: c.reference, Namespace: "books", Cause: c.cause})
		p := credential.Explain(bearer(), err)
		if p == nil || p.Reason != c.reason || p.Transient {
			t.Fatalf("%v: explained %+v, want %s", err, p, c.reason)
		}
		for _, name := range append(c.named, "namespace books", `RemoteAgent "finance"`) {
			if !strings.Contains(p.Message, name) && !strings.Contains(p.Message, strings.Replace(name, "namespace ", "-n ", 1)) {
				t.Errorf("%v: %q does not name %s", err, p.Message, name)
			}
		}
		if got, want := credential.Watched(err), c.reference.Kind != credential.KindServiceAccount && !errors.Is(err, credential.ErrUnreadable); got != want {
			t.Errorf("%v: watched %t", err, got)
		}
	}
	for _, err := range []error{nil, context.DeadlineExceeded, credential.ErrTokenEndpoint} {
		if p := credential.Explain(bearer(), err); p != nil {
			t.Errorf("%v: explained %+v", err, p)
		}
	}
}
