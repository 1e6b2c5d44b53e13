// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// At the start what may be out comes before what was never sent, that before what the agent works on in any case, and that
// before what is over; what needs nothing does not come.
func TestTheOrderAtTheStart(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("start")
	t.Cleanup(queue.ShutDown)
	bound := func(d *v1alpha1.Delegation) { d.Status.Phase = v1alpha1.PhaseWorking }
	unbound := func(d *v1alpha1.Delegation) { bound(d); d.Status.TaskID = "" }
	resting := func(d *v1alpha1.Delegation) { d.Spec.TTLSecondsAfterFinished = nil }
	all := []struct {
		name   string
		change func(*v1alpha1.Delegation)
	}{
		{"has a time to live", func(*v1alpha1.Delegation) {}},
		{"at rest", resting},
		{"edited", func(d *v1alpha1.Delegation) { resting(d); d.Generation++ }},
		{"bound", bound},
		{"being deleted", func(d *v1alpha1.Delegation) { resting(d); d.DeletionTimestamp = ptr.To(metav1.Now()) }},
		{"duplicate left", func(d *v1alpha1.Delegation) { resting(d); d.Status.Duplicates[0].Canceled = false }},
		{"new", func(d *v1alpha1.Delegation) { unbound(d); d.Annotations = nil }},
		{"interrupted", unbound},
	}
	for _, c := range all {
		d := done()
		c.change(d)
		d.Name = c.name
		atStart.Create(t.Context(), event.CreateEvent{Object: d, IsInInitialList: true}, queue)
		later := event.CreateEvent{Object: d}
		if afterStart.Create(event.CreateEvent{Object: d, IsInInitialList: true}) || !afterStart.Create(later) {
			t.Errorf("%s: the other handler has it at the start, or does not have it later", c.name)
		}
		later.Object = &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "later"}}
		atStart.Create(t.Context(), later, queue)
	}
	want := []string{"interrupted", "new", "bound", "duplicate left", "has a time to live", "edited", "being deleted"}
	eventually(t, func() bool { return queue.Len() == len(want) })
	var got []string
	for range want {
		request, _ := queue.Get()
		got = append(got, request.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}
