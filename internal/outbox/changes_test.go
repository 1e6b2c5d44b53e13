// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// statusIn is a status in a phase for a reason, with the conditions named that are True.
func statusIn(phase v1alpha1.Phase, reason string, conditions ...string) *v1alpha1.DelegationStatus {
	s := &v1alpha1.DelegationStatus{Phase: phase}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason})
	for _, c := range conditions {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: reason})
	}
	return s
}

func TestCompare(t *testing.T) {
	const delivered, finished = v1alpha1.ConditionDelivered, v1alpha1.ConditionFinished
	none := &v1alpha1.DelegationStatus{}
	sending := statusIn(v1alpha1.PhaseSending, ReasonRecovering)
	working := statusIn(v1alpha1.PhaseWorking, "Working", delivered)
	found := statusIn(v1alpha1.PhaseWorking, "Working", delivered)
	found.RecoveredBy = v1alpha1.RecoveredByLookup
	asked := statusIn(v1alpha1.PhaseUnknown, ReasonOutcomeUnknown)
	abandoned := statusIn(v1alpha1.PhaseUnknown, ReasonAbandoned, finished)
	for _, c := range []struct {
		name      string
		old, next *v1alpha1.DelegationStatus
		want      Changes
	}{
		{"nothing yet", none, none, Changes{}},
		{"the first write", none, sending, Changes{Moved: true}},
		{"the same again", working, working, Changes{}},
		{"delivered", none, working, Changes{Moved: true, Delivered: true}},
		{"found", sending, found, Changes{Moved: true, Delivered: true, RecoveredBy: v1alpha1.RecoveredByLookup}},
		{"found before", found, found, Changes{}},
		{"unknown", sending, asked, Changes{Moved: true, Unknown: true}},
		{"given up by a person", asked, abandoned, Changes{Moved: true, Finished: true}},
		{"found after all", asked, found, Changes{Moved: true, Delivered: true, RecoveredBy: v1alpha1.RecoveredByLookup}},
		{"another body", sending, statusIn(v1alpha1.PhaseRejected, ReasonDigestMismatch, finished), Changes{Moved: true, Mismatch: true, Finished: true}},
		{"done at once", none, statusIn(v1alpha1.PhaseCompleted, "Completed", delivered, finished), Changes{Moved: true, Delivered: true, Finished: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Compare(c.old, c.next); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRecoveredEvent(t *testing.T) {
	s := &v1alpha1.DelegationStatus{TaskID: "t-5a"}
	for by, want := range map[v1alpha1.Recovery]string{
		"":                             "",
		v1alpha1.RecoveredByResolution: "",
		v1alpha1.RecoveredByLookup:     "the message was found among the agent's tasks: task t-5a",
		v1alpha1.RecoveredByReplay:     "the identical message was sent again, and the agent answered with what the first copy made: task t-5a",
	} {
		got := ""
		if e := (Changes{RecoveredBy: by}).RecoveredEvent(s); e != nil {
			got = e.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", by, got, want)
		}
	}
}
