// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// requireStatus holds what Flux, Argo CD or kubectl would make of an object against what is true.
func requireStatus(t *testing.T, o client.Object, want status.Status) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want {
		t.Errorf("kstatus reads %s (%s); want %s", got.Status, got.Message, want)
	}
}

func TestKstatus(t *testing.T) {
	t.Parallel()
	nowhere := func(t *testing.T, _ *harness.Space) string { return "http://" + harness.FreeAddress(t) }
	agent := func(flags ...string) func(*testing.T, *harness.Space) string {
		return func(t *testing.T, _ *harness.Space) string { return harness.StartAgent(t, flags...).URL }
	}
	for _, c := range []struct {
		name  string
		agent func(*testing.T, *harness.Space) string
		phase v1alpha1.Phase
		want  status.Status
	}{
		{name: "pending", agent: nowhere, phase: v1alpha1.PhasePending, want: status.InProgressStatus},
		{name: "sending", agent: agent("--reject-first-with=503:1000"), phase: v1alpha1.PhaseSending, want: status.InProgressStatus},
		{name: "submitted", agent: agent("--delay=10m"), phase: v1alpha1.PhaseSubmitted, want: status.InProgressStatus},
		{name: "working", agent: agent("--delay=6s"), phase: v1alpha1.PhaseWorking, want: status.InProgressStatus},
		{name: "completed", agent: agent(), phase: v1alpha1.PhaseCompleted, want: status.CurrentStatus},
		{name: "rejected", agent: agent("--reject-first-with=400:1"), phase: v1alpha1.PhaseRejected, want: status.FailedStatus},
		{name: "unknown", agent: agent("--dedup=false", "--history=false", "--lose-responses=1"), phase: v1alpha1.PhaseUnknown, want: status.FailedStatus},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			ra := s.RemoteAgent(c.agent(t, s)).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, time.Millisecond).Build()
			s.StartManager()
			s.Create(ra, s.Reconciliation("d").Build())
			requireStatus(t, s.AwaitPhase("d", c.phase), c.want)
			if c.phase != v1alpha1.PhasePending {
				if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), ra); err != nil {
					t.Fatal(err)
				}
				requireStatus(t, ra, status.CurrentStatus)
			}
		})
	}
}
