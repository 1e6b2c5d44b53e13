// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// What may be changed after the creation and what may not, whoever asks and whether or not it was sent.
func TestDelegationUpdates(t *testing.T) {
	whole := []change{
		set("m-71", "spec", "messageId"), set("c-09", "spec", "contextId"), set([]any{"text/plain"}, "spec", "acceptedOutputModes"),
		parts(part("text", "a"), part("data", part("period", "2026-09"))), set(part("priority", "high"), "spec", "message", "metadata"),
	}
	const message = "spec.message"
	s := cluster.Space(t)
	for _, c := range []struct {
		name   string
		from   []change
		update change
		field  string
	}{
		{name: "labels", from: whole, update: set("b", "metadata", "labels", "a")},
		{name: "messageId set", update: set("m-71", "spec", "messageId")},
		{name: "contextId set", update: set("c-09", "spec", "contextId")},
		{name: "messageId changed", from: whole, update: set("m-72", "spec", "messageId"), field: "spec.messageId"},
		{name: "messageId removed", from: whole, update: unset("spec", "messageId"), field: "spec.messageId"},
		{name: "contextId changed", from: whole, update: set("c-10", "spec", "contextId"), field: "spec.contextId"},
		{name: "contextId removed", from: whole, update: unset("spec", "contextId"), field: "spec.contextId"},
		{name: "agentRef changed", update: set("other", "spec", "agentRef", "name"), field: "spec.agentRef"},
		{name: "text changed", update: parts(part("text", "b")), field: message},
		{name: "part added", update: parts(part("text", "Reconcile September 2026"), part("text", "b")), field: message},
		{name: "part gets a name", update: parts(part("text", "Reconcile September 2026", "filename", "a")), field: message},
		{name: "data changed", from: whole, update: parts(part("text", "a"), part("data", part("period", "2026-10"))), field: message},
		{name: "data gets a member", from: whole, update: parts(part("text", "a"), part("data", part("period", "2026-09", "final", true))), field: message},
		{name: "metadata changed", from: whole, update: set(part("priority", "low"), "spec", "message", "metadata"), field: message},
		{name: "metadata removed", from: whole, update: unset("spec", "message", "metadata"), field: message},
		{name: "output modes set", update: set([]any{"text/plain"}, "spec", "acceptedOutputModes"), field: "spec.acceptedOutputModes"},
		{name: "output modes changed", from: whole, update: set([]any{"text/csv"}, "spec", "acceptedOutputModes"), field: "spec.acceptedOutputModes"},
		{name: "continues set", update: set(part("name", "a"), "spec", "continues"), field: "spec.continues"},
		{name: "continues changed", from: []change{set(part("name", "a"), "spec", "continues")}, update: set(part("name", "b"), "spec", "continues"), field: "spec.continues"},
		{name: "continues removed", from: []change{set(part("name", "a"), "spec", "continues")}, update: unset("spec", "continues"), field: "spec.continues"},
		{name: "refines set", update: set([]any{part("name", "a")}, "spec", "refines"), field: "spec.refines"},
		{name: "refines one more", from: []change{set([]any{part("name", "a")}, "spec", "refines")},
			update: set([]any{part("name", "a"), part("name", "b")}, "spec", "refines"), field: "spec.refines"},
		{name: "refines removed", from: []change{set([]any{part("name", "a")}, "spec", "refines")}, update: unset("spec", "refines"), field: "spec.refines"},
		{name: "suspend set", update: set(true, "spec", "suspend")},
		{name: "suspend taken back", from: []change{set(true, "spec", "suspend")}, update: set(false, "spec", "suspend")},
		{name: "cancel set", update: set(true, "spec", "cancel")},
		{name: "cancel taken back", from: []change{set(true, "spec", "cancel")}, update: set(false, "spec", "cancel"), field: "spec.cancel"},
		{name: "cancel removed", from: []change{set(true, "spec", "cancel")}, update: unset("spec", "cancel"), field: "spec.cancel"},
		{name: "deadlines and policies changed", from: whole, update: both(
			both(set("1h", "spec", "deliveryDeadline"), set(int64(60), "spec", "activeDeadlineSeconds")),
			both(set("Orphan", "spec", "deletionPolicy"), set("Resend", "spec", "onUnknown")))},
		{name: "output modes removed", from: whole, update: unset("spec", "acceptedOutputModes"), field: "spec.acceptedOutputModes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := delegation(c.from...)
			d.SetNamespace(s.Namespace)
			if err := s.Client.Create(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			c.update(d)
			err := s.Client.Update(t.Context(), d)
			if c.field == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			cause := requireRefused(t, err, c.field)
			if !strings.Contains(cause.Message, "create a new Delegation") {
				t.Errorf("the refusal does not say what to do instead: %s", cause.Message)
			}
		})
	}
}

func both(first, second change) change {
	return func(u *unstructured.Unstructured) { first(u); second(u) }
}

// A field that the schema does not have is refused with a name, where the client asks for that as kubectl does.
func TestUnknownFieldsAreNamed(t *testing.T) {
	s := cluster.Space(t)
	for _, u := range []*unstructured.Unstructured{
		delegation(set("m-71", "spec", "mesageId")),
		remoteAgent(set("https://a.example.com", "spec", "cardUrl")),
	} {
		err := try(t, s, u)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("an unknown field in %s: %v", u.GetKind(), err)
		}
	}
}

// What a manifest leaves out is filled in, also where it leaves out all that is around it.
func TestRemoteAgentDefaults(t *testing.T) {
	s := cluster.Space(t)
	deduplicating := set(part("mode", "MessageID"), "spec", "contract", "deduplication")
	for _, c := range []struct {
		name    string
		changes []change
		want    any
		path    []string
	}{
		{name: "lookup", want: "BestEffort", path: []string{"contract", "taskLookup", "mode"}},
		{name: "lookup beside a promise", changes: []change{deduplicating}, want: "BestEffort", path: []string{"contract", "taskLookup", "mode"}},
		{name: "settle", want: "60s", path: []string{"contract", "taskLookup", "settle"}},
		{name: "settle beside a mode", changes: []change{set("Authoritative", "spec", "contract", "taskLookup", "mode")}, want: "60s",
			path: []string{"contract", "taskLookup", "settle"}},
		{name: "retention", changes: []change{deduplicating}, want: "72h", path: []string{"contract", "deduplication", "retention"}},
		{name: "no promise", want: nil, path: []string{"contract", "deduplication"}},
		{name: "attemptTimeout", want: "30s", path: []string{"delivery", "attemptTimeout"}},
		{name: "attemptTimeout beside a limit", changes: []change{set(int64(3), "spec", "delivery", "maxInFlight")}, want: "30s",
			path: []string{"delivery", "attemptTimeout"}},
		{name: "maxInFlight", want: int64(16), path: []string{"delivery", "maxInFlight"}},
		{name: "requestsPerSecond", want: int64(50), path: []string{"delivery", "requestsPerSecond"}},
		{name: "allowedNamespaces", want: "Same", path: []string{"allowedNamespaces", "from"}},
		{name: "pollInterval", want: "2s", path: []string{"updates", "pollInterval"}},
		{name: "maxPollInterval", want: "60s", path: []string{"updates", "maxPollInterval"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := remoteAgent(c.changes...)
			if err := try(t, s, u); err != nil {
				t.Fatal(err)
			}
			if got, _, err := unstructured.NestedFieldNoCopy(u.Object, append([]string{"spec"}, c.path...)...); err != nil || got != c.want {
				t.Errorf("%v = %v, %v; want %v", c.path, got, err, c.want)
			}
		})
	}
}

func TestInterfaceDefaults(t *testing.T) {
	s := cluster.Space(t)
	u := remoteAgent(set([]any{part("url", "https://finance.example.com/a2a")}, "spec", "interfaces"))
	if err := try(t, s, u); err != nil {
		t.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(u.Object, "spec", "interfaces")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].(map[string]any); got["protocolBinding"] != "JSONRPC" || got["protocolVersion"] != "1.0" {
		t.Errorf("defaults of an interface: %v", got)
	}
}

// The status is written apart from the spec: a manifest's status is dropped, and a status update changes no spec.
func TestStatusSubresource(t *testing.T) {
	s := cluster.Space(t)
	d := s.Delegation("d").MessageID("m-71").Build()
	d.Status.Phase = v1alpha1.PhaseCompleted
	s.Create(d)
	if d = s.Get("d"); d.Status.Phase != "" {
		t.Errorf("the manifest's status was taken: %q", d.Status.Phase)
	}
	d.Status.Phase, d.Spec.MessageID = v1alpha1.PhaseWorking, "m-72"
	d.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Working", LastTransitionTime: metav1.Now(),
	}}
	if err := s.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d = s.Get("d"); d.Status.Phase != v1alpha1.PhaseWorking || d.Spec.MessageID != "m-71" {
		t.Errorf("after a status update: phase %q, messageId %q", d.Status.Phase, d.Spec.MessageID)
	}
	d.Status.Phase = "Sleeping"
	requireRefused(t, s.Client.Status().Update(t.Context(), d, client.DryRunAll), "status.phase")
}
