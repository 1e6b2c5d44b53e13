// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/schedule"
)

// scheduling has a reconciler on the API server, with a clock that tests set, and an hourly schedule that is due.
type scheduling struct {
	t     *testing.T
	r     *ScheduleReconciler
	clock *clocktesting.FakePassiveClock
	admin client.Client
	s     *v1alpha1.DelegationSchedule
	at    time.Time
}

func newScheduling(t *testing.T, change func(*v1alpha1.DelegationScheduleSpec)) *scheduling {
	t.Helper()
	d, _, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	text := "Reconcile"
	s := &v1alpha1.DelegationSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "s"}}
	s.Spec.Schedule = "@hourly"
	s.Spec.Template.Spec = v1alpha1.DelegationSpec{
		AgentRef: v1alpha1.AgentReference{Name: "agent"}, Message: v1alpha1.MessageTemplate{Parts: []v1alpha1.Part{{Text: &text}}},
	}
	if change != nil {
		change(&s.Spec)
	}
	create(t, admin, s)
	at := s.CreationTimestamp.Add(time.Hour).Truncate(time.Hour)
	clock := clocktesting.NewFakePassiveClock(at.Add(time.Second))
	w := &scheduling{t: t, clock: clock, admin: admin, s: s, at: at,
		r: &ScheduleReconciler{Client: d.Client, Live: admin, Recorder: events.NewFakeRecorder(64), Clock: clock}}
	eventually(t, func() bool {
		return d.Client.Get(t.Context(), client.ObjectKeyFromObject(s), &v1alpha1.DelegationSchedule{}) == nil
	})
	return w
}

// until reconciles until something holds: the cache may be behind.
func (w *scheduling) until(holds func() bool) {
	w.t.Helper()
	eventually(w.t, func() bool {
		// A run that is refused is an error, which the queue would back off for.
		_, _ = w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.s)})
		if err := w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(w.s), w.s); err != nil {
			w.t.Fatal(err)
		}
		return holds()
	})
}

func (w *scheduling) reason() string {
	if c := meta.FindStatusCondition(w.s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

func (w *scheduling) begun(at time.Time) func() bool {
	return func() bool { return w.s.Status.LastScheduleTime != nil && w.s.Status.LastScheduleTime.Time.Equal(at) }
}

func (w *scheduling) runs() []v1alpha1.Delegation {
	w.t.Helper()
	list := &v1alpha1.DelegationList{}
	if err := w.admin.List(w.t.Context(), list, client.InNamespace(w.s.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// finish ends a run as the operator would.
func (w *scheduling) finish(d *v1alpha1.Delegation, phase v1alpha1.Phase) {
	w.t.Helper()
	d.Status.Phase = phase
	if phase.Finished() {
		now := metav1.NewTime(w.clock.Now())
		d.Status.CompletionTime = &now
	}
	if err := w.admin.Status().Update(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

// Who decided on an old status creates no run, also where nothing in the status would have changed: the firing may have been,
// and its run may be gone.
func TestAnOldStatusBeginsNoRun(t *testing.T) {
	w := newScheduling(t, nil)
	in, err := w.r.input(t.Context(), w.s.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	in.Schedule.Status = schedule.Decide(in).Status
	if err := w.admin.Status().Update(t.Context(), in.Schedule); err != nil {
		t.Fatal(err)
	}
	plan := schedule.Decide(in)
	if plan.Create == nil {
		t.Fatal("no run is due")
	}
	w.until(w.begun(w.at)) // another manager
	run := w.runs()[0]
	if err := w.admin.Delete(t.Context(), &run); err != nil {
		t.Fatal(err)
	}
	if err := w.r.begin(t.Context(), &in, plan); !apierrors.IsConflict(err) {
		t.Errorf("got %v; want a conflict", err)
	}
	if n := len(w.runs()); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// Runs that others made are met by their name.
func TestARunThatIsThere(t *testing.T) {
	for _, c := range []struct {
		name      string
		messageID func(*scheduling) string
		begun     bool
	}{
		{name: "left by the schedule before", messageID: func(w *scheduling) string { return schedule.MessageID(w.s, w.at) }, begun: true},
		{name: "something else", messageID: func(*scheduling) string { return "m-1" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScheduling(t, nil)
			d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: w.s.Namespace, Name: schedule.RunName(w.s, w.at)}, Spec: *w.s.Spec.Template.Spec.DeepCopy()}
			d.Spec.MessageID = c.messageID(w)
			create(t, w.admin, d)
			w.until(func() bool { return w.begun(w.at)() || w.s.Status.LastMissedTime != nil })
			if w.begun(w.at)() != c.begun || len(w.runs()) != 1 {
				t.Errorf("%d runs, %+v", len(w.runs()), w.s.Status)
			}
		})
	}
}

// A label that the API server refuses stops the schedule until it is corrected; then the run that is due begins.
func TestARunThatIsRefused(t *testing.T) {
	w := newScheduling(t, func(spec *v1alpha1.DelegationScheduleSpec) {
		spec.Template.Metadata.Labels = map[string]string{"team": "not a label"}
	})
	w.until(func() bool { return w.reason() == schedule.ReasonRunRefused })
	w.s.Spec.Template.Metadata.Labels = nil
	if err := w.admin.Update(t.Context(), w.s); err != nil {
		t.Fatal(err)
	}
	w.until(w.begun(w.at))
	if n := len(w.runs()); n != 1 || w.reason() != schedule.ReasonScheduled {
		t.Errorf("%d runs, reason %s", n, w.reason())
	}
}

// With Replace the earlier run is asked to end, and the new one begins after that.
func TestReplaceWaitsForTheEnd(t *testing.T) {
	w := newScheduling(t, func(spec *v1alpha1.DelegationScheduleSpec) { spec.ConcurrencyPolicy = v1alpha1.ConcurrencyReplace })
	w.until(w.begun(w.at))
	first := w.runs()[0]
	w.finish(&first, v1alpha1.PhaseWorking)
	next := w.at.Add(time.Hour)
	w.clock.SetTime(next.Add(time.Second))
	w.until(func() bool {
		first = w.runs()[0]
		return first.Spec.Cancel && w.reason() == schedule.ReasonWaitingForRun
	})
	if n := len(w.runs()); n != 1 {
		t.Fatalf("%d runs while the first works", n)
	}
	w.finish(&first, v1alpha1.PhaseCanceled)
	w.until(w.begun(next))
	if n := len(w.runs()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// Another manager's run, which the cache lacks, keeps the next from beginning.
func TestForbidAsksTheAPIServer(t *testing.T) {
	w := newScheduling(t, func(spec *v1alpha1.DelegationScheduleSpec) { spec.ConcurrencyPolicy = v1alpha1.ConcurrencyForbid })
	w.until(w.begun(w.at))
	w.clock.SetTime(w.at.Add(time.Hour + time.Second))
	in := schedule.Input{Now: w.clock.Now(), Schedule: w.s.DeepCopy()}
	plan := schedule.Decide(in)
	if plan.Create == nil {
		t.Fatal("no run is due")
	}
	if err := w.r.begin(t.Context(), &in, plan); err != nil {
		t.Fatal(err)
	}
	if again := schedule.Decide(in); again.Create != nil || len(w.runs()) != 1 {
		t.Errorf("%d runs, and another is planned: %t", len(w.runs()), again.Create != nil)
	}
}

// Of runs that are done as many are kept as the spec says, the latest in any case.
func TestHistoryIsRemoved(t *testing.T) {
	none := int32(0)
	w := newScheduling(t, func(spec *v1alpha1.DelegationScheduleSpec) { spec.SuccessfulRunsHistoryLimit = &none })
	for i := range 3 {
		at := w.at.Add(time.Duration(i) * time.Hour)
		w.clock.SetTime(at.Add(time.Second))
		w.until(w.begun(at))
		for _, d := range w.runs() {
			if !d.Status.Phase.Finished() {
				w.finish(&d, v1alpha1.PhaseCompleted)
			}
		}
	}
	w.until(func() bool { return len(w.runs()) == 1 })
	if got, want := w.runs()[0].Name, schedule.RunName(w.s, w.at.Add(2*time.Hour)); got != want {
		t.Errorf("%s is left; want %s", got, want)
	}
}
