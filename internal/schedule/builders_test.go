// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// at reads a time, such as 2026-03-29T02:30Z or with an offset.
func at(t *testing.T, s string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02T15:04Z07:00", s)
	if err != nil {
		if out, err = time.Parse(time.RFC3339, s); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// builder builds a schedule of each full hour, made on 2026-03-02 at 06:30.
type builder struct {
	t *testing.T
	s *v1alpha1.DelegationSchedule
}

func hourly(t *testing.T) *builder {
	t.Helper()
	text := "Reconcile"
	s := &v1alpha1.DelegationSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "month", UID: "u-1", Generation: 1}}
	s.CreationTimestamp = metav1.NewTime(at(t, "2026-03-02T06:30Z"))
	s.Spec.Schedule = "0 * * * *"
	s.Spec.Template.Spec.AgentRef.Name = "finance"
	s.Spec.Template.Spec.Message.Parts = []v1alpha1.Part{{Text: &text}}
	return &builder{t, s}
}

func (b *builder) cron(schedule, zone string) *builder {
	b.s.Spec.Schedule = schedule
	if zone != "" {
		b.s.Spec.TimeZone = &zone
	}
	return b
}

func (b *builder) created(s string) *builder {
	b.s.CreationTimestamp = metav1.NewTime(at(b.t, s))
	return b
}

func (b *builder) last(s string) *builder {
	b.s.Status.LastScheduleTime = ptr.To(metav1.NewTime(at(b.t, s)))
	return b
}

func (b *builder) missed(s string) *builder {
	b.s.Status.LastMissedTime = ptr.To(metav1.NewTime(at(b.t, s)))
	return b
}

func (b *builder) policy(p v1alpha1.ConcurrencyPolicy) *builder {
	b.s.Spec.ConcurrencyPolicy = p
	return b
}

func (b *builder) deadline(d time.Duration) *builder {
	b.s.Spec.StartingDeadlineSeconds = ptr.To(int64(d / time.Second))
	return b
}

func (b *builder) history(successful, failed int32) *builder {
	b.s.Spec.SuccessfulRunsHistoryLimit, b.s.Spec.FailedRunsHistoryLimit = &successful, &failed
	return b
}

func (b *builder) with(change func(*v1alpha1.DelegationSchedule)) *builder {
	change(b.s)
	return b
}

// run is the run of a time, in a phase.
func (b *builder) run(s string, phase v1alpha1.Phase) *v1alpha1.Delegation {
	when := at(b.t, s)
	d := newRun(b.s, when)
	d.UID, d.CreationTimestamp = types.UID("uid-"+d.Name), metav1.NewTime(when)
	d.Status.Phase = phase
	if phase.Finished() {
		d.Status.CompletionTime = ptr.To(metav1.NewTime(when.Add(10 * time.Minute)))
	}
	return d
}

func (b *builder) decide(now string, runs ...*v1alpha1.Delegation) Plan {
	return Decide(Input{Now: at(b.t, now), Schedule: b.s, Runs: runs})
}

// abandoned is a run that a person gave up.
func abandoned(d *v1alpha1.Delegation) *v1alpha1.Delegation {
	d.Status.Phase = v1alpha1.PhaseUnknown
	d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	return d
}

func names(runs []*v1alpha1.Delegation) string {
	out := []string{}
	for _, r := range runs {
		out = append(out, r.Name)
	}
	return fmt.Sprint(out)
}
