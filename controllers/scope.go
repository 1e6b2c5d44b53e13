// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

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
	// trimmed says that it is what the cache has of one that is over.
	trimmed bool
	// agent that the Delegation names.
	agent agentView
	// related are the Delegations that it depends on.
	related outbox.Related
	// message ready to be sent; nil where it is not needed or can't be built.
	message *message.Message
	// body is the message as the decision sees it.
	body outbox.Body
	// running is the call that was queued or out, and result the last one's, when this Reconcile began.
	running outbox.Call
	result  *outbox.Result
}

func (s *scope) key() courier.Key {
	return courier.Key{
		NamespacedName: types.NamespacedName{Namespace: s.delegation.Namespace, Name: s.delegation.Name},
		UID:            s.delegation.UID,
	}
}

// agentName names the agent in metrics; the zero name where it is not there.
func (s *scope) agentName() types.NamespacedName {
	if s.agent.id == "" {
		return types.NamespacedName{}
	}
	return s.delegation.AgentKey()
}

// open reads what a decision needs. It returns nil for a Delegation that is gone. The courier is asked first: what it
// holds of a call is then never newer than the object that is read, in which the call's journal is. Until this Reconcile
// ends nobody else has a courier call for this Delegation.
func (r *DelegationReconciler) open(ctx context.Context, name types.NamespacedName) (*scope, error) {
	uid, _ := r.uids.Load(name)
	known, _ := uid.(types.UID)
	running, result := r.Courier.Observe(known)
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
	if d.UID == known {
		s.running, s.result = running, result
	}
	if s.trimmed = over(d); s.trimmed || s.awaitsCall() {
		return s, nil
	}
	var err error
	if s.agent, err = r.Agents.view(ctx, d); err != nil {
		return nil, err
	}
	if d.Status.TaskID != "" && (d.DeletionTimestamp == nil || d.Spec.Continues == nil) {
		return s, nil
	}
	if s.related, err = r.relate(ctx, d, s.agent.Endpoint); err != nil {
		return nil, err
	}
	return s, r.address(ctx, s)
}

// awaitsCall reports whether nothing but the end of a call, which wakes the Delegation, can move it: a pass in between, such
// as that for the event of the call's own journal write, needs neither the agent nor the message.
func (s *scope) awaitsCall() bool {
	answered := s.result != nil && s.result.Outcome == outbox.Accepted
	return s.running != outbox.CallNone && !answered && s.delegation.Status.TaskID == "" && s.delegation.DeletionTimestamp == nil
}

// over reports whether a Delegation needs neither its agent nor its message any more.
func over(d *v1alpha1.Delegation) bool {
	return outbox.Over(&d.Status) && !slices.ContainsFunc(d.Status.Duplicates, func(t v1alpha1.DuplicateTask) bool { return !t.Canceled })
}

// address builds the message.
func (r *DelegationReconciler) address(ctx context.Context, s *scope) error {
	d := s.delegation
	to := outbox.Address(d, s.related, s.agent.NamesContexts)
	var err error
	s.message, err = message.Build(d, to, r.sources(ctx, d.Namespace))
	if err != nil {
		s.body.Problem, err = bodyProblem(d.Namespace, err)
		if s.agent.recheck == 0 {
			s.agent.recheck = r.Agents.recheck(s.body.Problem)
		}
		return err
	}
	s.body.Digest = s.message.Digest
	return nil
}

// input is what the decision is made on.
func (r *DelegationReconciler) input(s *scope) outbox.Input {
	return outbox.Input{
		Now: r.Clock.Now(), Self: r.Self, Delegation: s.delegation,
		Agent: s.agent.Agent, Related: s.related, Body: s.body, Running: s.running, Result: s.result,
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

// isOutdated reports whether a Delegation is the version that a journal write of this process was refused for: another
// decision on it would end in the same conflict. Its event, or the next look, brings a newer one.
func (r *DelegationReconciler) isOutdated(d *v1alpha1.Delegation) bool {
	version, ok := r.outdated.Load(d.UID)
	if ok && version != d.ResourceVersion {
		r.outdated.Delete(d.UID)
	}
	return ok && version == d.ResourceVersion
}

func (r *DelegationReconciler) dropUID(uid types.UID) {
	r.outdated.Delete(uid)
	r.heeded.Delete(uid)
	r.Follower.Drop(uid)
	r.Courier.Forget(uid)
}
