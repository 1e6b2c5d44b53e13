// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	// soon is how long a push may take to reach the status on a busy machine; a look without one comes far later.
	soon = 15 * time.Second
	// calm is how long nothing may happen.
	calm = 2 * time.Second
	// seldom is the time between two looks without pushes: longer than any test waits.
	seldom = 10 * time.Minute
)

// pushKey is the key of a test's managers.
func pushKey() []byte { return bytes.Repeat([]byte("k"), push.KeyBytes) }

// receiver is where a test's manager takes pushes.
type receiver struct {
	address string
	flags   []string
}

func newReceiver(t *testing.T) receiver {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, pushKey(), 0o600); err != nil {
		t.Fatal(err)
	}
	return receiverWith(t, "--push-key-file="+key)
}

func receiverWith(t *testing.T, keyFlag string) receiver {
	t.Helper()
	address := harness.FreeAddress(t)
	return receiver{address: address, flags: []string{"--push-bind-address=" + address, "--push-url=http://" + address + "/a2a", keyFlag}}
}

// post sends a push about a Delegation and returns the status of the answer.
func (r receiver) post(t *testing.T, uid types.UID, token, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.address+"/a2a/"+string(uid), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Notification-Token", token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func tokenOf(t *testing.T, uid types.UID) string {
	t.Helper()
	tokens, err := push.NewTokens(pushKey())
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Of(uid)
}

func statusPush(task string, state v1alpha1.TaskState, at time.Time) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":%q,"contextId":"c","status":{"state":%q,"timestamp":%q}}}`, task, state, at.UTC().Format(time.RFC3339Nano))
}

// requireSoon requires that a Delegation is completed not long after its agent says that the task is.
func requireSoon(t *testing.T, s *harness.Space, agent *harness.Agent, name string) {
	t.Helper()
	task := s.Await(name, "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" }).Status.TaskID
	harness.Eventually(t, harness.Patience, "the agent to complete the task", func(context.Context) (bool, string) {
		state := agent.TaskState(task)
		return state == string(v1alpha1.TaskStateCompleted), state
	})
	done := time.Now()
	s.AwaitWithin(harness.Patience, name, "to be completed", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseCompleted })
	took := time.Since(done)
	t.Logf("in the status %s after it was seen at the agent, without a poll for %s", took.Round(time.Millisecond), seldom)
	if took > soon {
		t.Errorf("the push took %s to reach the status, want at most %s", took, soon)
	}
}

// A state is in the status at once although no poll is due, and costs no more writes than a poll's.
func TestPush(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, delay string }{
		{"while the task is followed", "3s"},
		{"before the answer to the message is recorded", "1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, at := cluster.Space(t), newReceiver(t)
			agent := harness.StartAgent(t, "--push", "--delay="+c.delay)
			relay := harness.StartRelay(t, agent.URL, nil)
			proxy := s.StartAPIProxy()
			s.StartManagerBehind(proxy, at.flags...)
			s.Create(s.RemoteAgent(relay.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build())
			s.AwaitAgentReady(harness.AgentName)
			s.Create(s.Reconciliation("d").MessageID("m-1").Build())
			requireSoon(t, s, agent, "d")
			// The agent was told where to push with the message, and not to push any more at the end.
			harness.Eventually(t, harness.Patience, "the configuration to be taken back", func(context.Context) (bool, string) {
				calls := relay.Calls()
				return calls["DeleteTaskPushNotificationConfig"] == 1 && calls["CreateTaskPushNotificationConfig"] == 0, fmt.Sprint(calls)
			})
			requireQuiet(t, proxy, relay)
			agent.Require("m-1", 1, 1)
			if n := proxy.DelegationWrites()[harness.AmendDelegation]; n != 1 {
				t.Errorf("%d writes to the object, want the journal only", n)
			}
		})
	}
}

// What says nothing new writes nothing, whoever says it and however often; what is forged does not even cost a look.
func TestPushesThatAreNoNews(t *testing.T) {
	t.Parallel()
	s, at := cluster.Space(t), newReceiver(t)
	agent := harness.StartAgent(t, "--push", "--delay=10m")
	relay := harness.StartRelay(t, agent.URL, nil)
	proxy := s.StartAPIProxy()
	s.StartManagerBehind(proxy, at.flags...)
	s.Create(s.RemoteAgent(relay.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build())
	s.AwaitAgentReady(harness.AgentName)
	s.Create(s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	// The agent's own push, of the task that it made, has it looked at.
	awaitLooks(t, relay, 1)
	requireQuiet(t, proxy, relay)
	before, looks := proxy.DelegationWrites(), relay.Calls()["GetTask"]
	now, token := time.Now(), tokenOf(t, d.UID)
	for _, c := range []struct {
		name, token, body string
		uid               types.UID
		want, looks       int
	}{
		{"late", token, statusPush(d.Status.TaskID, v1alpha1.TaskStateWorking, now.Add(-time.Hour)), d.UID, 202, 1},
		{"late, again", token, statusPush(d.Status.TaskID, v1alpha1.TaskStateWorking, now.Add(-time.Hour)), d.UID, 202, 0},
		{"of an end that is not true", token, statusPush(d.Status.TaskID, v1alpha1.TaskStateCompleted, now), d.UID, 202, 1},
		{"reordered after it", token, statusPush(d.Status.TaskID, v1alpha1.TaskStateWorking, now.Add(-time.Second)), d.UID, 202, 1},
		{"of another task", token, statusPush("t-other", v1alpha1.TaskStateFailed, now), d.UID, 202, 1},
		{"no JSON", token, "<xml/>", d.UID, 202, 1},
		{"forged: no token", "", statusPush(d.Status.TaskID, v1alpha1.TaskStateFailed, now), d.UID, 401, 0},
		{"forged: a token of another key", strings.Repeat("A", 43), statusPush(d.Status.TaskID, v1alpha1.TaskStateFailed, now), d.UID, 401, 0},
		{"of a Delegation that is not there", tokenOf(t, "uid"), statusPush("t", v1alpha1.TaskStateFailed, now), "uid", 404, 0},
	} {
		if got := at.post(t, c.uid, c.token, c.body); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
		looks += c.looks
		harness.Eventually(t, harness.Patience, fmt.Sprintf("%d looks after a push that is %s", looks, c.name), func(context.Context) (bool, string) {
			calls := relay.Calls()["GetTask"]
			return calls == looks, fmt.Sprint(calls)
		})
	}
	harness.Throughout(t, calm, "nothing is written or asked", func(context.Context) (bool, string) {
		writes, calls := proxy.DelegationWrites(), relay.Calls()
		return maps.Equal(writes, before) && calls["GetTask"] == looks, fmt.Sprintf("writes %v after %v, calls %v after %d looks", writes, before, calls, looks)
	})
}

// Pushes come to the replica that does not lead: the one that does hears of them through the API server. Both have the
// key from the Secret in their namespace, by the permissions of the manifests.
func TestPushToTheReplicaThatDoesNotLead(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	shared := "--push-key-namespace=" + harness.OperatorNamespace
	lease := []string{"--leader-elect", "--leader-election-namespace=" + harness.OperatorNamespace}
	leaderAt, otherAt := receiverWith(t, shared), receiverWith(t, shared)
	// Agents are told the address of the one that does not lead.
	leaderAt.flags[1] = otherAt.flags[1]
	agent := harness.StartAgent(t, "--push", "--delay=4s")
	leader := s.StartAPIProxy()
	s.StartManagerBehind(leader, append(leaderAt.flags, lease...)...)
	s.Create(s.RemoteAgent(agent.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build())
	s.AwaitAgentReady(harness.AgentName) // it leads
	other := s.StartAPIProxy()
	standby := s.StartManagerBehind(other, append(otherAt.flags, lease...)...)
	harness.Eventually(t, harness.Patience, "the other replica to take pushes", func(context.Context) (bool, string) {
		return strings.Contains(standby.Output(), "taking push notifications"), standby.Output()
	})
	s.Create(s.Reconciliation("d").MessageID("m-1").Build())
	requireSoon(t, s, agent, "d")
	agent.Require("m-1", 1, 1)
	hint := s.Get("d").Annotations[v1alpha1.HintAnnotation]
	if !strings.HasPrefix(hint, string(v1alpha1.TaskStateCompleted)) {
		t.Errorf("the hint is %q", hint)
	}
	// One for the end and at most one for the state before it.
	if n := other.DelegationWrites(); n[harness.AmendDelegation] < 1 || n[harness.AmendDelegation] > 2 || n[harness.UpdateStatus] != 0 {
		t.Errorf("the replica that does not lead wrote %v", n)
	}
}

// Tokens outlive the manager that made them.
func TestPushAfterARestart(t *testing.T) {
	t.Parallel()
	s, at := cluster.Space(t), newReceiver(t)
	agent := harness.StartAgent(t, "--push", "--delay=10s")
	first := s.StartManager(at.flags...)
	s.Create(s.RemoteAgent(agent.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	s.Await("d", "to be at work", func(d *v1alpha1.Delegation) bool { return d.Status.State == v1alpha1.TaskStateWorking })
	first.Kill()
	s.StartManager(at.flags...)
	requireSoon(t, s, agent, "d")
	agent.Require("m-1", 1, 1)
}

// The agent's answer is lost and its task found by a lookup: it is told where to push all the same.
func TestPushOfATaskThatWasFound(t *testing.T) {
	t.Parallel()
	s, at := cluster.Space(t), newReceiver(t)
	agent := harness.StartAgent(t, "--push", "--dedup=false", "--delay=6s")
	relay := harness.StartRelay(t, agent.URL, nil)
	relay.LoseAnswers(1)
	s.StartManager(at.flags...)
	s.Create(s.RemoteAgent(relay.URL).Mode(v1alpha1.UpdatesPush).Poll(seldom, seldom).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	requireSoon(t, s, agent, "d")
	if d := s.Get("d"); d.Status.RecoveredBy != v1alpha1.RecoveredByLookup {
		t.Errorf("%s; want it found", harness.Describe(d))
	}
	if n := relay.Calls()["CreateTaskPushNotificationConfig"]; n != 1 {
		t.Errorf("the agent was told %d times, want once", n)
	}
	agent.Require("m-1", 1, 1)
}

// An agent whose card promises pushes and that refuses them gets the message without, and is not asked again.
func TestAnAgentThatRefusesPushes(t *testing.T) {
	t.Parallel()
	s, at := cluster.Space(t), newReceiver(t)
	agent := harness.StartAgent(t, "--dedup=false")
	relay := harness.StartRelay(t, agent.URL, nil, promisingPushes)
	s.StartManager(at.flags...)
	s.Create(s.RemoteAgent(relay.URL).Mode(v1alpha1.UpdatesPush).Build(), s.Reconciliation("first").MessageID("m-1").Build())
	if d := s.AwaitPhase("first", v1alpha1.PhaseCompleted); d.Status.Attempts != 1 {
		t.Errorf("%s; want one attempt", harness.Describe(d))
	}
	agent.Require("m-1", 2, 1)
	s.Create(s.Reconciliation("second").MessageID("m-2").Build())
	s.AwaitPhase("second", v1alpha1.PhaseCompleted)
	agent.Require("m-2", 1, 1)
	if calls := relay.Calls(); calls["DeleteTaskPushNotificationConfig"]+calls["CreateTaskPushNotificationConfig"] != 0 {
		t.Errorf("calls %v; want none about pushes", calls)
	}
}

// promisingPushes makes a card say what the agent does not keep.
func promisingPushes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, r)
		var card map[string]any
		if json.Unmarshal(kept.Body.Bytes(), &card) != nil {
			http.Error(w, "no card", http.StatusBadGateway)
			return
		}
		card["capabilities"].(map[string]any)["pushNotifications"] = true
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(card)
	})
}
