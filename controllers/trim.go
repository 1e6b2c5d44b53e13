// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"
	"unique"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/streamlist"
)

// CacheOptions returns what a cache for this package's controllers holds of namespaces, all of them where there are none. Of a
// Delegation that is over it holds what later decisions read; whoever writes to one reads it whole first.
func CacheOptions(namespaces map[string]cache.Config) cache.Options {
	return cache.Options{
		DefaultNamespaces: namespaces,
		DefaultTransform:  trim,
		NewInformer:       newInformer,
		ByObject:          map[client.Object]cache.ByObject{&v1alpha1.Delegation{}: {Transform: trimDelegation}},
	}
}

// newInformer has Delegations decoded, and trimmed, while their list arrives: there may be very many, and nothing is sent
// before all of them are known. It takes a client that streamlist.Wrap was called for.
func newInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if _, ok := example.(*v1alpha1.Delegation); ok {
		return streamlist.NewInformer(lw, example, resync, indexers, decodeDelegation)
	}
	return toolscache.NewSharedIndexInformer(lw, example, resync, indexers)
}

func decodeDelegation(text []byte) (runtime.Object, error) {
	d := &v1alpha1.Delegation{}
	if err := json.Unmarshal(text, d, streamlist.Lenient); err != nil {
		return nil, err
	}
	trimmed, err := trimDelegation(d)
	return trimmed.(*v1alpha1.Delegation), err
}

// trim drops who wrote which field, and the copy of the manifest that kubectl apply leaves. Nothing here reads either, and
// no write erases them: an Update of a status leaves the metadata alone, and amend writes what differs from what was read.
func trim(in any) (any, error) {
	if o, err := meta.Accessor(in); err == nil {
		o.SetManagedFields(nil)
		dropManifest(o)
	}
	return in, nil
}

func dropManifest(o metav1.Object) {
	if annotations := o.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(annotations)
	}
}

// trimDelegation is trim for Delegations. One that was resolved by a person keeps who wrote which field until it is over,
// since the status names that person.
func trimDelegation(in any) (any, error) {
	d, ok := in.(*v1alpha1.Delegation)
	switch {
	case !ok:
		return in, nil
	case over(d):
		return remainder(d), nil
	}
	dropManifest(d)
	if d.Spec.Resolution == nil {
		d.ManagedFields = nil
	}
	return d, nil
}

// remainder is what of a Delegation that is over is read: its names, which others find it by; what it has of a task, which
// others continue or refine; its outcome; and what its deletion and its time to live depend on. Words that many have are
// held once.
func remainder(d *v1alpha1.Delegation) *v1alpha1.Delegation {
	out := &v1alpha1.Delegation{TypeMeta: d.TypeMeta}
	out.Namespace, out.Name, out.UID = once(d.Namespace), d.Name, d.UID
	out.ResourceVersion, out.Generation = d.ResourceVersion, d.Generation
	out.CreationTimestamp, out.DeletionTimestamp, out.DeletionGracePeriodSeconds = d.CreationTimestamp, d.DeletionTimestamp, d.DeletionGracePeriodSeconds
	out.OwnerReferences = d.OwnerReferences
	for _, f := range d.Finalizers {
		out.Finalizers = append(out.Finalizers, once(f))
	}
	if text, journalled := d.Annotations[v1alpha1.AttemptAnnotation]; journalled && !attempted(d) {
		out.Annotations = map[string]string{v1alpha1.AttemptAnnotation: text}
	}
	out.Spec.AgentRef = v1alpha1.AgentReference{Namespace: once(d.Spec.AgentRef.Namespace), Name: once(d.Spec.AgentRef.Name)}
	out.Spec.MessageID, out.Spec.ContextID = d.Spec.MessageID, d.Spec.ContextID
	out.Spec.Continues, out.Spec.Refines = d.Spec.Continues, d.Spec.Refines
	out.Spec.Suspend, out.Spec.Cancel = d.Spec.Suspend, d.Spec.Cancel
	out.Spec.TTLSecondsAfterFinished = d.Spec.TTLSecondsAfterFinished
	out.Status = outcome(&d.Status)
	share(out)
	return out
}

// attempted reports whether a finished Delegation shows without its journal that there was an attempt. What the journal says
// of it is of no use after the end, unless a person gave it up: then a journal that can't be read is told of.
func attempted(d *v1alpha1.Delegation) bool {
	return d.Status.Phase.Finished() && (d.Status.TaskID != "" || d.Status.Attempts > 0)
}

func outcome(s *v1alpha1.DelegationStatus) v1alpha1.DelegationStatus {
	out := v1alpha1.DelegationStatus{
		ObservedGeneration: s.ObservedGeneration, Phase: v1alpha1.Phase(once(string(s.Phase))), State: v1alpha1.TaskState(once(string(s.State))),
		TaskID: s.TaskID, ContextID: s.ContextID, Attempts: s.Attempts, Interruptions: s.Interruptions, AnsweredBy: s.AnsweredBy,
		Duplicates: s.Duplicates, CompletionTime: s.CompletionTime,
	}
	if !s.State.Terminal() {
		out.StateTimestamp = s.StateTimestamp // of the question that is open
	}
	for _, kind := range []string{v1alpha1.ConditionDelivered, v1alpha1.ConditionFinished} {
		if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
			out.Conditions = append(out.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(once(string(c.Status))), Reason: once(c.Reason)})
		}
	}
	return out
}

// share has ids that are equal in one place: those that the operator minted, and those that the agent took over.
func share(d *v1alpha1.Delegation) {
	if d.Spec.MessageID == string(d.UID) {
		d.Spec.MessageID = string(d.UID)
	}
	if d.Status.ContextID == d.Spec.ContextID {
		d.Status.ContextID = d.Spec.ContextID
	}
}

func once(s string) string { return unique.Make(s).Value() }
