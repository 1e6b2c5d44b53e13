// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestOf(t *testing.T) {
	resend := &v1alpha1.Resolution{Action: v1alpha1.ResolutionResend, Attempt: 2}
	for _, c := range []struct {
		name  string
		phase v1alpha1.Phase
		with  func(*v1alpha1.Delegation)
		code  Code
		rests bool
		next  string
	}{
		{"new", "", nil, Timeout, false, ""},
		{"sending", v1alpha1.PhaseSending, nil, Timeout, false, ""},
		{"completed", v1alpha1.PhaseCompleted, nil, Done, true, ""},
		{"completed with results", v1alpha1.PhaseCompleted, func(d *v1alpha1.Delegation) { d.Status.Artifacts = make([]v1alpha1.ArtifactStatus, 1) }, Done, true, "k artifacts x"},
		{"failed", v1alpha1.PhaseFailed, nil, Unsuccessful, true, ""},
		{"canceled", v1alpha1.PhaseCanceled, nil, Unsuccessful, true, ""},
		{"rejected", v1alpha1.PhaseRejected, nil, Unsuccessful, true, ""},
		{"asks", v1alpha1.PhaseInputRequired, func(d *v1alpha1.Delegation) { d.Status.Interruptions = 1 }, Waiting, true, "k reply x TEXT"},
		{"asks for credentials", v1alpha1.PhaseAuthRequired, func(d *v1alpha1.Delegation) { d.Status.Interruptions = 1 }, Waiting, true, "k reply x --from-secret SECRET/KEY"},
		{"answered", v1alpha1.PhaseInputRequired, func(d *v1alpha1.Delegation) {
			d.Status.Interruptions, d.Status.AnsweredBy = 1, &v1alpha1.Claim{Interruption: 1}
		}, Timeout, false, ""},
		{"asks again", v1alpha1.PhaseInputRequired, func(d *v1alpha1.Delegation) {
			d.Status.Interruptions, d.Status.AnsweredBy = 2, &v1alpha1.Claim{Interruption: 1}
		}, Waiting, true, "k reply x TEXT"},
		{"asks, and is to be canceled", v1alpha1.PhaseInputRequired, func(d *v1alpha1.Delegation) { d.Spec.Cancel = true }, Timeout, false, ""},
		{"unknown", v1alpha1.PhaseUnknown, nil, Unknown, true, "k resolve x --as adopt|resend|abandon"},
		{"unknown, decided just now", v1alpha1.PhaseUnknown, func(d *v1alpha1.Delegation) { d.Spec.Resolution, d.Generation = resend, 2 }, Timeout, false, ""},
		{"unknown, decision refused", v1alpha1.PhaseUnknown, func(d *v1alpha1.Delegation) {
			d.Spec.Resolution, d.Generation, d.Status.ObservedGeneration = resend, 2, 2
		}, Unknown, true, "k resolve x --as adopt|resend|abandon"},
		{"unknown, decided before", v1alpha1.PhaseUnknown, func(d *v1alpha1.Delegation) {
			d.Spec.Resolution, d.Generation, d.Status.Resolution = resend, 2, &v1alpha1.ResolutionStatus{Action: v1alpha1.ResolutionResend, Attempt: 2}
		}, Unknown, true, "k resolve x --as adopt|resend|abandon"},
		{"abandoned", v1alpha1.PhaseUnknown, func(d *v1alpha1.Delegation) {
			d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
		}, Unknown, true, ""},
	} {
		d := &v1alpha1.Delegation{}
		d.Name, d.Status.Phase = "x", c.phase
		if c.with != nil {
			c.with(d)
		}
		if code, rests := Of(d); code != c.code || rests != c.rests {
			t.Errorf("%s: code %d, rests %v; want %d, %v", c.name, code, rests, c.code, c.rests)
		}
		if next := Next("k", d); next != c.next {
			t.Errorf("%s: next is %q, want %q", c.name, next, c.next)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		codes []Code
		want  Code
	}{
		{nil, Done}, {[]Code{Done, Waiting}, Waiting}, {[]Code{Waiting, Unknown}, Unknown}, {[]Code{Unknown, Unsuccessful}, Unsuccessful},
		{[]Code{Timeout, Waiting}, Waiting}, {[]Code{Unsuccessful, Error}, Error},
	} {
		if got := Worst(c.codes...); got != c.want {
			t.Errorf("of %v the worst is %d, want %d", c.codes, got, c.want)
		}
	}
}
