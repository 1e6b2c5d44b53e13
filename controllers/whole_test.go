// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// finish creates a Delegation and makes it one that is over with all that one can have, and returns it as the API server has
// it, once the cache has the remainder.
func finish(t *testing.T, r *DelegationReconciler, admin client.Client) *v1alpha1.Delegation {
	t.Helper()
	d, all := newDelegation(t, admin), done()
	read := d.DeepCopy()
	d.Labels, d.Annotations, d.Finalizers = all.Labels, all.Annotations, append(all.Finalizers, "example.com/kept")
	if err := admin.Patch(t.Context(), d, client.MergeFrom(read)); err != nil {
		t.Fatal(err)
	}
	d.Status = all.Status
	d.Status.ObservedGeneration = d.Generation
	if err := admin.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	cached(t, r, d)
	return now(t, admin, d)
}

func now(t *testing.T, c client.Reader, d *v1alpha1.Delegation) *v1alpha1.Delegation {
	t.Helper()
	out := &v1alpha1.Delegation{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// cached waits until the cache has a version of a Delegation, and returns what it has of it.
func cached(t *testing.T, r *DelegationReconciler, d *v1alpha1.Delegation) *v1alpha1.Delegation {
	t.Helper()
	out := &v1alpha1.Delegation{}
	eventually(t, func() bool {
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(d), out) == nil && out.ResourceVersion == d.ResourceVersion
	})
	return out
}

// same compares two versions but for what each write changes, and what ignore names.
func same(t *testing.T, was, is *v1alpha1.Delegation, ignore ...cmp.Option) {
	t.Helper()
	options := append(cmp.Options{cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "ManagedFields")}, ignore...)
	if diff := cmp.Diff(was, is, options); diff != "" {
		t.Error(diff)
	}
	if len(is.ManagedFields) < len(was.ManagedFields) {
		t.Errorf("%d managers of fields are left of %d", len(is.ManagedFields), len(was.ManagedFields))
	}
}

// A change of the spec after the end is noted in the status, of which the cache has a part only.
func TestAnEditAfterTheEndErasesNothing(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	read := d.DeepCopy()
	d.Spec.Suspend = true
	if err := admin.Patch(t.Context(), d, client.MergeFrom(read)); err != nil {
		t.Fatal(err)
	}
	if rest := cached(t, r, d); rest.Status.Artifacts != nil || rest.Spec.Message.Parts != nil {
		t.Fatalf("the cache has it whole: %+v", rest)
	}
	decide(t, r, client.ObjectKeyFromObject(d))
	is := now(t, admin, d)
	if is.Status.ObservedGeneration != d.Generation {
		t.Errorf("generation %d was observed, it is %d", is.Status.ObservedGeneration, d.Generation)
	}
	same(t, d, is, cmpopts.IgnoreFields(v1alpha1.DelegationStatus{}, "ObservedGeneration"))
}

// Another task of the message, which comes to light after its end, is added to all that the status has.
func TestALateTaskErasesNothing(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	s := &scope{delegation: cached(t, r, d), trimmed: true}
	s.result = &outbox.Result{Call: outbox.CallSend, Attempt: 1, Exchange: outbox.Exchange{Outcome: outbox.Accepted, Task: &outbox.Task{ID: "t-late"}}}
	for range 2 {
		action := outbox.Next(r.input(s))
		if _, err := r.perform(t.Context(), s, action); err != nil {
			t.Fatalf("%T: %v", action, err)
		}
	}
	is := now(t, admin, d)
	if n := len(is.Status.Duplicates); n != 2 || is.Status.Duplicates[1].TaskID != "t-late" {
		t.Errorf("duplicates %v", is.Status.Duplicates)
	}
	same(t, d, is, cmpopts.IgnoreFields(v1alpha1.DelegationStatus{}, "Duplicates"))
	if again := cached(t, r, is); again.Status.Artifacts == nil || over(again) {
		t.Error("one with a task left to cancel is over, or not whole")
	}
}

// The finalizer comes off, and nothing else.
func TestAReleaseErasesNothing(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	if err := admin.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d = now(t, admin, d)
	cached(t, r, d)
	decide(t, r, client.ObjectKeyFromObject(d))
	is := now(t, admin, d)
	if diff := cmp.Diff([]string{"example.com/kept"}, is.Finalizers); diff != "" {
		t.Error(diff)
	}
	same(t, d, is, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "ManagedFields", "Finalizers", "Generation"))
}

// No decision claims the question of what is over. Were there one, it would erase nothing, and not count on an old version.
func TestAClaimErasesNothing(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	rest := cached(t, r, d)
	s := &scope{delegation: rest}
	mine := v1alpha1.Claim{Name: "another", UID: "uid-3", Interruption: 1}
	if err := r.claim(t.Context(), s, outbox.Claim{Root: rest, Claim: mine}); err != nil {
		t.Fatal(err)
	}
	is := now(t, admin, d)
	if *is.Status.AnsweredBy != mine {
		t.Errorf("answered by %v", is.Status.AnsweredBy)
	}
	same(t, d, is, cmpopts.IgnoreFields(v1alpha1.DelegationStatus{}, "AnsweredBy"))
	if err := r.claim(t.Context(), s, outbox.Claim{Root: rest, Claim: mine}); !apierrors.IsConflict(err) {
		t.Errorf("a claim on an old version: %v", err)
	}
}

// A write to what changed after the cache had it is a conflict.
func TestAnOldRemainderIsNotWritten(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	rest := cached(t, r, d)
	read := d.DeepCopy()
	d.Labels = map[string]string{"changed": "since"}
	if err := admin.Patch(t.Context(), d, client.MergeFrom(read)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.whole(t.Context(), rest); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
}

// What a person edits so that it is not over any more comes whole, and what ends again is trimmed again.
func TestWhatIsNotOverAnyMoreComesWhole(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	d.Status.Phase = v1alpha1.PhaseWorking
	if err := admin.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d = now(t, admin, d)
	delete(d.Annotations, corev1.LastAppliedConfigAnnotation)
	if diff := cmp.Diff(d, cached(t, r, d), cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields"), cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
		t.Error(diff)
	}
	d = now(t, admin, d)
	d.Status.Phase = v1alpha1.PhaseCompleted
	if err := admin.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if rest := cached(t, r, d); rest.Status.Artifacts != nil {
		t.Error("one that is over again is whole")
	}
}

// A status that is written without managedFields and kubectl's copy of the manifest leaves both as they are.
func TestAStatusLeavesTheMetadata(t *testing.T) {
	r, _, admin := newReconciler(t)
	ra := newAgent(t, r, admin, newNamespace(t, admin, nil), v1alpha1.AllowedNamespaces{})
	read := ra.DeepCopy()
	ra.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	if err := admin.Patch(t.Context(), ra, client.MergeFrom(read)); err != nil {
		t.Fatal(err)
	}
	rest := &v1alpha1.RemoteAgent{}
	eventually(t, func() bool {
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), rest) == nil && rest.ResourceVersion == ra.ResourceVersion
	})
	if rest.Annotations[corev1.LastAppliedConfigAnnotation] != "" || rest.ManagedFields != nil {
		t.Fatalf("the cache has it whole: %+v", rest.ObjectMeta)
	}
	rest.Status.Conditions[0].Message = "another"
	if err := r.Client.Status().Update(t.Context(), rest.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	is := &v1alpha1.RemoteAgent{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(ra), is); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ra.Annotations, is.Annotations); diff != "" || len(is.ManagedFields) == 0 {
		t.Errorf("managed fields %v; %s", is.ManagedFields, diff)
	}
}

// What is at rest takes no memory beside the cache; what is not does, until it is.
func TestWhatIsAtRestIsForgotten(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	name := client.ObjectKeyFromObject(d)
	r.remember(name, d.UID)
	decide(t, r, name)
	if uid, known := r.uids.Load(name); known {
		t.Errorf("it is known by UID %v", uid)
	}
}

var _ client.Reader = (*countingReader)(nil)

// countingReader counts what is read.
type countingReader struct {
	client.Reader
	reads int
}

// Get implements client.Reader.
func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, o, opts...)
}

// A Delegation that is over costs no call where there is nothing to write.
func TestWhatIsAtRestCostsNoCall(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := finish(t, r, admin)
	counting := &countingReader{Reader: r.Live}
	r.Live = counting
	decide(t, r, client.ObjectKeyFromObject(d))
	if is := now(t, admin, d); counting.reads != 0 || is.ResourceVersion != d.ResourceVersion {
		t.Errorf("%d reads, version %s after %s", counting.reads, is.ResourceVersion, d.ResourceVersion)
	}
}
