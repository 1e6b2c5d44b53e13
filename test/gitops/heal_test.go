// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// Applying what is there already writes nothing, by either way to apply, while the task runs and when it is done: the
// operator's status is no drift, and neither are the ids that it added to the spec.
func TestApplyingAgainIsNoWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		delay     string
		phase     v1alpha1.Phase
		messageID string
		// minted are the fields of the spec that the operator wrote.
		minted []string
	}{
		{name: "under way", delay: "10m", phase: v1alpha1.PhaseSubmitted, messageID: "m-71", minted: []string{"f:contextId"}},
		{name: "done", delay: "0s", phase: v1alpha1.PhaseCompleted, messageID: "m-71", minted: []string{"f:contextId"}},
		{name: "without messageId", delay: "0s", phase: v1alpha1.PhaseCompleted, minted: []string{"f:contextId", "f:messageId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, "--delay="+c.delay)
			s.StartManager()
			git := newRepository(t)
			ra := s.RemoteAgent(agent.URL).With(func(ra *v1alpha1.RemoteAgentSpec) { ra.Delivery.AttemptTimeout.Duration = time.Minute })
			git.commit(ra.Build(), s.Reconciliation("d").MessageID(c.messageID).With(func(d *v1alpha1.DelegationSpec) {
				d.DeliveryDeadline.Duration = 24 * time.Hour
			}).Build())
			git.apply(s)
			d := s.AwaitPhase("d", c.phase)
			for range 2 {
				git.apply(s)
			}
			if out, err := s.TryKubectl("diff", "--server-side", "--field-manager=gitops", "-f", git.dir); err != nil {
				t.Errorf("the status is drift: %v\n%s", err, out)
			}
			if now := s.Get("d"); now.ResourceVersion != d.ResourceVersion {
				t.Errorf("resourceVersion %s before and %s after: %s", d.ResourceVersion, now.ResourceVersion, harness.Describe(now))
			}
			if got := specFields(t, d, "gitops"); !slices.Equal(got, c.minted) {
				t.Errorf("others than Git own %q of the spec; want %q", got, c.minted)
			}
			agent.Require(d.Spec.MessageID, 1, 1)
		})
	}
	t.Run("client-side", func(t *testing.T) {
		t.Parallel()
		s := cluster.Space(t)
		agent := harness.StartAgent(t)
		s.StartManager()
		git := newRepository(t)
		git.commit(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-71").Build())
		s.Kubectl("apply", "-f", git.dir)
		s.AwaitPhase("d", v1alpha1.PhaseCompleted)
		if out := s.Kubectl("apply", "-f", git.dir); strings.Count(out, "unchanged") != 2 {
			t.Errorf("applied again:\n%s", out)
		}
	})
}

// specFields returns which fields of the spec belong to others than one manager.
func specFields(t *testing.T, d *v1alpha1.Delegation, except string) []string {
	t.Helper()
	fields := map[string]bool{}
	for _, entry := range d.ManagedFields {
		if entry.Manager == except || entry.Subresource != "" {
			continue
		}
		var owned struct {
			Spec map[string]any `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned); err != nil {
			t.Fatal(err)
		}
		for name := range owned.Spec {
			fields[name] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// What a person sets that the manifest does not name stays; what the manifest names is set back.
func TestSelfHealing(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	git := newRepository(t)
	ttl := int32(3600)
	git.commit(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-71").With(func(d *v1alpha1.DelegationSpec) {
		d.TTLSecondsAfterFinished = &ttl
	}).Build())
	git.apply(s)
	s.AwaitPhase("d", v1alpha1.PhaseSubmitted)
	patchSpec(`{"ttlSecondsAfterFinished":7200,"cancel":true}`)(s)
	s.AwaitPhase("d", v1alpha1.PhaseCanceled)
	s.Kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", git.dir)
	if d := s.Get("d"); *d.Spec.TTLSecondsAfterFinished != ttl || !d.Spec.Cancel || d.Status.Phase != v1alpha1.PhaseCanceled {
		t.Errorf("ttlSecondsAfterFinished %d, cancel %v: %s", *d.Spec.TTLSecondsAfterFinished, d.Spec.Cancel, harness.Describe(d))
	}
	agent.Require("m-71", 1, 1)
}

// A manifest that was changed after the message was sent is refused, with what to do instead, and nothing is lost. So is one
// that takes a cancel back.
func TestAChangedManifestIsRefused(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	git := newRepository(t)
	d := s.Reconciliation("d").MessageID("m-71").Build()
	git.commit(s.RemoteAgent(agent.URL).Build(), d)
	git.apply(s)
	sent := s.AwaitPhase("d", v1alpha1.PhaseSubmitted)
	git.commit(s.Reconciliation("d").MessageID("m-71").Text("and October").Build())
	refused(t, s, []string{"apply", "--server-side", "--field-manager=gitops", "-f", git.dir}, "create a new Delegation, with refines to follow up")
	// Argo CD's Replace=true sends the manifest as the whole object, without what the operator added.
	git.commit(d)
	refused(t, s, []string{"replace", "-f", git.path(d)}, "contextId is immutable once set")
	if now := s.Get("d"); now.ResourceVersion != sent.ResourceVersion {
		t.Errorf("a refused manifest changed the object: %s", harness.Describe(now))
	}
	patchSpec(`{"cancel":true}`)(s)
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":"Delegation","metadata":{"name":"d"},"spec":{"cancel":false}}`, v1alpha1.GroupVersion)
	refused(t, s, []string{"patch", "delegation", "d", "--type=merge", "-p", text}, "a cancel can't be taken back")
	agent.Require("m-71", 1, 1)
}

func refused(t *testing.T, s *harness.Space, args []string, why string) {
	t.Helper()
	if out, err := s.TryKubectl(args...); err == nil || !strings.Contains(out, why) {
		t.Errorf("kubectl %q: %v: %s; want it refused: %s", args, err, out, why)
	}
}

// Pruning is a deletion: what becomes of a task that runs is in deletionPolicy.
func TestPruning(t *testing.T) {
	t.Parallel()
	for policy, state := range map[v1alpha1.DeletionPolicy]v1alpha1.TaskState{
		v1alpha1.DeletionCancel: v1alpha1.TaskStateCanceled,
		v1alpha1.DeletionOrphan: v1alpha1.TaskStateSubmitted,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, "--delay=10m")
			s.StartManager()
			git := newRepository(t)
			manifest := s.Reconciliation("d").MessageID("m-71").With(func(d *v1alpha1.DelegationSpec) { d.DeletionPolicy = policy }).Build()
			git.commit(s.RemoteAgent(agent.URL).Build(), manifest)
			git.apply(s)
			d := s.AwaitPhase("d", v1alpha1.PhaseSubmitted)
			s.Kubectl("delete", "--wait=false", "-f", git.path(manifest))
			s.AwaitGone(d)
			if got := agent.TaskState(d.Status.TaskID); got != string(state) {
				t.Errorf("the task is in state %s; want %s", got, state)
			}
			agent.Require("m-71", 1, 1)
		})
	}
}

// A commit that is reverted, and the revert reverted: the old messageId names the old message, and finds the task that the
// prune has canceled. To have the work done anew takes a new messageId.
func TestARevertedRevert(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"deduplication": {"--history=false"}, "history": {"--dedup=false"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, append(flags, "--delay=10m")...)
			s.StartManager()
			git := newRepository(t)
			manifest := s.Reconciliation("d").MessageID("m-71").Build()
			git.commit(s.RemoteAgent(agent.URL).Build(), manifest)
			git.apply(s)
			d := s.AwaitPhase("d", v1alpha1.PhaseSubmitted)
			s.Kubectl("delete", "--wait=false", "-f", git.path(manifest))
			s.AwaitGone(d)
			before := tasks(agent)
			git.apply(s)
			again := s.AwaitPhase("d", v1alpha1.PhaseCanceled)
			if again.Status.TaskID != d.Status.TaskID {
				t.Errorf("found task %q; want %q", again.Status.TaskID, d.Status.TaskID)
			}
			requireTasks(t, agent, before)
			git.commit(s.Reconciliation("d-2").MessageID("m-71b").Build())
			git.apply(s)
			s.AwaitPhase("d-2", v1alpha1.PhaseSubmitted)
			agent.Require("m-71b", 1, 1)
		})
	}
}

// The order in which manifests come does not matter: each waits for what it names.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	s.StartManager()
	objects := append(conversation(s), s.RemoteAgent(agent.URL).Build())
	objects[0], objects[2] = objects[2], objects[0]
	for i, o := range objects {
		git := newRepository(t)
		git.commit(o)
		git.apply(s)
		if i < len(objects)-1 {
			// It was seen, and waits.
			s.Await(o.GetName(), "to be Pending", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhasePending })
		}
	}
	for _, name := range []string{"reconcile", "approve", "revise"} {
		s.AwaitPhase(name, v1alpha1.PhaseCompleted)
	}
	for id, n := range map[string]int{"m-71": 1, "m-72": 0, "m-73": 1} {
		agent.Require(id, 1, n)
	}
}

// The actions are what people would patch: the API server takes each of them and the operator does it.
func TestArgoActions(t *testing.T) {
	t.Parallel()
	actions := readActions(t)
	for _, c := range []struct {
		action string
		state  string
		want   func(*v1alpha1.Delegation) bool
	}{
		{"cancel", "submitted", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseCanceled }},
		{"resume", "suspended", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" }},
		{"abandon", "unknown", func(d *v1alpha1.Delegation) bool { return harness.Ready(d).Reason == "Abandoned" }},
		{"resend", "unknown", func(d *v1alpha1.Delegation) bool { return d.Status.Attempts == 2 && d.Status.TaskID != "" }},
	} {
		t.Run(c.action, func(t *testing.T) {
			t.Parallel()
			for _, in := range states {
				if in.name != c.state {
					continue
				}
				s, d := reach(t, in)
				spec, err := json.Marshal(actions.patch(t, c.action, d))
				if err != nil {
					t.Fatal(err)
				}
				patchSpec(string(spec))(s)
				s.Await("d", "to be as the action says", c.want)
			}
		})
	}
	for _, d := range actions.Definitions {
		if !strings.Contains(actions.Discovery, `["`+d.Name+`"]`) {
			t.Errorf("action %s is never offered", d.Name)
		}
	}
}
