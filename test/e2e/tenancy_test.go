// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// tenants are two namespaces that use the RemoteAgent of a third one, with one manager for all.
type tenants struct {
	owner, a, b *harness.Space
}

func startTenants(t *testing.T) tenants {
	t.Helper()
	s := tenants{owner: cluster.Space(t), a: cluster.Space(t), b: cluster.Space(t)}
	s.owner.StartManager("--namespaces", strings.Join([]string{s.owner.Namespace, s.a.Namespace, s.b.Namespace}, ","))
	return s
}

// id is one as a namespace has to write it.
func id(s *harness.Space, name string) string { return s.Namespace + "/" + name }

// One namespace's RemoteAgent and Secret serve another, which names its messages itself, deletes and applies again, and
// follows up.
func TestTenant(t *testing.T) {
	t.Parallel()
	s := startTenants(t)
	agent := harness.StartAgent(t, "--bearer-token=right")
	s.owner.Create(s.owner.Secret("credentials", map[string]string{"token": "right"}),
		s.owner.RemoteAgent(agent.URL).Bearer("credentials", "token").OpenTo(nil).Build())
	agent.Token = "right"
	object := s.a.Reconciliation("d").AgentIn(s.owner.Namespace, harness.AgentName).MessageID(id(s.a, "m-71")).With(func(spec *v1alpha1.DelegationSpec) {
		spec.DeletionPolicy = v1alpha1.DeletionOrphan
	})
	s.a.Create(object.Build())
	first := s.a.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if first.Spec.ContextID != id(s.a, "c-m-71") {
		t.Errorf("contextId is %q", first.Spec.ContextID)
	}
	s.a.Delete(first)
	s.a.AwaitGone(first)
	s.a.Create(object.Build(), s.a.Reconciliation("minted").AgentIn(s.owner.Namespace, harness.AgentName).Build())
	again := s.a.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if again.Status.TaskID != first.Status.TaskID || again.Status.RecoveredBy != v1alpha1.RecoveredByLookup {
		t.Errorf("%s", harness.Describe(again))
	}
	if minted := s.a.AwaitPhase("minted", v1alpha1.PhaseCompleted); minted.Spec.MessageID != id(s.a, string(minted.UID)) {
		t.Errorf("minted %q", minted.Spec.MessageID)
	}
	s.a.Create(s.a.Refinement("more", "d", "summarize").AgentIn(s.owner.Namespace, harness.AgentName).Build())
	if more := s.a.AwaitPhase("more", v1alpha1.PhaseCompleted); more.Status.ContextID != first.Status.ContextID {
		t.Errorf("%s", harness.Describe(more))
	}
	agent.Require(id(s.a, "m-71"), 1, 1)
}

// attack is what somebody tries who may write Delegations in one namespace, to reach a task of another's.
type attack struct {
	name string
	// from is the namespace, b where it is nil.
	from *harness.Space
	// object is what is created.
	object *v1alpha1.Delegation
	// phase and reason are what comes of it.
	phase  v1alpha1.Phase
	reason string
	// then is done once it is there.
	then func(name string)
}

func attacks(s tenants, victim *v1alpha1.Delegation) []attack {
	open := func(name string) *harness.DelegationBuilder {
		return s.b.Reconciliation(name).AgentIn(s.owner.Namespace, harness.AgentName)
	}
	forged := func(b *harness.DelegationBuilder, a outbox.Attempt) *v1alpha1.Delegation {
		a.Number, a.Holder, a.Body, a.Endpoint = 1, "somebody", "sha256:body", "endpoint"
		a.First, a.Started, a.Deadline = time.Now().Add(-time.Hour), time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)
		d := b.Build()
		if err := a.Annotate(d); err != nil {
			panic(err)
		}
		return d
	}
	answer := s.b.Answer("continues", "q", "approve by Mallory").AgentIn(s.owner.Namespace, harness.AgentName)
	follow := s.b.Refinement("refines", "q", "summarize").AgentIn(s.owner.Namespace, harness.AgentName)
	secret := v1alpha1.Part{ValueFrom: &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "credentials", Key: "token"}}}
	adopts := func(name string) {
		s.b.AwaitPhase(name, v1alpha1.PhaseUnknown)
		s.b.RunCommand(name, "Adopt", "TASK", victim.Status.TaskID)
	}
	beside := func(name string) *harness.DelegationBuilder { return s.owner.Reconciliation(name) }
	return []attack{
		{name: "the owner copies the messageId", from: s.owner, object: beside("message-id").MessageID(victim.Spec.MessageID).Build(), phase: v1alpha1.PhaseRejected, reason: "MessageIdNotNamespaced"},
		{name: "the owner copies the contextId", from: s.owner, object: beside("context-id").ContextID(victim.Spec.ContextID).Build(), phase: v1alpha1.PhaseRejected, reason: "ContextIdNotNamespaced"},
		{name: "the owner writes a journal with the task", from: s.owner, object: forged(beside("journal-task"), outbox.Attempt{Task: victim.Status.TaskID}), phase: v1alpha1.PhaseSending, reason: "TargetNotFound"},
		{name: "a copied messageId", object: open("message-id").MessageID(victim.Spec.MessageID).Build(), phase: v1alpha1.PhaseRejected, reason: "MessageIdNotNamespaced"},
		{name: "the owner's messageId", object: open("owners-id").MessageID("m-owner").Build(), phase: v1alpha1.PhaseRejected, reason: "MessageIdNotNamespaced"},
		{name: "a copied contextId", object: open("context-id").ContextID(victim.Spec.ContextID).Build(), phase: v1alpha1.PhaseRejected, reason: "ContextIdNotNamespaced"},
		{name: "continues by name", object: answer.Build(), phase: v1alpha1.PhasePending, reason: "TargetNotFound"},
		{name: "refines by name", object: follow.Build(), phase: v1alpha1.PhasePending, reason: "TargetNotFound"},
		{name: "a journal with the messageId", object: forged(open("journal-id").MessageID(victim.Spec.MessageID), outbox.Attempt{}), phase: v1alpha1.PhaseSending, reason: "MessageIdNotNamespaced"},
		{name: "a journal with the task", object: forged(open("journal-task"), outbox.Attempt{Task: victim.Status.TaskID}), phase: v1alpha1.PhaseSending, reason: "TargetNotFound"},
		{name: "a journal that refers to the task", object: forged(open("journal-reference"), outbox.Attempt{References: []string{victim.Status.TaskID}}), phase: v1alpha1.PhaseSending, reason: "TargetNotFound"},
		{name: "adopts the task", object: open("adopts").Agent("lossy").Build(), phase: v1alpha1.PhaseUnknown, reason: outbox.ReasonResolutionRefused, then: adopts},
		{name: "a RemoteAgent that is not open", object: s.b.Reconciliation("closed").AgentIn(s.owner.Namespace, "closed").Build(), phase: v1alpha1.PhasePending, reason: "AgentNotFound"},
		{name: "a RemoteAgent without its namespace", object: s.b.Reconciliation("here").Build(), phase: v1alpha1.PhasePending, reason: "AgentNotFound"},
		{name: "a Secret of another namespace", object: open("secret").Part(secret).Build(), phase: v1alpha1.PhasePending, reason: "MessageSourceNotFound"},
	}
}

// A tenant tries what it can to reach another's task, and its RemoteAgent's owner's Secret. The task gets no message but its
// own, the other's question can be answered as if nothing had been, and nothing of it is told.
func TestATenantTries(t *testing.T) {
	t.Parallel()
	s := startTenants(t)
	agent := harness.StartAgent(t, "--bearer-token=right")
	lossy := harness.StartRelay(t, agent.URL, nil)
	lossy.LoseAnswers(1)
	undecided := func(spec *v1alpha1.RemoteAgentSpec) {
		spec.Contract.Deduplication = &v1alpha1.Deduplication{Mode: v1alpha1.DeduplicationNone}
		spec.Contract.Deduplication.Retention.Duration = time.Hour
	}
	agent.Token = "right"
	s.owner.Create(s.owner.Secret("credentials", map[string]string{"token": "right"}),
		s.owner.RemoteAgent(agent.URL).Bearer("credentials", "token").OpenTo(nil).Build(),
		s.owner.RemoteAgent(agent.URL).Named("closed").Bearer("credentials", "token").Build(),
		s.owner.RemoteAgent(lossy.URL).Named("lossy").Bearer("credentials", "token").OpenTo(nil).
			AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupNone, shortSettle).With(undecided).Build())
	s.a.Create(s.a.Question("q").AgentIn(s.owner.Namespace, harness.AgentName).MessageID(id(s.a, "m-71")).ContextID(id(s.a, "c-1")).Build())
	victim := s.a.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	// Who has no credentials can still send something to the endpoint, and so have the next id first.
	s.b.Create(s.b.RemoteAgent(agent.URL).Named("mine").Build(), s.b.Reconciliation("first").Agent("mine").MessageID(id(s.a, "m-72")).Build())
	s.b.AwaitReason("first", outbox.ReasonAuthenticationFailed)
	t.Run("tries", func(t *testing.T) {
		for _, a := range attacks(s, victim) {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				from := s.b
				if a.from != nil {
					from = a.from
				}
				from = from.In(t)
				from.Create(a.object)
				if a.then != nil {
					a.then(a.object.Name)
				}
				d := from.AwaitReason(a.object.Name, a.reason)
				if d.Status.Phase != a.phase || d.Status.TaskID != "" {
					t.Errorf("%s; want phase %s and no task", harness.Describe(d), a.phase)
				}
				requireNothingTold(t, d, victim)
			})
		}
	})
	if got, want := agent.TaskMessages(victim.Status.TaskID), []string{victim.Spec.MessageID}; !slices.Equal(got, want) {
		t.Errorf("the task has the messages %q; want %q", got, want)
	}
	for sent := range agent.Ledger() {
		if sent != victim.Spec.MessageID && sent != id(s.b, string(s.b.Get("adopts").UID)) {
			t.Errorf("the agent was sent %s", sent)
		}
	}
	s.a.Create(s.a.Answer("a", "q", "approve by Ada").AgentIn(s.owner.Namespace, harness.AgentName).MessageID(id(s.a, "m-72")).Build())
	s.a.AwaitPhase("q", v1alpha1.PhaseCompleted)
}

// requireNothingTold fails where a status tells of another namespace's Delegation.
func requireNothingTold(t *testing.T, d, victim *v1alpha1.Delegation) {
	t.Helper()
	text, err := json.Marshal(d.Status)
	if err != nil {
		t.Fatal(err)
	}
	// What the object's own spec names may be repeated.
	own, err := json.Marshal(d.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]string{"question": victim.Status.Question, "namespace": victim.Namespace, "UID": string(victim.UID), "digest": victim.Status.BodyDigest} {
		if bytes.Contains(text, []byte(secret)) && !bytes.Contains(own, []byte(secret)) {
			t.Errorf("the status tells of the other's %s: %s", what, text)
		}
	}
}

// The owner takes an allowance back: nothing more is sent, and what the agent has accepted is followed, and canceled.
func TestAllowanceIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := startTenants(t)
	agent := harness.StartAgent(t)
	ra := s.owner.RemoteAgent(agent.URL).OpenTo(map[string]string{"team": "books"}).Build()
	s.owner.Create(ra)
	s.a.Create(s.a.Question("q").AgentIn(s.owner.Namespace, harness.AgentName).Build())
	waiting := s.a.AwaitReason("q", "AgentNotFound")
	if message := harness.Ready(waiting).Message; !strings.Contains(message, "spec.allowedNamespaces") {
		t.Errorf("the condition does not say what the owner has to set: %s", message)
	}
	s.a.Kubectl("label", "namespace", s.a.Namespace, "team=books")
	s.owner.Kubectl("annotate", "remoteagent", harness.AgentName, "changed=since") // the labels alone would be seen within a minute
	q := s.a.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	s.a.Kubectl("label", "namespace", s.a.Namespace, "team-")
	s.a.Create(s.a.Answer("a", "q", "approve by Ada").AgentIn(s.owner.Namespace, harness.AgentName).Build())
	s.a.AwaitReason("a", "AgentNotFound")
	s.owner.Delete(ra)
	s.owner.AwaitAgentReason(harness.AgentName, v1alpha1.ConditionReconciling, "InUse")
	s.a.Delete(q)
	s.a.AwaitGone(q)
	s.owner.AwaitGone(ra)
	if state := agent.TaskState(q.Status.TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s; want it canceled", state)
	}
	if got := agent.TaskMessages(q.Status.TaskID); len(got) != 1 {
		t.Errorf("the task has the messages %q; want the first alone", got)
	}
}

// recording notes the ids of messages in the order in which they pass.
type recording struct {
	mu  sync.Mutex
	ids []string
}

func (r *recording) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		var call struct {
			Method string
			Params struct{ Message struct{ MessageID string } }
		}
		if json.Unmarshal(body, &call) == nil && call.Method == harness.SendMessage {
			r.mu.Lock()
			r.ids = append(r.ids, call.Params.Message.MessageID)
			r.mu.Unlock()
		}
		next.ServeHTTP(w, req)
	})
}

func (r *recording) order() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// One tenant's many messages, at an agent that takes few at a time, do not hold up another's one.
func TestOneTenantsMessagesHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	const many = 150
	s := startTenants(t)
	record := &recording{}
	relay := harness.StartRelay(t, harness.StartInstantAgent(t, harness.AnswerCompletedTask), nil, record.around)
	few := func(spec *v1alpha1.RemoteAgentSpec) {
		spec.Delivery.MaxInFlight, spec.Delivery.RequestsPerSecond = 2, 10
	}
	for i := range many {
		s.a.Create(s.a.Delegation(fmt.Sprintf("d-%d", i)).AgentIn(s.owner.Namespace, harness.AgentName).Build())
	}
	s.owner.Create(s.owner.RemoteAgent(relay.URL).OpenTo(nil).With(few).Build())
	s.a.Await("d-0", "or another to be sent", func(*v1alpha1.Delegation) bool { return len(record.order()) > 0 })
	s.b.Create(s.b.Delegation("one").AgentIn(s.owner.Namespace, harness.AgentName).Build())
	before := len(record.order())
	one := s.b.AwaitPhase("one", v1alpha1.PhaseCompleted)
	at := slices.Index(record.order(), one.Spec.MessageID)
	t.Logf("sent as number %d, created when %d of %d had been sent", at+1, before, many)
	if at > before+many/3 {
		t.Errorf("the one was sent as number %d, and %d were sent when it was created", at+1, before)
	}
}
