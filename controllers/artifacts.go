// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// omissions says what of the listed artifacts, and of as many that are not, the agent alone has; nil where that is none.
func omissions(agent *remote.Client, d *v1alpha1.Delegation, unlisted int) *v1alpha1.OmittedArtifacts {
	out := &v1alpha1.OmittedArtifacts{Unlisted: int64(unlisted)}
	for _, a := range d.Status.Artifacts {
		if a.Truncated {
			out.Truncated++
		}
	}
	if out.Truncated == 0 && out.Unlisted == 0 {
		return nil
	}
	if agent != nil && !d.UsesForeignAgent() { // the endpoint's URL is its owner's to tell
		out.Fetch = agent.HowToGet(d.Status.TaskID)
	}
	return out
}

// store keeps artifacts in ConfigMaps that the Delegation owns. It returns what the status says of them, and how many it
// does not list. All that this refers to is stored by then. A crash before the status is written loses nothing: whoever
// comes next stores the artifacts anew under the same names, and takes away what is left over.
func (r *DelegationReconciler) store(ctx context.Context, d *v1alpha1.Delegation, artifacts []outbox.Artifact) ([]v1alpha1.ArtifactStatus, int, error) {
	all := artifact.Names(artifactsName(d.Name))
	switch d.Spec.Output.Store {
	case v1alpha1.OutputNone:
		plan := artifact.Place(all, artifacts)
		return plan.Described(), plan.Unlisted, nil
	case v1alpha1.OutputStatus:
		plan := artifact.Place(nil, artifacts)
		return plan.Status, plan.Unlisted, nil
	}
	for names := all; ; {
		plan := artifact.Place(names, artifacts)
		usable, err := r.keepAll(ctx, d, plan, names)
		if err != nil {
			return nil, 0, err
		}
		if len(usable) == len(names) {
			return plan.Status, plan.Unlisted, r.prune(ctx, d, all, plan)
		}
		names = usable
	}
}

// keepAll writes the ConfigMaps of a plan that was made for these names, and returns the names less those that can't be
// had. With fewer of them the artifacts have to be placed anew, since a chunk is of no use without the others.
func (r *DelegationReconciler) keepAll(ctx context.Context, d *v1alpha1.Delegation, plan *artifact.Plan, names []string) ([]string, error) {
	for i, m := range plan.Maps {
		err := r.keep(ctx, d, m)
		switch {
		case errors.Is(err, errNotOurs):
			return slices.Concat(names[:i], names[i+1:]), nil
		case refusesToKeep(err):
			return names[:i], nil
		case err != nil:
			return nil, err
		}
	}
	return names, nil
}

// keep writes one of the ConfigMaps. One of that name that is somebody else's is left alone. A quota that is used up refuses
// to create also what is there already, such as what this Delegation itself has used it up with.
func (r *DelegationReconciler) keep(ctx context.Context, d *v1alpha1.Delegation, m *artifact.Map) error {
	cm := &corev1.ConfigMap{Data: m.Text, BinaryData: m.Binary}
	cm.Namespace, cm.Name = d.Namespace, m.Name
	if err := controllerutil.SetControllerReference(d, cm, r.Client.Scheme()); err != nil {
		return err
	}
	err := r.Client.Create(ctx, cm)
	if !apierrors.IsAlreadyExists(err) && !refusesToKeep(err) {
		return err
	}
	if is := r.replace(ctx, d, cm); !apierrors.IsNotFound(is) {
		return is
	}
	return err
}

// refusesToKeep reports whether an artifact is refused for good: by a quota, by a policy, which may answer with any status
// that blames the request, or since the namespace is going. The task has ended all the same, and its end is not to be held
// up: until it is written, the agent's answer may be in this process alone. What time heals is no refusal.
func refusesToKeep(err error) bool {
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return false
	}
	switch code := refusal.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

var errNotOurs = errors.New("the object belongs to somebody else")

// replace has a ConfigMap that is there hold what it should.
func (r *DelegationReconciler) replace(ctx context.Context, d *v1alpha1.Delegation, cm *corev1.ConfigMap) error {
	old := &corev1.ConfigMap{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cm), old); err != nil {
		return err
	}
	if !owned(old, d) {
		return errNotOurs
	}
	if maps.Equal(old.Data, cm.Data) && maps.EqualFunc(old.BinaryData, cm.BinaryData, slices.Equal[[]byte]) {
		return nil
	}
	if err := r.unchanged(ctx, d); err != nil {
		return err
	}
	old.Data, old.BinaryData = cm.Data, cm.BinaryData
	return r.Client.Update(ctx, old)
}

// prune deletes the Delegation's ConfigMaps of these names that a plan does not need: what was stored by a process that
// ended before it wrote the status, or before a quota refused the rest. It looks into the cache, so that it costs no call
// where there is nothing. What that does not show yet, or what a policy keeps, goes
// when the Delegation goes.
func (r *DelegationReconciler) prune(ctx context.Context, d *v1alpha1.Delegation, names []string, plan *artifact.Plan) error {
	for _, name := range names {
		if slices.ContainsFunc(plan.Maps, func(m *artifact.Map) bool { return m.Name == name }) {
			continue
		}
		cm := &metav1.PartialObjectMetadata{}
		cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, cm)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case !owned(cm, d):
			continue
		}
		if err := r.unchanged(ctx, d); err != nil {
			return err
		}
		uid := cm.GetUID()
		err = client.IgnoreNotFound(r.Client.Delete(ctx, cm, client.Preconditions{UID: &uid}))
		if err != nil && !refusesToKeep(err) {
			return err
		}
	}
	return nil
}

// owned reports whether an object goes when the Delegation does.
func owned(o client.Object, d *v1alpha1.Delegation) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == d.UID })
}

// unchanged returns a conflict where the Delegation is not the one that was decided on any more: another replica may have
// written a status that refers to what is to be overwritten or deleted.
func (r *DelegationReconciler) unchanged(ctx context.Context, d *v1alpha1.Delegation) error {
	now := &v1alpha1.Delegation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(d), now); err != nil {
		return err
	}
	if now.UID != d.UID || now.ResourceVersion != d.ResourceVersion {
		return changed(d)
	}
	return nil
}

// artifactsName is the name of the first ConfigMap that holds artifacts of the Delegation of this name. It leaves room for
// the numbers of more.
func artifactsName(delegation string) string {
	const suffix, longest = "-artifacts", 253 - len("-9")
	if len(delegation)+len(suffix) <= longest {
		return delegation + suffix
	}
	sum := sha256.Sum256([]byte(delegation))
	return delegation[:200] + "-" + hex.EncodeToString(sum[:6]) + suffix
}
