// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	healthy     = "Healthy"
	progressing = "Progressing"
	suspended   = "Suspended"
	degraded    = "Degraded"

	// shortAttempt and shortSettle bring an unknown outcome about soon.
	shortAttempt = 2 * time.Second
	shortSettle  = time.Millisecond
)

// state is one that a Delegation can be seen in, and what Argo CD and kstatus make of it.
type state struct {
	name string
	// agent starts the agent and returns its base URL; nil is an address where nobody listens.
	agent func(t *testing.T) string
	// spec changes the Delegation.
	spec func(*v1alpha1.DelegationSpec)
	// then is what a person does once the agent has the task.
	then func(s *harness.Space)
	// reason is that of Ready; phase, where it does not follow from it.
	phase   v1alpha1.Phase
	reason  string
	argo    string
	kstatus status.Status
	// handedOver is whether Flux, with the expressions of config/gitops, takes it as done before the task is.
	handedOver bool
	// actions that Argo CD offers.
	actions string
}

func finance(flags ...string) func(*testing.T) string {
	return func(t *testing.T) string { return harness.StartAgent(t, flags...).URL }
}

// ends starts an agent whose tasks are in a state from the beginning.
func ends(in a2a.TaskState) func(*testing.T) string {
	return func(t *testing.T) string {
		return harness.StartInstantAgent(t, func(call *a2asrv.ExecutorContext) a2a.Event {
			task := a2a.NewSubmittedTask(call, call.Message)
			task.Status.State = in
			return task
		})
	}
}

func patchSpec(patch string) func(*harness.Space) {
	return func(s *harness.Space) {
		s.Kubectl("patch", "delegation", "d", "--type=merge", "-p", `{"spec":`+patch+`}`)
	}
}

var past = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

var states = []state{
	{name: "no-agent", reason: "AgentNotFound", spec: func(d *v1alpha1.DelegationSpec) { d.AgentRef.Name = "nobody" },
		phase: v1alpha1.PhasePending, argo: progressing, kstatus: status.InProgressStatus, actions: "cancel"},
	{name: "nobody-listens", reason: "CardUnavailable",
		phase: v1alpha1.PhasePending, argo: progressing, kstatus: status.InProgressStatus, actions: "cancel"},
	{name: "suspended", agent: ends(a2a.TaskStateWorking), reason: "Suspended", spec: func(d *v1alpha1.DelegationSpec) { d.Suspend = true },
		phase: v1alpha1.PhasePending, argo: suspended, kstatus: status.InProgressStatus, actions: "cancel resume"},
	{name: "answer-without-question", agent: ends(a2a.TaskStateWorking), reason: "TargetNotFound",
		spec:  func(d *v1alpha1.DelegationSpec) { d.Continues = &v1alpha1.DelegationReference{Name: "other"} },
		phase: v1alpha1.PhasePending, argo: progressing, kstatus: status.InProgressStatus, actions: "cancel"},
	{name: "sending", agent: finance("--reject-first-with=503:1000"), reason: "Recovering",
		phase: v1alpha1.PhaseSending, argo: progressing, kstatus: status.InProgressStatus, actions: "cancel"},
	{name: "submitted", agent: finance("--delay=10m"), reason: "Submitted",
		phase: v1alpha1.PhaseSubmitted, argo: progressing, kstatus: status.InProgressStatus, handedOver: true, actions: "cancel"},
	{name: "working", agent: ends(a2a.TaskStateWorking), reason: "Working",
		phase: v1alpha1.PhaseWorking, argo: progressing, kstatus: status.InProgressStatus, handedOver: true, actions: "cancel"},
	{name: "input-required", agent: ends(a2a.TaskStateInputRequired), reason: "InputRequired",
		phase: v1alpha1.PhaseInputRequired, argo: suspended, kstatus: status.InProgressStatus, handedOver: true, actions: "cancel"},
	{name: "auth-required", agent: ends(a2a.TaskStateAuthRequired), reason: "AuthRequired",
		phase: v1alpha1.PhaseAuthRequired, argo: suspended, kstatus: status.InProgressStatus, handedOver: true, actions: "cancel"},
	{name: "completed", agent: ends(a2a.TaskStateCompleted), reason: "Completed",
		phase: v1alpha1.PhaseCompleted, argo: healthy, kstatus: status.CurrentStatus},
	{name: "replied", agent: func(t *testing.T) string { return harness.StartInstantAgent(t, harness.AnswerMessage) }, reason: "Replied",
		phase: v1alpha1.PhaseCompleted, argo: healthy, kstatus: status.CurrentStatus},
	{name: "canceled-as-asked", agent: finance("--delay=10m"), then: patchSpec(`{"cancel":true}`), reason: "Canceled",
		phase: v1alpha1.PhaseCanceled, argo: healthy, kstatus: status.CurrentStatus},
	{name: "called-off", reason: "CanceledBeforeDelivery", spec: func(d *v1alpha1.DelegationSpec) { d.Cancel = true },
		phase: v1alpha1.PhaseCanceled, argo: healthy, kstatus: status.CurrentStatus},
	{name: "canceled-by-the-agent", agent: ends(a2a.TaskStateCanceled), reason: "Canceled",
		phase: v1alpha1.PhaseCanceled, argo: degraded, kstatus: status.FailedStatus},
	{name: "failed", agent: ends(a2a.TaskStateFailed), reason: "Failed",
		phase: v1alpha1.PhaseFailed, argo: degraded, kstatus: status.FailedStatus},
	{name: "rejected-by-the-agent", agent: ends(a2a.TaskStateRejected), reason: "Rejected",
		phase: v1alpha1.PhaseRejected, argo: degraded, kstatus: status.FailedStatus},
	{name: "refused", agent: finance("--reject-first-with=400:1"), reason: "BadRequest",
		phase: v1alpha1.PhaseRejected, argo: degraded, kstatus: status.FailedStatus},
	{name: "expired", reason: "Expired", spec: func(d *v1alpha1.DelegationSpec) { d.NotAfter = &past },
		agent: finance(), phase: v1alpha1.PhaseUndelivered, argo: degraded, kstatus: status.FailedStatus},
	{name: "unknown", agent: finance("--dedup=false", "--history=false", "--lose-responses=1"), reason: "OutcomeUnknown",
		phase: v1alpha1.PhaseUnknown, argo: degraded, kstatus: status.FailedStatus, actions: "abandon resend"},
	{name: "abandoned", agent: finance("--dedup=false", "--history=false", "--lose-responses=1"), reason: "Abandoned",
		then:  patchSpec(`{"resolution":{"action":"Abandon"}}`),
		phase: v1alpha1.PhaseUnknown, argo: degraded, kstatus: status.FailedStatus},
}

// Every phase, seen on a real object, is what Argo CD and kstatus users expect; and the recorded objects, which the engines
// that are too large for this module are tested with, are like it.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, c := range states {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, d := reach(t, c)
			requireHealth(t, "Delegation", d, c.argo, c.kstatus)
			requireActions(t, d, c.actions)
			want := c.kstatus
			if c.handedOver {
				want = status.CurrentStatus
			}
			if got := fluxHealth(t, d); got != want {
				t.Errorf("Flux reads %s; want %s", got, want)
			}
			record(t, c.name, d)
		})
	}
	t.Run("not seen yet", func(t *testing.T) {
		t.Parallel()
		s := cluster.Space(t)
		s.Create(s.Delegation("d").Build())
		requireHealth(t, "Delegation", s.Get("d"), progressing, status.InProgressStatus)
	})
}

// reach brings a Delegation into a state.
func reach(t *testing.T, c state) (*harness.Space, *v1alpha1.Delegation) {
	t.Helper()
	s := cluster.Space(t)
	s.StartManager()
	url := "http://" + harness.FreeAddress(t)
	if c.agent != nil {
		url = c.agent(t)
	}
	d := s.Reconciliation("d").MessageID("m-1")
	if c.spec != nil {
		d.With(c.spec)
	}
	s.Create(s.RemoteAgent(url).AttemptTimeout(shortAttempt).Lookup(v1alpha1.LookupBestEffort, shortSettle).Build(), d.Build())
	if c.then != nil {
		s.Await("d", "to be with the agent", func(d *v1alpha1.Delegation) bool {
			return d.Status.TaskID != "" || d.Status.Phase == v1alpha1.PhaseUnknown
		})
		c.then(s)
	}
	return s, s.Await("d", "to be "+c.name, func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase == c.phase && harness.Ready(d).Reason == c.reason && d.Status.ObservedGeneration == d.Generation
	})
}

func requireHealth(t *testing.T, kind string, o client.Object, argo string, kstatus status.Status) {
	t.Helper()
	if got := argoHealth(t, kind, o); got.Status != argo || got.Message == "" {
		t.Errorf("Argo CD reads %+v; want %s", got, argo)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != kstatus {
		t.Errorf("kstatus reads %s (%s); want %s", got.Status, got.Message, kstatus)
	}
}

func requireActions(t *testing.T, d *v1alpha1.Delegation, want string) {
	t.Helper()
	got := map[string]bool{}
	for name, enabled := range readActions(t).enabled(t, d) {
		if enabled {
			got[name] = true
		}
	}
	wanted := map[string]bool{}
	for _, name := range strings.Fields(want) {
		wanted[name] = true
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("actions, -want +got:\n%s", diff)
	}
}

// recorded is what of an object decides about its health.
func recorded(d *v1alpha1.Delegation) *v1alpha1.Delegation {
	out := &v1alpha1.Delegation{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delegation"}}
	out.Name, out.Generation, out.Spec = d.Name, 1, d.Spec
	out.Status.ObservedGeneration, out.Status.Phase, out.Status.Attempts = 1, d.Status.Phase, d.Status.Attempts
	for _, c := range d.Status.Conditions {
		// What differs from run to run, and what no check reads.
		c.ObservedGeneration, c.LastTransitionTime, c.Message = 1, past, "as the agent says"
		out.Status.Conditions = append(out.Status.Conditions, c)
	}
	return out
}

// record holds an object against its record.
func record(t *testing.T, name string, d *v1alpha1.Delegation) {
	t.Helper()
	path := filepath.Join(harness.Root(t), "test", "gitops", "testdata", "states", name+".yaml")
	text, err := yaml.Marshal(recorded(d))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	was := &v1alpha1.Delegation{}
	readYAML(t, filepath.Join("test", "gitops", "testdata", "states", name+".yaml"), was)
	now := recorded(d)
	// How often it was tried by now is a matter of time.
	was.Status.Attempts, now.Status.Attempts = 0, 0
	// In which order they came depends on what was seen before, such as an agent whose card had not been read yet.
	byType := cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })
	if diff := cmp.Diff(was.Status.Conditions, now.Status.Conditions, byType); diff != "" || was.Status.Phase != now.Status.Phase {
		t.Errorf("%s is not what was seen; write it with -update. -recorded +seen:\n%s", path, diff)
	}
}
