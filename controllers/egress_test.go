// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/testenv/nameserver"
)

// cardNaming serves a card with one interface.
func cardNaming(t *testing.T, interfaceURL string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"name":"finance","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, interfaceURL)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func byHand(url string) v1alpha1.RemoteAgentSpec {
	return v1alpha1.RemoteAgentSpec{Interfaces: []v1alpha1.AgentInterface{{URL: url, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"}}}
}

func byCard(url string) v1alpha1.RemoteAgentSpec { return v1alpha1.RemoteAgentSpec{CardURL: url} }

// usedBefore is the status of a RemoteAgent that was Ready with the same spec.
func usedBefore() v1alpha1.RemoteAgentStatus {
	return v1alpha1.RemoteAgentStatus{
		Endpoint:   &v1alpha1.AgentInterface{URL: "http://finance.example.com", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
	}
}

// A RemoteAgent that leads where the manager does not connect to says so, and which flag decides it: by its card's URL, by
// the interface that its card names, by an interface given by hand; also if it was Ready before.
func TestDeniedRemoteAgents(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{
		"metadata.example.com.": {{"169.254.169.254"}},
		"agent.example.com.":    {{"127.0.0.1", "169.254.169.254"}},
	})
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.0/8"}, Resolver: names.Resolver()})
	if err != nil {
		t.Fatal(err)
	}
	here := cardNaming(t, "http://agent.example.com")
	for _, c := range []struct {
		name   string
		spec   v1alpha1.RemoteAgentSpec
		status v1alpha1.RemoteAgentStatus
		reason string
		// names is what the message has to name.
		names string
	}{
		{"an interface by hand", byHand("http://169.254.169.254/latest"), v1alpha1.RemoteAgentStatus{}, "EgressDenied", "169.254.169.254"},
		{"an interface by hand, by name", byHand("https://metadata.example.com:8443/a2a"), v1alpha1.RemoteAgentStatus{}, "EgressDenied", "metadata.example.com"},
		{"an interface of the card", byCard(cardNaming(t, "http://169.254.169.254/latest")), v1alpha1.RemoteAgentStatus{}, "EgressDenied", "169.254.169.254"},
		{"an interface of the card, as a number", byCard(cardNaming(t, "http://2852039166/")), v1alpha1.RemoteAgentStatus{}, "EgressDenied", "2852039166"},
		{"an interface of the card, by name", byCard(cardNaming(t, "http://metadata.example.com/")), usedBefore(), "EgressDenied", "metadata.example.com"},
		{"a card", byCard("http://169.254.169.254"), v1alpha1.RemoteAgentStatus{}, "EgressDenied", "169.254.169.254"},
		{"a card, by a name that it had before", byCard("http://metadata.example.com/card.json"), usedBefore(), "EgressDenied", "metadata.example.com"},
		{"a card behind a redirect", byCard(redirecting(t, "http://169.254.169.254/card.json")), v1alpha1.RemoteAgentStatus{}, "CardUnavailable", "169.254.169.254"},
		{"an interface with an allowed address", byHand("http://agent.example.com/"), v1alpha1.RemoteAgentStatus{}, "Ready", ""},
		{"a name that is not known yet", byHand("http://unknown.example.com/"), v1alpha1.RemoteAgentStatus{}, "Ready", ""},
		{"a card that is allowed", byCard(here), v1alpha1.RemoteAgentStatus{}, "Ready", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &RemoteAgentReconciler{Clock: clock.RealClock{}, Agents: &Agents{Egress: policy}}
			s := c.status.DeepCopy()
			v, err := r.inspect(t.Context(), &v1alpha1.RemoteAgent{Spec: c.spec, Status: c.status}, s)
			if err != nil {
				t.Fatal(err)
			}
			r.conclude(s, v)
			ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != c.reason || !strings.Contains(ready.Message, c.names) {
				t.Errorf("Ready: %+v", ready)
			}
			if c.reason == remote.ReasonEgressDenied && !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling) {
				t.Error("it is not tried again")
			}
		})
	}
}

func redirecting(t *testing.T, to string) string {
	t.Helper()
	s := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
	t.Cleanup(s.Close)
	return s.URL
}

// Whatever was told early, the client of an agent connects by the policy; without one, by what holds without flags.
func TestClientsConnectByThePolicy(t *testing.T) {
	names := nameserver.Start(t, nameserver.Names{"rebinding.example.com.": {{"192.0.2.1"}, {"169.254.169.254"}}})
	rebinding, err := egress.New(egress.Config{Resolver: names.Resolver()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url string
		policy    *egress.Policy
	}{
		{"no policy", "http://127.0.0.1:9/", nil}, {"a name that changed", "http://rebinding.example.com/", rebinding},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &Agents{Egress: c.policy}
			ra := &v1alpha1.RemoteAgent{Spec: byHand(c.url)}
			ra.Status.Endpoint = &ra.Spec.Interfaces[0]
			if v := a.permitted(t.Context(), ra.Status.Endpoint); c.policy != nil && v.problem != nil {
				t.Errorf("told early: %+v", v.problem)
			}
			client, problem, err := a.dial(t.Context(), ra, false)
			if err != nil || problem != nil {
				t.Fatal(problem, err)
			}
			defer client.Close()
			if ex := client.Get(t.Context(), "t-1"); ex.Outcome != outbox.NotSent || ex.Reason != remote.ReasonEgressDenied {
				t.Errorf("%s %q", ex.Outcome, ex.Reason)
			}
		})
	}
}

// A name may lead to a denied address after its RemoteAgent was read. The first attempt that meets it has it read anew.
func TestADeniedAttemptIsNewsOfItsAgent(t *testing.T) {
	r := &RemoteAgentReconciler{Agents: &Agents{}}
	d := &v1alpha1.Delegation{}
	d.Namespace, d.Spec.AgentRef.Name = "books", "finance"
	meta.SetStatusCondition(&d.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Reason: remote.ReasonEgressDenied,
	})
	if got := r.ofDelegation(t.Context(), d); len(got) != 1 || got[0].NamespacedName != d.AgentKey() {
		t.Errorf("%v is read anew, want %s", got, d.AgentKey())
	}
}
