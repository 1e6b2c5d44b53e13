// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// origin stands before an agent and gives out a card of its own. Whoever can change that card is who the test is about.
type origin struct {
	*httptest.Server
	mu    sync.Mutex
	card  []byte
	calls map[string]int
}

func newOrigin(t *testing.T, agent *harness.Agent) *origin {
	t.Helper()
	to, err := url.Parse(agent.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	o := &origin{calls: map[string]int{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		card := o.card
		if !strings.HasSuffix(r.URL.Path, ".json") {
			o.calls[r.URL.Path]++
		}
		o.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, ".json") {
			_, _ = w.Write(card)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// naming is a card with one interface of this origin.
func (o *origin) naming(path string) string {
	return fmt.Sprintf(`{"name":"finance","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, o.URL+path)
}

func (o *origin) serve(card []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.card = card
}

func (o *origin) received(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[path]
}

// A card is swapped for one that names another endpoint: neither messages nor credentials go there, nor to the endpoint of
// before. The task that is under way stays as it is, says why it is not followed, and is followed again once the card is back.
func TestSwappedCard(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--bearer-token=right", "--delay=10m")
	agent.Token = "right"
	o, owner := newOrigin(t, agent), cardtest.NewSigner(t, jose.ES256, "k1")
	good := owner.Signed(t, o.naming("/a2a"))
	o.serve(good)
	s.StartManager()
	ra := s.RemoteAgent(o.URL).Bearer("token", "token").Build()
	ra.Spec.Verification = &v1alpha1.Verification{SecretRef: &v1alpha1.KeyReference{Name: "keys", Key: "keys"}}
	keys := s.Secret("keys", map[string]string{"keys": owner.PEM(t)})
	s.Create(s.Secret("token", map[string]string{"token": "right"}), keys, ra, s.Reconciliation("d").MessageID("m-1").Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseSubmitted)

	o.serve(cardtest.With(t, o.naming("/evil"), owner.Entry(t, o.naming("/a2a"), nil)))
	reread(t, s, keys)
	s.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReady, "CardSignatureInvalid")
	s.Create(s.Reconciliation("later").MessageID("m-2").Build())
	if later := s.AwaitReason("later", "CardSignatureInvalid"); later.Status.Phase != v1alpha1.PhasePending || later.Status.Attempts != 0 {
		t.Errorf("%s; want Pending without an attempt", harness.Describe(later))
	}
	if held := s.AwaitReason("d", "CardSignatureInvalid"); held.Status.Phase != v1alpha1.PhaseSubmitted || held.Status.TaskID != d.Status.TaskID {
		t.Errorf("%s; want it as it was", harness.Describe(held))
	}
	// A look that was out when the card was read may have come late; none begins after it.
	before := o.received("/a2a")
	agent.CancelTask(d.Status.TaskID)
	harness.Throughout(t, 3*time.Second, "nothing to be sent", func(context.Context) (bool, string) {
		evil, old := o.received("/evil"), o.received("/a2a")
		return evil == 0 && old <= before+1, fmt.Sprintf("%d calls of the card's endpoint, %d of the one of before after %d", evil, old, before)
	})

	o.serve(good)
	reread(t, s, keys)
	s.AwaitPhase("d", v1alpha1.PhaseCanceled)
	s.AwaitPhase("later", v1alpha1.PhaseSubmitted)
	agent.Require("m-1", 1, 1)
	agent.Require("m-2", 1, 1)
}

// reread has the card read now, and not when it is due.
func reread(t *testing.T, s *harness.Space, keys *corev1.Secret) {
	t.Helper()
	before := keys.DeepCopy()
	keys.Labels = map[string]string{"touched": fmt.Sprint(time.Now().UnixNano())}
	if err := s.Client.Patch(t.Context(), keys, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
