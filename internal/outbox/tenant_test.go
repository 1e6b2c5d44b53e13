// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// tenant makes the Delegation one of namespace tenant to a RemoteAgent of namespace books, with ids as given.
func tenant(messageID, contextID string) *world {
	w := newWorld().result(CallFind, Absent)
	w.Agent.Shared = true
	d := w.Delegation
	d.Namespace, d.Spec.AgentRef = "tenant", v1alpha1.AgentReference{Name: "finance", Namespace: "books"}
	d.Spec.MessageID, d.Spec.ContextID = messageID, contextID
	return w
}

// owner is a Delegation of the RemoteAgent's own namespace, books, which is open to others.
func owner(messageID, contextID string) *world {
	w := tenant(messageID, contextID)
	w.Delegation.Namespace, w.Delegation.Spec.AgentRef = "books", v1alpha1.AgentReference{Name: "finance"}
	return w
}

func TestTenantIDs(t *testing.T) {
	refused := func(name string, w *world, reason string) row {
		return row{name: name, world: w, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: reason}
	}
	alone := owner("tenant/m-1", "tenant/c-1")
	alone.Agent.Shared = false
	for _, r := range []row{
		{name: "an id that begins with the namespace goes", world: tenant("tenant/m-1", "tenant/c-1"), want: Send{}},
		{name: "and so do ids that are minted", world: tenant("", ""), want: Send{}, check: mints("tenant/uid-1", "tenant/c-uid-1")},
		{name: "also the contextId of a given messageId", world: tenant("tenant/m-1", ""), want: Send{}, check: mints("tenant/m-1", "tenant/c-m-1")},
		refused("the owner's messageId does not", tenant("m-1", ""), "MessageIdNotNamespaced"),
		refused("nor another tenant's", tenant("other/m-1", ""), "MessageIdNotNamespaced"),
		refused("nor that of one whose name begins alike", tenant("tenant-2/m-1", ""), "MessageIdNotNamespaced"),
		refused("nor the bare namespace", tenant("tenant", ""), "MessageIdNotNamespaced"),
		refused("nor the UID of another's object", tenant("01a22a8f-6c94-764a-8466-f4f6f8eeaf80", ""), "MessageIdNotNamespaced"),
		refused("the owner's contextId does not", tenant("tenant/m-1", "c-1"), "ContextIdNotNamespaced"),
		refused("nor another tenant's contextId", tenant("", "other/c-1"), "ContextIdNotNamespaced"),
		{name: "the owner's ids are as ever", world: owner("m-1", "c-1"), want: Send{}},
		{name: "and minted as ever", world: owner("", ""), want: Send{}, check: mints("uid-1", "c-uid-1")},
		{name: "also with slashes, and its own name", world: owner("books/m-1", "Batch/9.1"), want: Send{}},
		refused("unless they begin as a tenant's", owner("tenant/m-1", ""), "MessageIdNotNamespaced"),
		refused("or a tenant's context", owner("m-1", "tenant/c-1"), "ContextIdNotNamespaced"),
		{name: "which nobody has where the RemoteAgent is not open", world: alone, want: Send{}},
	} {
		t.Run(r.name, r.run)
	}
}

func mints(messageID, contextID string) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, a Action, _ *v1alpha1.DelegationStatus) {
		if s, ok := a.(Send); ok && (s.Envelope.MessageID != messageID || s.Envelope.ContextID != contextID) {
			t.Errorf("goes as %+v, want %s in %s", s.Envelope, messageID, contextID)
		}
	}
}

// Who uses another namespace's id can't keep it from being used there.
func TestTenantRivals(t *testing.T) {
	against := func(w *world, change func(*v1alpha1.Delegation)) *world {
		other := w.Delegation.DeepCopy()
		other.Namespace, other.UID, other.CreationTimestamp.Time = "elsewhere", "uid-0", start.Add(-time.Hour)
		other.Spec.AgentRef = v1alpha1.AgentReference{Name: "finance", Namespace: "books"}
		w.Delegation.CreationTimestamp.Time = start
		if change != nil {
			change(other)
		}
		w.Related.SameMessage, w.Related.SameContext = []*v1alpha1.Delegation{other}, []*v1alpha1.Delegation{other}
		return w
	}
	journals := func(d *v1alpha1.Delegation) { d.Annotations = map[string]string{v1alpha1.AttemptAnnotation: "forged"} }
	elsewhere := func(d *v1alpha1.Delegation) { d.Spec.AgentRef.Namespace = "" }
	neighbour := func(d *v1alpha1.Delegation) { d.Namespace = "tenant" }
	converses := func(d *v1alpha1.Delegation) {
		d.Spec.MessageID, d.Status.TaskID = "elsewhere/m-1", "t-1"
	}
	inContext := against(owner("m-1", "c-named-by-agent"), converses)
	inContext.Related.SameMessage = nil
	for _, r := range []row{
		{name: "a tenant's id is used elsewhere", world: against(tenant("tenant/m-1", "tenant/c-1"), nil), want: Send{}},
		{name: "and looks as if it had been sent", world: against(tenant("tenant/m-1", "tenant/c-1"), journals), want: Send{}},
		{name: "the owner's id is used by a tenant", world: against(owner("m-1", "c-1"), journals), want: Send{}},
		{name: "the owner's id has its own name in it", world: against(owner("books/m-1", "books/c-1"), elsewhere), want: Send{}},
		{name: "and without it may be used at the endpoint by another RemoteAgent", world: against(owner("m-1", "c-1"), elsewhere),
			want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "MessageIdInUse"},
		{name: "two of one tenant have one messageId", world: against(tenant("tenant/m-1", "tenant/c-1"), neighbour),
			want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "MessageIdInUse"},
		{name: "a context that the agent named is a tenant's", world: inContext, want: Wait{}, writes: 1, phase: v1alpha1.PhaseRejected, reason: "ContextIdInUse"},
	} {
		t.Run(r.name, r.run)
	}
}

// What is said of a rival does not name another tenant.
func TestRivalsOfOtherNamespacesAreNotNamed(t *testing.T) {
	w := newWorld()
	other := w.Delegation.DeepCopy()
	other.Namespace, other.Name, other.UID, other.Status.Attempts = "secret-space", "secret-name", "uid-0", 1
	w.Related.SameMessage = []*v1alpha1.Delegation{other}
	record, ok := Next(w.Input).(Record)
	if !ok || record.Status.Phase != v1alpha1.PhaseRejected {
		t.Fatalf("%+v; want it refused", record)
	}
	for _, c := range record.Status.Conditions {
		if strings.Contains(c.Message, "secret-") {
			t.Errorf("the condition %s says: %s", c.Type, c.Message)
		}
	}
}

func TestTenantAdopts(t *testing.T) {
	adoptingAs := func(w *world, outcome Outcome, history ...string) *world {
		w.journalled(1).at(timeout + settle)
		w.Delegation.Status.Phase, w.Delegation.Status.Attempts = v1alpha1.PhaseUnknown, 1
		w.Delegation.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionAdopt, TaskID: "t-1"}
		w.result(CallGet, outcome)
		w.Result.TaskID = "t-1"
		if outcome == Accepted {
			w.Result.Task = &Task{ID: "t-1", State: v1alpha1.TaskStateWorking, Message: "the secret", History: history}
		}
		return w
	}
	adopting := func(outcome Outcome, history ...string) *world {
		return adoptingAs(tenant("tenant/m-1", "tenant/c-1"), outcome, history...)
	}
	alone := adoptingAs(owner("m-1", "c-1"), Accepted)
	alone.Agent.Shared = false
	refused := func(name string, w *world) row {
		return row{name: name, world: w, want: Wait{}, writes: 1, phase: v1alpha1.PhaseUnknown, reason: ReasonResolutionRefused,
			check: says("shows no task t-1 that holds message " + w.Delegation.Spec.MessageID)}
	}
	for _, r := range []row{
		{name: "a task that holds the message is bound", world: adopting(Accepted, "tenant/m-1"), want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
		refused("another's task is not", adopting(Accepted, "other/m-1")),
		refused("nor one that shows no history", adopting(Accepted)),
		refused("nor one in the owner's namespace, which shares", adoptingAs(owner("m-1", "c-1"), Accepted)),
		refused("and one that is not there reads the same", adopting(Absent)),
		refused("also where the agent refuses to show it", adopting(Refused)),
		{name: "alone at the agent it is enough that there is no history", world: alone, want: Follow{}, writes: 1, phase: v1alpha1.PhaseWorking, reason: "Working"},
	} {
		t.Run(r.name, r.run)
	}
}

func says(text string) func(*testing.T, Action, *v1alpha1.DelegationStatus) {
	return func(t *testing.T, _ Action, s *v1alpha1.DelegationStatus) {
		for _, c := range s.Conditions {
			if c.Type == v1alpha1.ConditionReady && !strings.Contains(c.Message, text) {
				t.Errorf("says %q, want %q in it", c.Message, text)
			}
		}
	}
}

// The task of a Delegation that the message continues or refines is used with the RemoteAgent of that Delegation only.
func TestTargetsAreAtTheSameAgent(t *testing.T) {
	for _, c := range []struct {
		name string
		ref  v1alpha1.AgentReference
		want v1alpha1.Phase
	}{
		{"the same", v1alpha1.AgentReference{Name: "finance", Namespace: "books"}, ""},
		{"one of that name in the own namespace", v1alpha1.AgentReference{Name: "finance"}, v1alpha1.PhaseRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := tenant("tenant/m-2", "")
			root := w.Delegation.DeepCopy()
			root.Name, root.UID, root.Spec.AgentRef = "root", types.UID("uid-root"), c.ref
			root.Status.TaskID, root.Status.ContextID, root.Status.State = "t-own", "c-own", v1alpha1.TaskStateCompleted
			w.Delegation.Spec.Refines = []v1alpha1.DelegationReference{{Name: "root"}}
			w.Related.Refined = []*v1alpha1.Delegation{root}
			if _, status, _ := settled(t, w.Input); status.Phase != c.want {
				t.Errorf("phase %q, want %q", status.Phase, c.want)
			}
		})
	}
}
