// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/testenv/pki"
)

// secured is a RemoteAgent with this TLS and no other credentials.
func secured(conf v1alpha1.TLS) *v1alpha1.RemoteAgent {
	ra := bearer()
	ra.Spec.Authentication, ra.Spec.TLS = nil, &conf
	return ra
}

func TestTLS(t *testing.T) {
	ca := pki.New(t, "agents")
	operator := ca.Issue(t, "operator")
	certificate, private := operator.Certificate, operator.Key
	foreign := ca.Issue(t, "another").Key
	ofSecret := v1alpha1.TLS{CASecretRef: &v1alpha1.KeyReference{Name: "ca", Key: "ca.crt"}}
	ofConfigMap := v1alpha1.TLS{CAConfigMapRef: &v1alpha1.KeyReference{Name: "ca", Key: "ca.crt"}}
	own := v1alpha1.TLS{ClientCertSecretRef: &v1alpha1.SecretReference{Name: "own"}, ServerName: "finance.example.com"}
	bundle := func(text string) client.Object { return secret("books", "ca", map[string]string{"ca.crt": text}) }
	pair := func(crt, key string) client.Object {
		return secret("books", "own", map[string]string{"tls.crt": crt, "tls.key": key})
	}
	cases := []struct {
		name   string
		conf   v1alpha1.TLS
		object client.Object
		err    error
	}{
		{"authorities in a Secret", ofSecret, bundle(ca.Certificate), nil},
		{"authorities in a ConfigMap", ofConfigMap, configMap("ca", map[string]string{"ca.crt": ca.Certificate}), nil},
		{"several, with comments", ofSecret, bundle("# agents\n" + ca.Certificate + "# old\n" + pki.New(t, "old").Certificate + "\n"), nil},
		{"no certificate", ofSecret, bundle("none"), credential.ErrAuthoritiesInvalid},
		{"one of two is cut off", ofSecret, bundle(ca.Certificate + ca.Certificate[:len(ca.Certificate)/2]), credential.ErrAuthoritiesInvalid},
		{"one of two is damaged", ofSecret, bundle(ca.Certificate + "-----BEGIN CERTIFICATE-----\nZGFtYWdlZA==\n-----END CERTIFICATE-----\n"), credential.ErrAuthoritiesInvalid},
		{"a private key in place of a certificate", ofSecret, bundle(private), credential.ErrAuthoritiesInvalid},
		{"no key", ofSecret, secret("books", "ca", nil), credential.ErrKeyNotFound},
		{"no ConfigMap", ofConfigMap, bundle(ca.Certificate), credential.ErrNotFound},
		{"a certificate", own, pair(certificate, private), nil},
		{"a certificate of another key", own, pair(certificate, foreign), credential.ErrCertificateInvalid},
		{"the two exchanged", own, pair(private, certificate), credential.ErrCertificateInvalid},
		{"no private key", own, secret("books", "own", map[string]string{"tls.crt": certificate}), credential.ErrKeyNotFound},
		{"a certificate of another namespace", own, secret("hr", "own", map[string]string{"tls.crt": certificate, "tls.key": private}), credential.ErrNotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			creds, err := keeper(c.object).For(t.Context(), secured(c.conf))
			if !errors.Is(err, c.err) || (creds.TLS == nil) != (c.err != nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if (creds.TLS.RootCAs != nil) != (c.conf.ClientCertSecretRef == nil) || len(creds.TLS.Certificates) != 0 != (c.conf.ClientCertSecretRef != nil) {
				t.Errorf("authorities %v, %d certificates", creds.TLS.RootCAs, len(creds.TLS.Certificates))
			}
			if creds.TLS.ServerName != c.conf.ServerName {
				t.Errorf("server name %q", creds.TLS.ServerName)
			}
		})
	}
}
