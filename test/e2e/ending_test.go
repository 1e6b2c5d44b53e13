// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// A task that is canceled on request ends as asked.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Kubectl("patch", "delegation", "d", "--type=merge", "--patch", `{"spec":{"cancel":true}}`)
	requireStatus(t, s.AwaitPhase("d", v1alpha1.PhaseCanceled), status.CurrentStatus)
	if state := agent.TaskState(d.Status.TaskID); state != string(v1alpha1.TaskStateCanceled) {
		t.Errorf("the task is in state %s", state)
	}
}

// An agent that does not answer requests to cancel is asked again, and its task is followed all the same.
func TestCancelIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=2s", "--status-for=CancelTask:500:-1")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("d").MessageID("m-1").Build())
	s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Kubectl("patch", "delegation", "d", "--type=merge", "--patch", `{"spec":{"cancel":true}}`)
	s.AwaitPhase("d", v1alpha1.PhaseInputRequired)
	s.Create(s.Answer("a", "d", "approve").Build())
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
}

// What was canceled before it was sent never goes.
func TestCancelBeforeSending(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) { d.Suspend = true }).Build())
	s.AwaitReason("d", "Suspended")
	s.Kubectl("patch", "delegation", "d", "--type=merge", "--patch", `{"spec":{"cancel":true,"suspend":false}}`)
	s.AwaitPhase("d", v1alpha1.PhaseCanceled)
	agent.Require("m-1", 0, 0)
}

// suspend holds a message back, and has no effect once it was sent.
func TestSuspend(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) { d.Suspend = true }).Build())
	s.AwaitReason("d", "Suspended")
	agent.Require("m-1", 0, 0)
	s.RunRemedy("d")
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
}

// A task that takes longer than it may is canceled, and the Delegation fails.
func TestActiveDeadline(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) {
		d.ActiveDeadlineSeconds = ptr.To[int64](2)
	}).Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseCanceled)
	if harness.Ready(d).Reason != outbox.ReasonDeadlineExceeded {
		t.Errorf("%s", harness.Describe(d))
	}
	requireStatus(t, d, status.FailedStatus)
}

// A message that could not be delivered in its time is Undelivered, and never goes after that.
func TestDeliveryDeadline(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	address := harness.FreeAddress(t)
	s.StartManager()
	s.Create(s.RemoteAgent("").Endpoint("http://"+address+"/a2a").Build(), s.Reconciliation("d").With(func(d *v1alpha1.DelegationSpec) {
		d.DeliveryDeadline = metav1.Duration{Duration: 4 * time.Second}
	}).Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseUndelivered)
	if harness.Condition(d, v1alpha1.ConditionDelivered).Status != metav1.ConditionFalse {
		t.Errorf("%s", harness.Describe(d))
	}
	agent := harness.StartAgent(t, "--listen="+address)
	s.Remains("d", 2*time.Second, "to stay Undelivered", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseUndelivered })
	if n := len(agent.Ledger()); n != 0 {
		t.Errorf("the agent received %d messages", n)
	}
}

// An old manifest stays old.
func TestNotAfter(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) {
		d.NotAfter = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	}).Build())
	if d := s.AwaitPhase("d", v1alpha1.PhaseUndelivered); harness.Ready(d).Reason != "Expired" {
		t.Errorf("%s", harness.Describe(d))
	}
	agent.Require("m-1", 0, 0)
}

// A finished Delegation is kept for its time and then goes.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) {
		d.TTLSecondsAfterFinished = ptr.To[int32](1)
	}).Build())
	s.AwaitGone(s.Reconciliation("d").Build())
	agent.Require("m-1", 1, 1)
}

// An orphaned task goes on.
func TestOrphan(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=10m")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Reconciliation("d").MessageID("m-1").With(func(d *v1alpha1.DelegationSpec) {
		d.DeletionPolicy = v1alpha1.DeletionOrphan
	}).Build())
	d := s.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Delete(d)
	s.AwaitGone(d)
	if state := v1alpha1.TaskState(agent.TaskState(d.Status.TaskID)); state.Terminal() {
		t.Errorf("the task is in state %s", state)
	}
}

// Deleting an answer cancels nothing: the task belongs to the Delegation that made it.
func TestDeletionOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--delay=3s")
	s.StartManager()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Question("q").MessageID("m-71").Build(), s.Answer("a", "q", "approve").MessageID("m-72").Build())
	a := s.Await("a", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	s.Delete(a)
	s.AwaitGone(a)
	s.AwaitPhase("q", v1alpha1.PhaseCompleted)
}
