// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// backup is an object as a backup holds it: complete, but for what belongs to the server that it was on.
func backup(t *testing.T, s *harness.Space, kind, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, u); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences", "namespace"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u
}

// file writes an object into a file.
func file(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), u.GetName()+".yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wipe removes objects behind the operator's back, as the loss of etcd does.
func wipe(t *testing.T, s *harness.Space, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := s.Client.Patch(t.Context(), o.DeepCopyObject().(client.Object), patch); err != nil {
			t.Fatal(err)
		}
		s.Delete(o)
		s.AwaitGone(o.DeepCopyObject().(client.Object))
	}
}

// Objects restored from a backup, with and without their status, make no further task, whatever the agent keeps. The journal
// is an annotation and comes back with the object: so even an agent that keeps nothing gets nothing twice.
func TestRestoreFromABackup(t *testing.T) {
	t.Parallel()
	done := outcome{v1alpha1.PhaseCompleted, "Completed", ""}
	for _, c := range []struct {
		name   string
		flags  []string
		status bool
		want   outcome
		read   status.Status
		// received is how often the message came in all.
		received int
	}{
		{name: "without status: an agent that deduplicates", want: outcome{v1alpha1.PhaseCompleted, "Completed", v1alpha1.RecoveredByReplay}, read: status.CurrentStatus, received: 2},
		{name: "without status: an agent that only keeps the history", flags: []string{"--dedup=false"}, want: found, read: status.CurrentStatus, received: 1},
		{name: "without status: an agent that keeps neither", flags: []string{"--dedup=false", "--history=false"},
			want: outcome{v1alpha1.PhaseUnknown, "OutcomeUnknown", ""}, read: status.FailedStatus, received: 1},
		{name: "without status: an agent that has forgotten the messageId", flags: []string{"--retention=1s"}, want: found, read: status.CurrentStatus, received: 1},
		{name: "with status: an agent that deduplicates", status: true, want: done, read: status.CurrentStatus, received: 1},
		{name: "with status: an agent that only keeps the history", flags: []string{"--dedup=false"}, status: true, want: done, read: status.CurrentStatus, received: 1},
		{name: "with status: an agent that keeps neither", flags: []string{"--dedup=false", "--history=false"}, status: true, want: done, read: status.CurrentStatus, received: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, c.flags...)
			manager := s.StartManager()
			ra := s.RemoteAgent(agent.URL).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, shortSettle).Build()
			// Without a messageId in the manifest: it is in the backup all the same.
			s.Create(ra, s.Reconciliation("d").Build())
			first := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			manager.Stop()
			before := tasks(agent)
			saved := backup(t, s, "Delegation", "d")
			wipe(t, s, first)
			restore(t, s, saved, c.status)
			s.StartManager()
			d := s.AwaitWithin(time.Minute, "d", "to settle", settled)
			if got := (outcome{d.Status.Phase, harness.Ready(d).Reason, d.Status.RecoveredBy}); got != c.want {
				t.Errorf("%+v; want %+v: %s", got, c.want, harness.Describe(d))
			}
			requireHealth(t, "Delegation", d, map[status.Status]string{status.CurrentStatus: healthy, status.FailedStatus: degraded}[c.read], c.read)
			requireTasks(t, agent, before)
			agent.Require(d.Spec.MessageID, c.received, 1)
		})
	}
}

// restore creates an object as a backup tool does, and its status where it is told to.
func restore(t *testing.T, s *harness.Space, saved *unstructured.Unstructured, withStatus bool) {
	t.Helper()
	path := file(t, saved)
	s.Kubectl("create", "-f", path)
	if withStatus {
		s.Kubectl("apply", "--server-side", "--subresource=status", "--field-manager=restore", "-f", path)
	}
}
