// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// maxNote is the API server's limit for the note of an Event, in bytes.
const maxNote = 1024

// record stores artifacts, writes the status once, and then tells of it. What a call proved
// is dropped only after the write that holds it.
func (r *DelegationReconciler) record(ctx context.Context, s *scope, a outbox.Record) error {
	d := s.delegation.DeepCopy()
	if a.Protects {
		controllerutil.AddFinalizer(d, v1alpha1.DeliveryFinalizer)
		if err := r.Client.Update(ctx, d); err != nil {
			return err
		}
	}
	d.Status = a.Status
	if len(a.Artifacts)+a.MoreArtifacts > 0 {
		plan := artifact.Place(artifactsName(d.Name), a.Artifacts)
		placed, err := r.store(ctx, d, plan)
		if err != nil {
			return err
		}
		d.Status.Artifacts = placed
		d.Status.OmittedArtifacts = omissions(s.agent.client, d, plan.Unlisted+a.MoreArtifacts)
	}
	if err := r.Client.Status().Update(ctx, d); err != nil {
		return err
	}
	if n := len(d.Status.Duplicates) - len(s.delegation.Status.Duplicates); n > 0 {
		metrics.Duplicates(d.AgentKey(), n)
	}
	r.arrangePush(s, d)
	s.delegation = d
	if a.Settles {
		r.Courier.Recorded(d.UID, s.result)
		s.result = nil
	}
	r.emit(d, a.Event)
	return nil
}

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

// store keeps artifacts in ConfigMaps that the Delegation owns.
func (r *DelegationReconciler) store(ctx context.Context, d *v1alpha1.Delegation, plan *artifact.Plan) ([]v1alpha1.ArtifactStatus, error) {
	switch d.Spec.Output.Store {
	case v1alpha1.OutputNone:
		return plan.Described(), nil
	case v1alpha1.OutputStatus:
		return plan.Truncated(), nil
	}
	var stored []string
	for _, m := range plan.Maps {
		err := r.keep(ctx, d, m)
		switch {
		case errors.Is(err, errNotOurs), apierrors.IsForbidden(err): // by a quota, or since the namespace is going
		case err != nil:
			return nil, err
		default:
			stored = append(stored, m.Name)
		}
	}
	return plan.Truncated(stored...), nil
}

// keep writes one of the ConfigMaps. One of that name that is somebody else's is left alone.
func (r *DelegationReconciler) keep(ctx context.Context, d *v1alpha1.Delegation, m *artifact.Map) error {
	cm := &corev1.ConfigMap{Data: m.Text, BinaryData: m.Binary}
	cm.Namespace, cm.Name = d.Namespace, m.Name
	if err := controllerutil.SetControllerReference(d, cm, r.Client.Scheme()); err != nil {
		return err
	}
	err := r.Client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		return r.replace(ctx, cm)
	}
	return err
}

var errNotOurs = errors.New("the object belongs to somebody else")

func (r *DelegationReconciler) replace(ctx context.Context, cm *corev1.ConfigMap) error {
	old := &corev1.ConfigMap{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cm), old); err != nil {
		return err
	}
	owner := cm.OwnerReferences[0].UID
	for _, ref := range old.OwnerReferences {
		if ref.UID == owner {
			old.Data, old.BinaryData = cm.Data, cm.BinaryData
			return r.Client.Update(ctx, old)
		}
	}
	return errNotOurs
}

// release takes the finalizer off, after which the API server deletes the object.
func (r *DelegationReconciler) release(ctx context.Context, s *scope, a outbox.Release) error {
	d := s.delegation.DeepCopy()
	if !controllerutil.RemoveFinalizer(d, v1alpha1.DeliveryFinalizer) {
		return nil
	}
	if err := r.Client.Update(ctx, d); err != nil {
		return err
	}
	if !d.Status.Phase.Finished() {
		r.deletePush(s, d.Status.TaskID)
	}
	r.emit(d, a.Event)
	return nil
}

func (r *DelegationReconciler) emit(d *v1alpha1.Delegation, e *outbox.Event) {
	if e == nil {
		return
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(d, nil, kind, e.Reason, "Deliver", "%s", truncate(e.Message, maxNote))
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

// truncate cuts a text to n bytes without breaking a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
