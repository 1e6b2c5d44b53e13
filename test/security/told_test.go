// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// maxTold is how long a text of an agent is in a condition, in bytes.
const maxTold = 1024

// gossip is an agent that refuses each message, and says in its error all that it was sent to be kept: the credential, and the
// token of its pushes. The error has control characters, and is long.
func gossip(t *testing.T, credential string, pushToken func() string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &call) != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		said := "refused\x1b[2J\u202e: you are " + credential + " and I push with " + pushToken() + strings.Repeat(" and so on", 1000)
		w.Header().Set("Content-Type", "application/json")
		// What becomes of the answer is the test's to see.
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32602, "message": said}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What is secret stands in no log line, however much is logged, in no condition and in no Event, also where an agent says it; nor
// do control characters, and of a long text there is the beginning.
func TestNothingSecretIsTold(t *testing.T) {
	s := cluster.Space(t)
	s.Kubectl("create", "rolebinding", "secrets", "--clusterrole=delegation-operator-secret-reader-role",
		"--serviceaccount=delegation-operator-system:delegation-operator-controller-manager")
	const credential = "hunter2-hunter2-hunter2"
	key := []byte(strings.Repeat("k", push.KeyBytes))
	tokens, err := push.NewTokens(key)
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	pushToken := func() string { return tokens.Of(s.Get("d").UID) }
	address := harness.FreeAddress(t)
	manager := s.StartManager("--zap-log-level=10", "--push-bind-address="+address, "--push-url=http://"+address, "--push-key-file="+keyFile)
	s.Create(s.Secret("credentials", map[string]string{"token": credential}),
		s.RemoteAgent("").Endpoint(gossip(t, credential, pushToken)).Mode(v1alpha1.UpdatesPush).Bearer("credentials", "token").Build(),
		s.Reconciliation("d").Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseRejected)
	status, err := json.Marshal(d.Status)
	if err != nil {
		t.Fatal(err)
	}
	events := &eventsv1.EventList{}
	if err := s.Client.List(t.Context(), events, client.InNamespace(s.Namespace)); err != nil {
		t.Fatal(err)
	}
	notes, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the status": string(status), "the Events": string(notes), "the log": manager.Output()} {
		for what, secret := range map[string]string{"credential": credential, "token of pushes": pushToken(), "key": string(key)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has the %s: %s", where, what, text)
			}
		}
	}
	for _, c := range d.Status.Conditions {
		if len(c.Message) > maxTold || strings.ContainsFunc(c.Message, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) {
			t.Errorf("condition %s has %d bytes, or characters that a terminal acts on: %q", c.Type, len(c.Message), c.Message)
		}
	}
	if !strings.Contains(string(status), "refused") {
		t.Errorf("the status does not say what the agent said: %s", status)
	}
}
