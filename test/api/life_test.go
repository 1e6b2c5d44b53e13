// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestDelegationLife(t *testing.T) {
	spec := func(field string, value any) *unstructured.Unstructured { return delegation(set(value, "spec", field)) }
	name := part("name", "reconcile-2026-09")
	resolution := func(pairs ...any) *unstructured.Unstructured { return spec("resolution", part(pairs...)) }
	run(t, []row{
		{name: "continues", manifest: spec("continues", name)},
		{name: "continues nothing", manifest: spec("continues", part()), field: "spec.continues.name"},
		{name: "continues an empty name", manifest: spec("continues", part("name", "")), field: "spec.continues.name"},
		{name: "refines", manifest: spec("refines", []any{name})},
		{name: "refines none", manifest: spec("refines", []any{}), field: "spec.refines"},
		{name: "refines too many", manifest: spec("refines", references(17)), field: "spec.refines"},
		{name: "refines most", manifest: spec("refines", references(16))},
		{name: "refines one twice", manifest: spec("refines", []any{name, name}), field: "spec.refines"},
		{name: "refines itself", manifest: delegation(set([]any{part("name", "me")}, "spec", "refines"), named("me")), field: "spec.refines"},
		{name: "continues itself", manifest: delegation(set(part("name", "me"), "spec", "continues"), named("me")), field: "spec.continues"},
		{name: "continues what no name can be", manifest: spec("continues", part("name", "Not_A_Name")), field: "spec.continues.name"},
		{name: "an agent that no name can be", manifest: delegation(set("Not_A_Name", "spec", "agentRef", "name")), field: "spec.agentRef.name"},
		{name: "too long to be active", manifest: spec("activeDeadlineSeconds", int64(9999999999)), field: "spec.activeDeadlineSeconds"},
		{name: "refines an empty name", manifest: spec("refines", []any{part("name", "")}), field: "spec.refines[0].name"},
		{name: "continues and refines", manifest: delegation(set(name, "spec", "continues"), set([]any{name}, "spec", "refines")), field: "spec"},
		{name: "suspend", manifest: spec("suspend", true)},
		{name: "suspend in words", manifest: spec("suspend", "yes"), field: "spec.suspend"},
		{name: "cancel", manifest: spec("cancel", true)},
		{name: "activeDeadlineSeconds", manifest: spec("activeDeadlineSeconds", int64(1))},
		{name: "no time to be active", manifest: spec("activeDeadlineSeconds", int64(0)), field: "spec.activeDeadlineSeconds"},
		{name: "ttlSecondsAfterFinished", manifest: spec("ttlSecondsAfterFinished", int64(0))},
		{name: "negative ttlSecondsAfterFinished", manifest: spec("ttlSecondsAfterFinished", int64(-1)), field: "spec.ttlSecondsAfterFinished"},
		{name: "deliveryDeadline", manifest: spec("deliveryDeadline", "1s")},
		{name: "deliveryDeadline too short", manifest: spec("deliveryDeadline", "999ms"), field: "spec.deliveryDeadline"},
		{name: "deliveryDeadline that is no time", manifest: spec("deliveryDeadline", "three days"), field: "spec.deliveryDeadline"},
		{name: "notAfter", manifest: spec("notAfter", "2026-10-01T00:00:00Z")},
		{name: "notAfter that is no time", manifest: spec("notAfter", "tomorrow"), field: "spec.notAfter"},
		{name: "deletionPolicy", manifest: spec("deletionPolicy", "Orphan")},
		{name: "unknown deletionPolicy", manifest: spec("deletionPolicy", "Delete"), field: "spec.deletionPolicy"},
		{name: "onUnknown", manifest: spec("onUnknown", "Resend")},
		{name: "unknown onUnknown", manifest: spec("onUnknown", "Retry"), field: "spec.onUnknown"},
		{name: "output", manifest: spec("output", part("store", "None"))},
		{name: "unknown output", manifest: spec("output", part("store", "Bucket")), field: "spec.output.store"},
		{name: "Adopt", manifest: resolution("action", "Adopt", "taskId", "t-5a")},
		{name: "Adopt without a task", manifest: resolution("action", "Adopt"), field: "spec.resolution"},
		{name: "Resend", manifest: resolution("action", "Resend")},
		{name: "Resend with a task", manifest: resolution("action", "Resend", "taskId", "t-5a"), field: "spec.resolution"},
		{name: "Abandon", manifest: resolution("action", "Abandon")},
		{name: "a resolution without an action", manifest: resolution(), field: "spec.resolution.action"},
		{name: "unknown resolution", manifest: resolution("action", "Ignore"), field: "spec.resolution.action"},
	})
}

// named gives a manifest a name of its own.
func named(name string) change {
	return func(u *unstructured.Unstructured) { u.SetGenerateName(""); u.SetName(name) }
}

func references(n int) []any {
	var out []any
	for i := range n {
		out = append(out, part("name", fmt.Sprintf("d-%d", i)))
	}
	return out
}

func TestRemoteAgentContract(t *testing.T) {
	endpoint := func(members ...any) *unstructured.Unstructured {
		return remoteAgent(set([]any{part(append([]any{"url", "https://a.example.com"}, members...)...)}, "spec", "interfaces"))
	}
	binding := func(name string) *unstructured.Unstructured { return endpoint("protocolBinding", name) }
	contract := func(field, value string) *unstructured.Unstructured {
		return remoteAgent(set(value, "spec", "contract", field))
	}
	run(t, []row{
		{name: "JSON-RPC", manifest: binding("JSONRPC")},
		{name: "HTTP+JSON", manifest: binding("HTTP+JSON")},
		{name: "gRPC", manifest: binding("GRPC")},
		{name: "contextId", manifest: contract("contextId", "Server")},
		{name: "a URL without a host", manifest: remoteAgent(set("https://", "spec", "cardURL")), field: "spec.cardURL"},
		{name: "a URL with credentials", manifest: remoteAgent(set("https://user:pw@a.example.com", "spec", "cardURL")), field: "spec.cardURL"},
		{name: "a version that is not spoken", manifest: endpoint("protocolVersion", "0.2"), field: "spec.interfaces[0].protocolVersion"},
		{name: "a version with more to it", manifest: endpoint("protocolVersion", "0.30"), field: "spec.interfaces[0].protocolVersion"},
		{name: "0.3", manifest: endpoint("protocolVersion", "0.3")},
		{name: "0.3.0 over JSON-RPC", manifest: endpoint("protocolVersion", "0.3.0", "protocolBinding", "JSONRPC", "tenant", "")},
		{name: "0.3 over gRPC", manifest: endpoint("protocolVersion", "0.3", "protocolBinding", "GRPC"), field: "spec.interfaces[0]"},
		{name: "0.3 with a tenant", manifest: endpoint("protocolVersion", "0.3", "tenant", "acme"), field: "spec.interfaces[0]"},
		{name: "1.0 with a tenant", manifest: endpoint("protocolVersion", "1.0", "protocolBinding", "GRPC", "tenant", "acme")},
		{name: "unknown contextId", manifest: contract("contextId", "Nobody"), field: "spec.contract.contextId"},
		{name: "whileWorking", manifest: contract("whileWorking", "Send")},
		{name: "unknown whileWorking", manifest: contract("whileWorking", "Maybe"), field: "spec.contract.whileWorking"},
	})
}

// A decision about an Unknown message can be corrected until it was carried out, and taken anew where its resend
// ended Unknown again. Otherwise it stays on record.
func TestResolutionUpdates(t *testing.T) {
	adopt := part("action", "Adopt", "taskId", "t-5a")
	s := cluster.Space(t)
	for _, c := range []struct {
		name    string
		carried v1alpha1.ResolutionAction // "" while it was not carried out
		phase   v1alpha1.Phase
		update  change
		field   string
	}{
		{name: "corrected in time", phase: v1alpha1.PhaseUnknown, update: set(part("action", "Abandon"), "spec", "resolution")},
		{name: "taken back in time", phase: v1alpha1.PhaseUnknown, update: unset("spec", "resolution")},
		{name: "changed after Adopt", carried: v1alpha1.ResolutionAdopt, phase: v1alpha1.PhaseWorking,
			update: set(part("action", "Resend"), "spec", "resolution"), field: "spec.resolution"},
		{name: "removed after Adopt", carried: v1alpha1.ResolutionAdopt, phase: v1alpha1.PhaseWorking, update: unset("spec", "resolution"), field: "spec.resolution"},
		{name: "changed after Abandon", carried: v1alpha1.ResolutionAbandon, phase: v1alpha1.PhaseUnknown,
			update: set(part("action", "Resend"), "spec", "resolution"), field: "spec.resolution"},
		{name: "changed during the resend", carried: v1alpha1.ResolutionResend, phase: v1alpha1.PhaseSending,
			update: set(part("action", "Abandon"), "spec", "resolution"), field: "spec.resolution"},
		{name: "taken anew after a resend that ended Unknown", carried: v1alpha1.ResolutionResend, phase: v1alpha1.PhaseUnknown,
			update: set(part("action", "Abandon"), "spec", "resolution")},
		{name: "something else after Adopt", carried: v1alpha1.ResolutionAdopt, phase: v1alpha1.PhaseWorking, update: set("b", "metadata", "labels", "a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := delegation(set(adopt, "spec", "resolution"))
			d.SetNamespace(s.Namespace)
			if err := s.Client.Create(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			set(string(c.phase), "status", "phase")(d)
			if c.carried != "" {
				record := part("action", string(c.carried), "time", "2026-10-01T00:00:00Z", "attempt", int64(1))
				if c.carried == v1alpha1.ResolutionAdopt {
					record["taskId"] = "t-5a"
				}
				set(record, "status", "resolution")(d)
			}
			if err := s.Client.Status().Update(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			c.update(d)
			if err := s.Client.Update(t.Context(), d); c.field != "" {
				requireRefused(t, err, c.field)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}
