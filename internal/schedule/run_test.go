// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The same firing is the same message, whatever cluster it is in, and no two firings share one.
func TestMessageID(t *testing.T) {
	b := hourly(t)
	when := at(t, "2026-10-25T02:30+02:00")
	first := newRun(b.s, when)
	if got, want := first.Spec.MessageID, "books/month/2026-10-25T00:30Z"; got != want {
		t.Errorf("messageId %q; want %q", got, want)
	}
	rebuilt := hourly(t).created("2030-01-01T00:00Z").with(func(s *v1alpha1.DelegationSchedule) { s.UID = "u-2" })
	if again := newRun(rebuilt.s, when); again.Spec.MessageID != first.Spec.MessageID || again.Name != first.Name {
		t.Errorf("the rebuilt cluster has %s, %s", again.Name, again.Spec.MessageID)
	}
	ids := map[string]bool{}
	for _, s := range []*v1alpha1.DelegationSchedule{
		b.s,
		hourly(t).with(func(s *v1alpha1.DelegationSchedule) { s.Namespace = "tax" }).s,
		hourly(t).with(func(s *v1alpha1.DelegationSchedule) { s.Name = "month-2" }).s,
		hourly(t).with(func(s *v1alpha1.DelegationSchedule) { s.Spec.MessageIDQualifier = "east" }).s,
		hourly(t).with(func(s *v1alpha1.DelegationSchedule) { s.Name, s.Spec.MessageIDQualifier = "east", "month" }).s,
	} {
		for _, when := range []string{"2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"} {
			ids[MessageID(s, at(t, when))] = true
		}
	}
	if len(ids) != 10 {
		t.Errorf("%d ids of 10 firings: %v", len(ids), ids)
	}
	long := hourly(t).with(func(s *v1alpha1.DelegationSchedule) {
		s.Namespace, s.Name, s.Spec.MessageIDQualifier = strings.Repeat("n", 63), strings.Repeat("s", 52), strings.Repeat("q", 48)
	})
	if n := len(MessageID(long.s, when)); n > 200 {
		t.Errorf("the longest id has %d characters", n)
	}
}

func TestNewRun(t *testing.T) {
	b := hourly(t).with(func(s *v1alpha1.DelegationSchedule) {
		s.Spec.Template.Metadata = v1alpha1.RunMetadata{Labels: map[string]string{"team": "books"}, Annotations: map[string]string{"why": "close"}}
	})
	d := newRun(b.s, at(t, "2026-03-02T07:00Z"))
	if d.Name != "month-29540580" || d.Labels["team"] != "books" || d.Labels[v1alpha1.ScheduleLabel] != "month" ||
		d.Annotations["why"] != "close" || d.Annotations[v1alpha1.ScheduledTimeAnnotation] != "2026-03-02T07:00:00Z" || !metav1.IsControlledBy(d, b.s) {
		t.Errorf("%+v", d.ObjectMeta)
	}
	if _, shared := b.s.Spec.Template.Metadata.Labels[v1alpha1.ScheduleLabel]; shared || b.s.Spec.Template.Spec.MessageID != "" {
		t.Error("the template was changed")
	}
}

// What is removed, and what never is.
func TestHistory(t *testing.T) {
	const h3, h4, h5, h6, h7 = "2026-03-02T03:00Z", "2026-03-02T04:00Z", "2026-03-02T05:00Z", "2026-03-02T06:00Z", "2026-03-02T07:00Z"
	const done, failed = v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed
	type runs map[string]v1alpha1.Phase
	for _, c := range []struct {
		name               string
		successful, failed int32
		last               string
		runs               runs
		change             func(*v1alpha1.Delegation)
		want               []string
	}{
		{name: "few", successful: 3, failed: 1, last: h7, runs: runs{h5: done, h6: done, h7: done}},
		{name: "too many, the oldest goes", successful: 2, failed: 1, last: h7, runs: runs{h4: done, h5: done, h6: done, h7: failed}, want: []string{h4}},
		{name: "failures have their own limit", successful: 0, failed: 1, last: h7, runs: runs{h3: failed, h4: v1alpha1.PhaseRejected, h5: v1alpha1.PhaseUndelivered, h7: done}, want: []string{h3, h4}},
		{name: "none kept: the latest stays", successful: 0, failed: 0, last: h7, runs: runs{h5: done, h6: failed, h7: done}, want: []string{h5, h6}},
		{name: "the latest that is on record counts", successful: 0, failed: 0, last: h6, runs: runs{h5: done, h6: done, h7: done}, want: []string{h5}},
		{name: "nothing on record: nothing goes", successful: 0, failed: 0, runs: runs{h5: done, h6: done}},
		{name: "unknown is never removed", successful: 0, failed: 0, last: h7, runs: runs{h4: v1alpha1.PhaseUnknown, h5: v1alpha1.PhaseUnknown, h7: done}},
		{name: "unknown and given up is", successful: 0, failed: 0, last: h7, runs: runs{h4: v1alpha1.PhaseUnknown, h7: done}, change: func(d *v1alpha1.Delegation) {
			if d.Status.Phase == v1alpha1.PhaseUnknown {
				abandoned(d)
			}
		}, want: []string{h4}},
		{name: "at work is not", successful: 0, failed: 0, last: h7, runs: runs{h4: v1alpha1.PhaseWorking, h5: v1alpha1.PhaseInputRequired, h6: v1alpha1.PhasePending, h7: done}},
		{name: "with a duplicate to cancel it is not", successful: 0, failed: 0, last: h7, runs: runs{h4: done, h7: done}, change: func(d *v1alpha1.Delegation) {
			d.Status.Duplicates = []v1alpha1.DuplicateTask{{TaskID: "t-2"}}
		}},
		{name: "deleted already", successful: 0, failed: 0, last: h7, runs: runs{h4: done, h7: done}, change: func(d *v1alpha1.Delegation) {
			d.DeletionTimestamp = &metav1.Time{Time: d.CreationTimestamp.Time}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := hourly(t).history(c.successful, c.failed)
			if c.last != "" {
				b.last(c.last)
			}
			var all, want []*v1alpha1.Delegation
			for when, phase := range c.runs {
				d := b.run(when, phase)
				if c.change != nil {
					c.change(d)
				}
				all = append(all, d)
			}
			for _, when := range c.want {
				want = append(want, b.run(when, done))
			}
			if got := b.decide("2026-03-02T07:30Z", all...); names(inOrder(b.s, got.Delete)) != names(want) {
				t.Errorf("removes %s; want %s", names(got.Delete), names(want))
			}
		})
	}
}
