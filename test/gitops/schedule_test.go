// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// A schedule is healthy while it goes on by itself.
func TestHealthOfASchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, obstacle, argo string
		kstatus                status.Status
	}{
		{reason: "Scheduled", argo: healthy, kstatus: status.CurrentStatus},
		{reason: "WaitingForRun", argo: healthy, kstatus: status.CurrentStatus},
		{reason: "Suspended", argo: suspended, kstatus: status.CurrentStatus},
		{reason: "RunNotCreated", obstacle: v1alpha1.ConditionReconciling, argo: progressing, kstatus: status.InProgressStatus},
		{reason: "RunUnknown", obstacle: v1alpha1.ConditionStalled, argo: degraded, kstatus: status.FailedStatus},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := &v1alpha1.DelegationSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "s", Generation: 2}}
			s.Status.ObservedGeneration = 2
			ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: c.reason, Message: "as it is"}
			if c.obstacle != "" {
				ready.Status = metav1.ConditionFalse
				s.Status.Conditions = []metav1.Condition{{Type: c.obstacle, Status: metav1.ConditionTrue, Reason: c.reason, Message: "as it is"}}
			}
			s.Status.Conditions = append(s.Status.Conditions, ready)
			requireHealth(t, "DelegationSchedule", s, c.argo, c.kstatus)
			s.Generation++
			requireHealth(t, "DelegationSchedule", s, progressing, status.InProgressStatus)
		})
	}
}
