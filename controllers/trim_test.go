// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const journal = `{"number":1,"holder":"m","first":"2026-09-30T12:00:00Z","started":"2026-09-30T12:00:00Z","deadline":"2026-09-30T12:00:30Z","endpoint":"e","body":"sha256:b"}`

// done is a Delegation whose task is done, with all that one can have.
func done() *v1alpha1.Delegation {
	at := metav1.NewTime(time.Date(2026, 9, 30, 12, 1, 0, 0, time.UTC))
	d := &v1alpha1.Delegation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "books", Name: "reconcile", UID: "uid-1", ResourceVersion: "71", Generation: 2, CreationTimestamp: at,
			Labels: map[string]string{"app": "books"}, Finalizers: []string{v1alpha1.DeliveryFinalizer},
			Annotations:     map[string]string{v1alpha1.AttemptAnnotation: journal, corev1.LastAppliedConfigAnnotation: "{}", "note": "kept"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "DelegationSchedule", Name: "monthly", UID: "uid-s", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: v1alpha1.DelegationSpec{
			AgentRef: v1alpha1.AgentReference{Namespace: "ledger", Name: "reconciler"}, MessageID: "uid-1", ContextID: "c-uid-1",
			Message:                 v1alpha1.MessageTemplate{Parts: []v1alpha1.Part{{Text: ptr.To("Reconcile")}, {ValueFrom: &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "s", Key: "k"}}}}},
			Refines:                 []v1alpha1.DelegationReference{{Name: "before"}},
			TTLSecondsAfterFinished: ptr.To[int32](60),
		},
		Status: v1alpha1.DelegationStatus{
			ObservedGeneration: 2, Phase: v1alpha1.PhaseCompleted, TaskID: "t-1", ContextID: "c-uid-1", State: v1alpha1.TaskStateCompleted,
			StateMessage: "done", StateTimestamp: &metav1.MicroTime{Time: at.Time}, BodyDigest: "sha256:b", Attempts: 1,
			FirstAttemptTime: &at, LastAttemptTime: &at, StartTime: &at, CompletionTime: &at, Interruptions: 1,
			AnsweredBy: &v1alpha1.Claim{Name: "answer", UID: "uid-2", Interruption: 1},
			Artifacts:  []v1alpha1.ArtifactStatus{{ArtifactID: "report", Text: "balanced"}},
			Duplicates: []v1alpha1.DuplicateTask{{TaskID: "t-2", Canceled: true}},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionTrue, Reason: "Bound", Message: "the message is with task t-1", LastTransitionTime: at},
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Completed", LastTransitionTime: at},
				{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Completed", LastTransitionTime: at},
			},
		},
	}
	return d
}

// variants are Delegations that are over, by what is special about them.
var variants = map[string]func(*v1alpha1.Delegation){
	"completed":    func(*v1alpha1.Delegation) {},
	"without TTL":  func(d *v1alpha1.Delegation) { d.Spec.TTLSecondsAfterFinished = nil },
	"edited since": func(d *v1alpha1.Delegation) { d.Generation = 3 },
	"continues another": func(d *v1alpha1.Delegation) {
		d.Spec.Refines, d.Spec.Continues = nil, &v1alpha1.DelegationReference{Name: "root"}
	},
	"another messageId":   func(d *v1alpha1.Delegation) { d.Spec.MessageID = "m-71" },
	"own contextId":       func(d *v1alpha1.Delegation) { d.Spec.ContextID = "recon-09" },
	"without a contextId": func(d *v1alpha1.Delegation) { d.Spec.ContextID = "" },
	"being deleted":       func(d *v1alpha1.Delegation) { d.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)} },
	"never sent": func(d *v1alpha1.Delegation) {
		d.Annotations, d.Finalizers, d.Status.TaskID, d.Status.Attempts, d.Status.Phase = nil, nil, "", 0, v1alpha1.PhaseRejected
		d.Status.Conditions[0].Status, d.Status.Conditions[0].Reason = metav1.ConditionFalse, "MessageIdInUse"
	},
	"journalled, with nothing recorded": func(d *v1alpha1.Delegation) {
		d.Status.TaskID, d.Status.Attempts, d.Status.Phase = "", 0, v1alpha1.PhaseUndelivered
	},
	"egress denied": func(d *v1alpha1.Delegation) { d.Status.Duplicates, d.Status.Conditions[0].Reason = nil, "EgressDenied" },
	"lost while it asked": func(d *v1alpha1.Delegation) {
		d.Status.Phase, d.Status.State = v1alpha1.PhaseFailed, v1alpha1.TaskStateInputRequired
	},
	"given up by a person": func(d *v1alpha1.Delegation) {
		d.Status.Phase, d.Status.TaskID, d.Status.State = v1alpha1.PhaseUnknown, "", ""
		d.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionAbandon}
		d.Status.Conditions[0].Status = metav1.ConditionUnknown
	},
	"given up, with a journal that can't be read": func(d *v1alpha1.Delegation) {
		d.Status.Phase, d.Status.TaskID = v1alpha1.PhaseUnknown, ""
		d.Annotations[v1alpha1.AttemptAnnotation] = "{"
	},
}

func trimmed(t *testing.T, d *v1alpha1.Delegation) *v1alpha1.Delegation {
	t.Helper()
	out, err := trimDelegation(d)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*v1alpha1.Delegation)
}

// What the cache has of a Delegation that is over is found as the whole would be, and decided on the same.
func TestARemainderIsDecidedOnAsTheWhole(t *testing.T) {
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			d := done()
			change(d)
			rest := trimmed(t, d.DeepCopy())
			if !over(d) || !over(rest) || atRest(d) != atRest(rest) {
				t.Fatalf("over %t and at rest %t, the remainder over %t and at rest %t", over(d), atRest(d), over(rest), atRest(rest))
			}
			for field, values := range delegationIndexes() {
				if diff := cmp.Diff(values(d), values(rest)); diff != "" {
					t.Errorf("index %s: %s", field, diff)
				}
			}
			for _, now := range []time.Time{d.CreationTimestamp.Time, d.CreationTimestamp.Add(time.Hour)} {
				var whole, part any = outbox.Next(outbox.Input{Now: now, Delegation: d}), outbox.Next(outbox.Input{Now: now, Delegation: rest})
				if _, writes := whole.(outbox.Record); writes {
					whole, part = reflect.TypeOf(whole).Name(), reflect.TypeOf(part).Name() // decided on anew, on the whole
				}
				if diff := cmp.Diff(whole, part); diff != "" {
					t.Errorf("at %s: %s", now, diff)
				}
			}
			if diff := cmp.Diff(rest, trimmed(t, rest.DeepCopy())); diff != "" {
				t.Errorf("trimmed once more it is another: %s", diff)
			}
			if rest.ManagedFields != nil || rest.Labels != nil || rest.Spec.Message.Parts != nil || rest.Status.Artifacts != nil || rest.Status.StateMessage != "" {
				t.Errorf("the remainder has what nothing reads: %+v", rest)
			}
		})
	}
}

// What others read of a Delegation that is over is in the remainder.
func TestARemainderHasWhatOthersRead(t *testing.T) {
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			d := done()
			change(d)
			rest := trimmed(t, d.DeepCopy())
			read := func(d *v1alpha1.Delegation) []any {
				s := &d.Status
				sent := d.Annotations[v1alpha1.AttemptAnnotation] != "" || s.TaskID != "" || s.Attempts > 0
				return []any{
					sent, waiting(d), d.AgentKey(), d.UsesForeignAgent(), d.Spec.MessageID, d.Spec.ContextID, d.CreationTimestamp, d.UID, d.Name, d.Namespace,
					d.ResourceVersion, d.Finalizers, d.OwnerReferences, s.Phase, s.TaskID, s.ContextID, s.State, s.Interruptions, s.AnsweredBy, s.Duplicates,
					s.CompletionTime, s.Attempts,
				}
			}
			if diff := cmp.Diff(read(d), read(rest)); diff != "" {
				t.Error(diff)
			}
			if s := &d.Status; !s.State.Terminal() && s.StateTimestamp != rest.Status.StateTimestamp && !rest.Status.StateTimestamp.Equal(s.StateTimestamp) {
				t.Error("the time of the open question is gone")
			}
			for _, kind := range []string{v1alpha1.ConditionDelivered, v1alpha1.ConditionFinished} {
				was, is := condition(d, kind), condition(rest, kind)
				if was.Status != is.Status || was.Reason != is.Reason {
					t.Errorf("%s is %s %s, in the remainder %s %s", kind, was.Status, was.Reason, is.Status, is.Reason)
				}
			}
		})
	}
}

func condition(d *v1alpha1.Delegation, kind string) metav1.Condition {
	for _, c := range d.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// What is not over is whole, but for who wrote which field and kubectl's copy of the manifest.
func TestWhatIsNotOverStaysWhole(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Delegation)
		writer bool
	}{
		"working":             {change: func(d *v1alpha1.Delegation) { d.Status.Phase = v1alpha1.PhaseWorking }},
		"a duplicate is left": {change: func(d *v1alpha1.Delegation) { d.Status.Duplicates[0].Canceled = false }},
		"unknown":             {change: func(d *v1alpha1.Delegation) { d.Status.Phase, d.Status.Conditions = v1alpha1.PhaseUnknown, nil }},
		"a person decides on it": {writer: true, change: func(d *v1alpha1.Delegation) {
			d.Status.Phase, d.Status.Conditions = v1alpha1.PhaseUnknown, nil
			d.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionResend}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := done()
			c.change(d)
			want := d.DeepCopy()
			delete(want.Annotations, corev1.LastAppliedConfigAnnotation)
			if !c.writer {
				want.ManagedFields = nil
			}
			if diff := cmp.Diff(want, trimmed(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of a ConfigMap's metadata, and of what is no object at all, the rest is as it was.
func TestOtherObjectsLoseTheManifestOnly(t *testing.T) {
	cm := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "cm", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 10), "note": "kept"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		OwnerReferences: []metav1.OwnerReference{{UID: "uid-1"}},
	}}
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "cm", Annotations: map[string]string{"note": "kept"}, OwnerReferences: cm.OwnerReferences}}
	got, err := trim(cm)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, transform := range []func(any) (any, error){trim, trimDelegation} {
		if got, err := transform("gone"); got != "gone" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}
