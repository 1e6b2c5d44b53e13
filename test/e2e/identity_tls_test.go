// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
	"github.com/delegation-dev/delegation-operator/internal/testenv/pki"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// serveTLS serves until the test ends, with a certificate for 127.0.0.1.
func serveTLS(t *testing.T, by *pki.Authority, h http.Handler, change func(*tls.Config)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{by.Issue(t, "127.0.0.1").TLS}, MinVersion: tls.VersionTLS12}
	if change != nil {
		change(s.TLS)
	}
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// inFront passes on to an agent.
func inFront(t *testing.T, agent *harness.Agent) http.Handler {
	t.Helper()
	to, err := url.Parse(agent.URL)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(to)
}

// issuer is a token endpoint of RFC 6749, section 4.4, and knows which tokens are good.
type issuer struct {
	mu     sync.Mutex
	secret string
	issued int
	good   string
}

// ServeHTTP implements http.Handler.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if id, secret, _ := r.BasicAuth(); id != "operator" || secret != i.secret || r.FormValue("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
		return
	}
	i.issued++
	i.good = fmt.Sprintf("token-%d", i.issued)
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": i.good, "token_type": "Bearer", "expires_in": 3600})
}

// guard lets in who shows the token that is good.
func (i *issuer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		good := i.good
		i.mu.Unlock()
		if good == "" || r.Header.Get("Authorization") != "Bearer "+good {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// replace takes another client secret from now on, and calls back what it issued.
func (i *issuer) replace(secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.secret, i.good = secret, ""
}

func changeSecret(t *testing.T, s *harness.Space, secret *corev1.Secret, data map[string]string) {
	t.Helper()
	secret.StringData = data
	if err := s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// An agent behind OAuth 2.0, of which both the token endpoint and the agent have certificates of an authority that only the
// RemoteAgent names. A new client secret is used by the manager that runs.
func TestOAuth2OverTLS(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, authority, tokens := harness.StartAgent(t), pki.New(t, "agents"), &issuer{secret: "first"}
	endpoint := serveTLS(t, authority, tokens, nil)
	front := serveTLS(t, authority, tokens.guard(inFront(t, agent)), nil)
	s.StartManager()
	secret := s.Secret("client", map[string]string{"secret": "first"})
	ra := s.RemoteAgent("").Endpoint(front.URL + server.JSONRPCPath).Build()
	ra.Spec.TLS = &v1alpha1.TLS{CAConfigMapRef: &v1alpha1.KeyReference{Name: "agents-ca", Key: "ca.crt"}}
	ra.Spec.Authentication = &v1alpha1.Authentication{OAuth2: &v1alpha1.OAuth2Authentication{
		TokenURL: endpoint.URL, ClientID: "operator", ClientSecretRef: v1alpha1.KeyReference{Name: "client", Key: "secret"},
	}}
	s.Create(s.ConfigMap("agents-ca", map[string]string{"ca.crt": authority.Certificate}), secret, ra, s.Reconciliation("before").MessageID("m-1").Build())
	s.AwaitPhase("before", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)

	tokens.replace("second")
	s.Create(s.Reconciliation("after").MessageID("m-2").Build())
	s.AwaitReason("after", "AgentUnreachable") // no token to look the message up with
	changeSecret(t, s, secret, map[string]string{"secret": "second"})
	s.AwaitPhase("after", v1alpha1.PhaseCompleted)
	agent.Require("m-2", 1, 1)
}

// An agent that wants a certificate from its callers. A new one is used by the manager that runs.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent, authority, next := harness.StartAgent(t), pki.New(t, "agents"), pki.New(t, "next")
	var mu sync.Mutex
	callers := authority
	front := serveTLS(t, authority, inFront(t, agent), func(c *tls.Config) {
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			return &tls.Config{
				Certificates: c.Certificates, ClientCAs: callers.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
			}, nil
		}
	})
	s.StartManager()
	certificate := func(by *pki.Authority) map[string]string {
		p := by.Issue(t, "operator")
		return map[string]string{"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": authority.Certificate}
	}
	secret := s.Secret("operator", certificate(authority))
	ra := s.RemoteAgent("").Endpoint(front.URL + server.JSONRPCPath).Build()
	ra.Spec.TLS = &v1alpha1.TLS{
		CASecretRef: &v1alpha1.KeyReference{Name: "operator", Key: "ca.crt"}, ClientCertSecretRef: &v1alpha1.SecretReference{Name: "operator"},
	}
	s.Create(secret, ra, s.Reconciliation("before").MessageID("m-1").Build())
	s.AwaitPhase("before", v1alpha1.PhaseCompleted)
	agent.Require("m-1", 1, 1)

	mu.Lock()
	callers = next
	mu.Unlock()
	front.CloseClientConnections()
	s.Create(s.Reconciliation("after").MessageID("m-2").Build())
	s.Await("after", "an attempt that failed", func(d *v1alpha1.Delegation) bool { return d.Status.LastError != "" })
	agent.Require("m-2", 0, 0)
	changeSecret(t, s, secret, certificate(next))
	s.AwaitPhase("after", v1alpha1.PhaseCompleted)
	agent.Require("m-2", 1, 1)
}
