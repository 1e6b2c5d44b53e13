// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// tokenOf makes a ServiceAccount, and returns a token of it.
func tokenOf(t *testing.T, s *harness.Space, name string, audiences ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	s.Create(account)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := s.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// scrape gets a page and returns the status, 0 where there was no answer.
func scrape(ctx context.Context, url, token string) (int, string) {
	// Whose certificate it is, is not the question here.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// Who has the ClusterRole metrics-reader reads the metrics, over HTTPS; nobody else does.
func TestWhoReadsMetrics(t *testing.T) {
	s := cluster.Space(t)
	reader := tokenOf(t, s, "prometheus")
	s.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "delegation-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "prometheus"}},
	})
	address := harness.FreeAddress(t)
	s.StartManager("--metrics-bind-address", address)
	url := "https://" + address + "/metrics"
	harness.Eventually(t, harness.Patience, "the metrics", func(ctx context.Context) (bool, string) {
		status, text := scrape(ctx, url, reader)
		return status == http.StatusOK && strings.Contains(text, "controller_runtime_"), fmt.Sprint(status, text[:min(len(text), 200)])
	})
	for _, c := range []struct {
		name, url, token string
		// status is 0 where it is the library's to choose.
		status int
	}{
		{"without a token", url, "", http.StatusUnauthorized},
		{"with something for a token", url, "secret", 0},
		{"with another's token", url, tokenOf(t, s, "nobody"), http.StatusForbidden},
		{"with a token for somebody else", url, tokenOf(t, s, "client", "https://finance.example.com"), 0},
		{"in plain text", strings.Replace(url, "https", "http", 1), reader, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := scrape(t.Context(), c.url, c.token)
			if status == http.StatusOK || c.status != 0 && status != c.status || strings.Contains(text, "controller_runtime_") {
				t.Errorf("status %d, %.200s; want %d and no metrics", status, text, c.status)
			}
		})
	}
}

// The demo and a developer may have them without more, from their own machine.
func TestPlainMetricsOnLoopback(t *testing.T) {
	s := cluster.Space(t)
	address := harness.FreeAddress(t)
	s.StartManager("--metrics-bind-address", address, "--metrics-secure=false")
	harness.Eventually(t, harness.Patience, "the metrics", func(ctx context.Context) (bool, string) {
		status, text := scrape(ctx, "http://"+address+"/metrics", "")
		return status == http.StatusOK, text[:min(len(text), 200)]
	})
}

// A manager that was granted no Secret says which command grants it, and goes on after it: within a minute, since nothing tells
// it of rights.
func TestSecretsAreGranted(t *testing.T) {
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right")
	open := harness.StartAgent(t)
	s.StartManager("--namespaces=", "--health-probe-bind-address=0")
	fromSecret := s.Delegation("part").Agent("open").FileFrom("ledger", "ledger.csv").Build()
	source := &fromSecret.Spec.Message.Parts[len(fromSecret.Spec.Message.Parts)-1]
	source.ValueFrom.SecretKeyRef, source.ValueFrom.ConfigMapKeyRef = source.ValueFrom.ConfigMapKeyRef, nil
	s.Create(
		s.Secret("credentials", map[string]string{"token": "right"}), s.Secret("ledger", map[string]string{"ledger.csv": harness.LedgerTable}),
		s.RemoteAgent(agent.URL).Bearer("credentials", "token").Build(), s.RemoteAgent(open.URL).Named("open").Build(),
		s.Reconciliation("d").Build(), fromSecret,
	)
	s.AwaitReason("d", "SecretForbidden")
	s.AwaitReason("part", "MessageSourceForbidden")
	s.RunRemedy("d")
	for _, name := range []string{"d", "part"} {
		s.AwaitWithin(90*time.Second, name, "to be sent", func(d *v1alpha1.Delegation) bool { return d.Status.Attempts > 0 })
	}
}
