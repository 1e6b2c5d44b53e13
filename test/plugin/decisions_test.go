// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A person decides about an unknown outcome, again and again, and each decision is about the latest attempt.
func TestResolve(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false", "--lose-responses=2")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Lookup(v1alpha1.LookupNone, time.Second).Build(), s.Question("x").MessageID("m-1").Build())
	w := newScreens(t, s)
	w.run("unknown", 4, "watch", "x")
	w.run("resolve", 0, "resolve", "x", "--as", "resend")
	s.Await("x", "to be Unknown again", func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase == v1alpha1.PhaseUnknown && d.Status.Attempts == 2
	})
	if ran := s.Plugin("", "resolve", "x", "--as", "adopt", "--task", "no-such-task"); ran.Code != 0 {
		t.Fatalf("%+v", ran)
	}
	s.AwaitReason("x", "ResolutionRefused")
	task := agent.Record("m-1").TaskIDs[1]
	if ran := s.Plugin("", "resolve", "x", "--as", "adopt", "--task", task); ran.Code != 0 {
		t.Fatalf("%+v", ran)
	}
	d := s.AwaitPhase("x", v1alpha1.PhaseInputRequired)
	if st := d.Status.Resolution; d.Status.TaskID != task || st == nil || st.Attempt != 2 || st.Manager != "kubectl-delegation" {
		t.Errorf("%+v", d.Status)
	}
	agent.Require("m-1", 2, 2)

	if ran := s.Plugin("", "cancel", "x", "-o", "name"); ran.Stdout != "delegation.a2a.delegation.dev/x\n" {
		t.Errorf("%+v", ran)
	}
	if ran := s.Plugin("", "watch", "x"); ran.Code != 2 || !strings.Contains(ran.Stdout, "Canceled") {
		t.Errorf("%+v", ran)
	}
	if ran := s.Plugin("", "cancel", "x"); ran.Code != 0 || !strings.Contains(ran.Stderr, "nothing to cancel") {
		t.Errorf("%+v", ran)
	}
	w.compare()
}

// What is watched may be deleted: that is no success.
func TestWatchDeleted(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	put(t, s, s.Delegation("x").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseWorking, TaskID: "t-1"})
	put(t, s, s.Delegation("y").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted})
	watch := s.StartPlugin("watch", "--timeout=30s")
	harness.Eventually(t, harness.Patience, "the watch to show x", func(context.Context) (bool, string) {
		return strings.Contains(watch.Output(), "Working"), watch.Output()
	})
	s.Delete(s.Get("x"))
	watch.AwaitEnd(harness.Patience)
	if out := watch.Output(); !strings.Contains(out, "x  deleted") || watch.ExitCode() != 1 {
		t.Errorf("exit code %d: %s", watch.ExitCode(), out)
	}
}
