// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/message"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// scope is what one Reconcile knows.
type scope struct {
	// delegation as it was read, or as the last write returned it.
	delegation *v1alpha1.Delegation
	// agent that the Delegation names.
	agent agentView
	// message ready to be sent; nil where it is not needed or can't be built.
	message *message.Message
	// body is the message as the decision sees it.
	body outbox.Body
	// result that the last decision was made on.
	result *outbox.Result
}

func (s *scope) key() courier.Key {
	return courier.Key{
		NamespacedName: types.NamespacedName{Namespace: s.delegation.Namespace, Name: s.delegation.Name},
		UID:            s.delegation.UID,
	}
}

// open reads what a decision needs. It returns nil for a Delegation that is gone.
func (r *DelegationReconciler) open(ctx context.Context, name types.NamespacedName) (*scope, error) {
	d := &v1alpha1.Delegation{}
	if err := r.Client.Get(ctx, name, d); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(name)
			return nil, nil
		}
		return nil, err
	}
	r.remember(name, d.UID)
	s := &scope{delegation: d}
	if d.Status.Phase.Finished() {
		return s, nil
	}
	var err error
	if s.agent, err = r.Agents.view(ctx, d); err != nil {
		return nil, err
	}
	if d.Status.TaskID != "" {
		return s, nil
	}
	messageID, contextID := outbox.Identity(d)
	s.message, err = message.Build(d, messageID, contextID, r.sources(ctx, d.Namespace))
	if err != nil {
		s.body.Problem, err = bodyProblem(d.Namespace, err)
		return s, err
	}
	s.body.Digest = s.message.Digest
	return s, nil
}

// input is what the decision is made on. The courier is asked each time: a call may have ended in between.
func (r *DelegationReconciler) input(s *scope) outbox.Input {
	var running outbox.Call
	running, s.result = r.Courier.Observe(s.delegation.UID)
	return outbox.Input{
		Now: r.Clock.Now(), Self: r.Self, Delegation: s.delegation,
		Agent: s.agent.Agent, Body: s.body, Running: running, Result: s.result,
	}
}

// remember keeps the UID under a name, so that what is held of an object can be dropped when only its name is left. An
// object of the same name and another UID is a successor.
func (r *DelegationReconciler) remember(name types.NamespacedName, uid types.UID) {
	if old, ok := r.uids.Swap(name, uid); ok && old.(types.UID) != uid {
		r.dropUID(old.(types.UID))
	}
}

func (r *DelegationReconciler) forget(name types.NamespacedName) {
	if uid, ok := r.uids.LoadAndDelete(name); ok {
		r.dropUID(uid.(types.UID))
	}
}

func (r *DelegationReconciler) dropUID(uid types.UID) {
	r.Follower.Drop(uid)
	r.Courier.Forget(uid)
}
