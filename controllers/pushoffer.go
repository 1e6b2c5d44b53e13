// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// pushes reports whether a RemoteAgent's tasks may be heard of by push notifications: its card says so, or its owner does
// where there is no card.
func pushes(ra *v1alpha1.RemoteAgent) bool {
	card, mode := ra.Status.Card, ra.Spec.Updates.Mode
	if card == nil {
		return mode == v1alpha1.UpdatesPush
	}
	return card.PushNotifications && (mode == v1alpha1.UpdatesAuto || mode == v1alpha1.UpdatesPush)
}

func cardVersion(ra *v1alpha1.RemoteAgent) string {
	if ra.Status.Card == nil {
		return ""
	}
	return ra.Status.Card.Version
}

// refusesPush reports whether an agent refused to push, as it is now.
func (a *Agents) refusesPush(agent types.UID, made string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, refused := a.noPush[agent]
	return refused && known == made
}

func (a *Agents) noteNoPush(agent types.UID, made string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noPush == nil {
		a.noPush = map[types.UID]string{}
	}
	a.noPush[agent] = made
}

// offer is what the agent is told of where to push; nil where it is told nothing.
func (r *DelegationReconciler) offer(s *scope) *a2a.PushConfig {
	if r.Push == nil || !s.agent.pushes {
		return nil
	}
	return r.Push.Config(s.delegation.UID)
}

// dispatch returns how the message of an attempt is sent: with the offer, and without it where the agent refuses the offer.
// The refusal proves that the message was not acted on, as any does that names an error of A2A, so that the same message
// goes again in the same attempt. Its body is what the digest covers; the offer is no part of it.
func (r *DelegationReconciler) dispatch(s *scope) func(context.Context, outbox.Token, *a2a.SendMessageRequest) outbox.Exchange {
	client, offered, refused := s.agent.client, r.offer(s), r.refused(s)
	return func(ctx context.Context, token outbox.Token, request *a2a.SendMessageRequest) outbox.Exchange {
		if offered == nil {
			return client.Send(ctx, token, request)
		}
		ex := client.Send(ctx, token, offering(request, offered))
		if ex.Outcome != outbox.Refused || ex.Reason != remote.ReasonPushNotSupported {
			return ex
		}
		refused()
		return client.Send(ctx, token, request)
	}
}

// refused returns what notes that the agent does not push.
func (r *DelegationReconciler) refused(s *scope) func() {
	id, made, name := s.agent.id, s.agent.made, s.delegation.AgentKey()
	return func() {
		r.Agents.noteNoPush(id, made)
		metrics.PushRefused(name)
		ctrl.Log.Info("the agent refuses push notifications, which its card offers: it is not asked for them any more, until its RemoteAgent or its card changes",
			"namespace", name.Namespace, "remoteAgent", name.Name)
	}
}

// offering returns a message that asks for pushes. The message itself is not changed.
func offering(request *a2a.SendMessageRequest, offered *a2a.PushConfig) *a2a.SendMessageRequest {
	out, config := *request, a2a.SendMessageConfig{}
	if request.Config != nil {
		config = *request.Config
	}
	config.PushConfig, out.Config = offered, &config
	return &out
}

// arrangePush asks for pushes of a task that was found rather than answered with, and takes back what was asked for one that is done. Both
// are done once and nothing waits for them: without them the task is looked at all the same.
func (r *DelegationReconciler) arrangePush(s *scope, now *v1alpha1.Delegation) {
	was, is := &s.delegation.Status, &now.Status
	switch {
	case is.TaskID == "" || was.Phase.Finished():
	case is.Phase.Finished():
		r.deletePush(s, is.TaskID)
	case was.TaskID == "" && s.result != nil && s.result.Call != outbox.CallSend:
		r.createPush(s, is.TaskID)
	}
}

func (r *DelegationReconciler) createPush(s *scope, task string) {
	offered, client, refused := r.offer(s), s.agent.client, r.refused(s)
	if offered == nil || client == nil {
		return
	}
	r.Agents.Pool.RunFor(s.delegation.Namespace, s.agent.id, s.agent.limits, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if ex := client.CreatePush(ctx, task, offered); ex.Reason == remote.ReasonPushNotSupported {
			refused()
		}
	})
}

// deletePush takes back what the agent was told for a task.
func (r *DelegationReconciler) deletePush(s *scope, task string) {
	offered, client := r.offer(s), s.agent.client
	if offered == nil || client == nil || task == "" {
		return
	}
	r.Agents.Pool.RunFor(s.delegation.Namespace, s.agent.id, s.agent.limits, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		// An agent that still pushes is told that the Delegation is done, or gone.
		_ = client.DeletePush(ctx, task, offered.ID)
	})
}

// heed has the task of a Delegation looked at for which another replica left a hint.
func (r *DelegationReconciler) heed(d *v1alpha1.Delegation) {
	mark := d.Annotations[v1alpha1.HintAnnotation]
	if mark == "" {
		return
	}
	if last, ok := r.heeded.Swap(d.UID, mark); !ok || last != mark {
		r.Follower.HintDelegation(d.UID)
	}
}
