// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// FiringPatience bounds the wait for a run of ScheduleOnce.
const FiringPatience = 75*time.Second + Patience

// CreateDelegation is the write that begins a run.
var CreateDelegation = Write{http.MethodPost, "delegations"}

// UpdateScheduleStatus is the write that comes before it, and after it.
var UpdateScheduleStatus = Write{http.MethodPut, "delegationschedules/status"}

// Schedule makes a DelegationSchedule of what a Delegation would be, in cron's five fields.
func (s *Space) Schedule(cron string, d *v1alpha1.Delegation) *v1alpha1.DelegationSchedule {
	out := &v1alpha1.DelegationSchedule{}
	out.Namespace, out.Name = s.Namespace, d.Name
	out.Spec.Schedule = cron
	out.Spec.Template.Spec = *d.Spec.DeepCopy()
	return out
}

// OnceSoon is a schedule with one time in the next 15 to 75 seconds, and none for a year after it; and that time.
func OnceSoon() (cron string, at time.Time) {
	at = time.Now().Add(75 * time.Second).Truncate(time.Minute).UTC()
	return fmt.Sprintf("%d %d %d %d *", at.Minute(), at.Hour(), at.Day(), at.Month()), at
}

// AwaitSchedule waits until a DelegationSchedule is as wanted, and returns it.
func (s *Space) AwaitSchedule(name, what string, wanted func(*v1alpha1.DelegationSchedule) bool) *v1alpha1.DelegationSchedule {
	s.t.Helper()
	out := &v1alpha1.DelegationSchedule{}
	Eventually(s.t, FiringPatience, fmt.Sprintf("DelegationSchedule %s %s", name, what), func(ctx context.Context) (bool, string) {
		got := &v1alpha1.DelegationSchedule{}
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, got); err != nil {
			return false, err.Error()
		}
		out = got
		return wanted(got), fmt.Sprintf("%+v", got.Status)
	})
	return out
}

// Runs are the Delegations of the namespace by the DelegationSchedule that made them.
func (s *Space) Runs() map[string][]v1alpha1.Delegation {
	s.t.Helper()
	list := &v1alpha1.DelegationList{}
	if err := s.Client.List(s.t.Context(), list, client.InNamespace(s.Namespace), client.HasLabels{v1alpha1.ScheduleLabel}); err != nil {
		s.t.Fatal(err)
	}
	runs := map[string][]v1alpha1.Delegation{}
	for _, d := range list.Items {
		of := d.Labels[v1alpha1.ScheduleLabel]
		runs[of] = append(runs[of], d)
	}
	return runs
}
