// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// journal is what the API server holds of a message at a moment.
type journal struct {
	messageID, contextID, finalizer string
	attempt                         outbox.Attempt
}

// readJournal reads it as anybody else would: from the API server, not from a cache.
func readJournal(ctx context.Context, s *harness.Space, name string) (journal, error) {
	d := &v1alpha1.Delegation{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, d); err != nil {
		return journal{}, err
	}
	j := journal{messageID: d.Spec.MessageID, contextID: d.Spec.ContextID}
	if len(d.Finalizers) > 0 {
		j.finalizer = d.Finalizers[0]
	}
	return j, json.Unmarshal([]byte(d.Annotations[v1alpha1.AttemptAnnotation]), &j.attempt)
}

func TestTheIdsAreStoredBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=500ms")
	var mu sync.Mutex
	var seen []string
	var first journal
	relay := harness.StartRelay(t, agent.URL, func() {
		j, err := readJournal(t.Context(), s, "d")
		mu.Lock()
		defer mu.Unlock()
		if seen = append(seen, fmt.Sprintf("%+v, error %v", j, err)); len(seen) == 1 {
			first = j
		}
	})
	s.StartManager()
	// With the endpoint given by hand no card is read, so that the first byte is that of the message.
	s.Create(s.RemoteAgent("").Endpoint(relay.URL+"/a2a").Deduplicates().Build(), s.Reconciliation("d").Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)

	mu.Lock()
	defer mu.Unlock()
	if first.messageID == "" || first.contextID == "" || first.finalizer != v1alpha1.DeliveryFinalizer ||
		first.attempt.Number != 1 || first.attempt.Body == "" {
		t.Errorf("at the first byte the API server held %v; want the ids, the finalizer and attempt 1", seen)
	}
	if d.Spec.MessageID != first.messageID || d.Spec.ContextID != first.contextID {
		t.Errorf("the ids became %q and %q; they were %q and %q", d.Spec.MessageID, d.Spec.ContextID, first.messageID, first.contextID)
	}
	agent.Require(d.Spec.MessageID, 1, 1)
	if len(agent.Ledger()) != 1 {
		t.Errorf("the agent saw %v; want the one message", agent.Ledger())
	}
}

// A messageId that was minted stays: whatever is lost, whoever restarts, and whoever tries to change it.
func TestAMintedMessageIDStays(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--lose-responses=2", "--delay=1s")
	manager := s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").Build())
	minted := s.AwaitJournal("d").Spec.MessageID
	if minted == "" {
		t.Fatal("an attempt is on record without a messageId")
	}
	if out, err := s.TryKubectl("patch", "delegation", "d", "--type=json", `--patch=[{"op":"remove","path":"/spec/messageId"}]`); err == nil {
		t.Errorf("the messageId could be removed: %s", out)
	}
	agent.AwaitReceived(minted, 1)
	manager.Kill()
	s.StartManager()
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if d.Spec.MessageID != minted {
		t.Errorf("messageId = %q; it was %q", d.Spec.MessageID, minted)
	}
	if r := agent.Record(minted); len(agent.Ledger()) != 1 || r.Accepted != 1 || r.Bodies != 1 {
		t.Errorf("the agent saw %v; want one message with one task", agent.Ledger())
	}
}
