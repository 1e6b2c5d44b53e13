// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxNote is the API server's limit for the note of an Event, in bytes.
const maxNote = 1024

// record stores artifacts, writes the status once, and then tells of it. What a call proved
// is dropped only after the write that holds it.
func (r *DelegationReconciler) record(ctx context.Context, s *scope, a outbox.Record) error {
	d := s.delegation.DeepCopy()
	if a.Protects {
		controllerutil.AddFinalizer(d, v1alpha1.DeliveryFinalizer)
		if err := amend(ctx, r.Client, d, s.delegation); err != nil {
			return err
		}
	}
	d.Status = a.Status
	if len(a.Artifacts)+a.MoreArtifacts > 0 {
		listed, unlisted, err := r.store(ctx, d, a.Artifacts)
		if err != nil {
			return err
		}
		d.Status.Artifacts = listed
		d.Status.OmittedArtifacts = omissions(s.agent.client, d, unlisted+a.MoreArtifacts)
	}
	if err := r.Client.Status().Update(ctx, d); err != nil {
		return err
	}
	if n := len(d.Status.Duplicates) - len(s.delegation.Status.Duplicates); n > 0 {
		metrics.Duplicates(s.agentName(), n)
	}
	changes := outbox.Compare(&s.delegation.Status, &d.Status)
	r.arrangePush(s, d)
	s.delegation = d
	if a.Settles {
		r.Courier.Recorded(d.UID, s.result)
		s.result = nil
	}
	r.tell(s, changes)
	r.emit(d, changes.RecoveredEvent(&d.Status))
	r.emit(d, a.Event)
	return nil
}

// release takes the finalizer off, after which the API server deletes the object.
func (r *DelegationReconciler) release(ctx context.Context, s *scope, a outbox.Release) error {
	d := s.delegation.DeepCopy()
	if !controllerutil.RemoveFinalizer(d, v1alpha1.DeliveryFinalizer) {
		return nil
	}
	if err := amend(ctx, r.Client, d, s.delegation); err != nil {
		return err
	}
	if !d.Status.Phase.Finished() {
		r.deletePush(s, d.Status.TaskID)
	}
	r.emit(d, a.Event)
	return nil
}

func (r *DelegationReconciler) emit(d *v1alpha1.Delegation, e *outbox.Event) {
	if e != nil {
		emit(r.Recorder, d, nil, "Deliver", *e)
	}
}

// emit tells of an object, and of another that has to do with it; nil for none.
func emit(to events.EventRecorder, of, related runtime.Object, action string, e outbox.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	to.Eventf(of, related, kind, e.Reason, action, "%s", truncate(e.Message, maxNote))
}

// truncate cuts a text to n bytes without breaking a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
