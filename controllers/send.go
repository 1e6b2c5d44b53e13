// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// askTimeout bounds a call that changes nothing, with all its pages.
const askTimeout = 30 * time.Second

// send hands a courier the journal write and the send that it permits. The object is the one that was decided on: had it
// changed since, by anyone, the write conflicts and nothing is sent.
func (r *DelegationReconciler) send(s *scope, a outbox.Send) {
	version := s.delegation.ResourceVersion
	d, client, request, promised := s.delegation.DeepCopy(), s.agent.client, s.message.Request, s.agent.Deduplicates
	dispatch, agent := r.dispatch(s), s.agentName()
	r.Courier.Carry(courier.Job{
		Key: s.key(), Agent: s.agent.id, Limits: s.agent.limits, Call: outbox.CallSend,
		Do: func(ctx context.Context) *outbox.Result {
			if !a.Until.IsZero() && !r.Clock.Now().Before(a.Until) {
				return nil // the right to send ended in the queue
			}
			if !r.Agents.stands(ctx, d, client) {
				return nil // nothing is journalled yet, and the agent is not what it was
			}
			attempt := a.Attempt
			attempt.Started = r.Clock.Now().UTC()
			attempt.Deadline = attempt.Started.Add(a.Timeout)
			result := &outbox.Result{Call: outbox.CallSend, Attempt: attempt.Number, Journal: attempt.Started}
			token, err := r.journal(ctx, d, a.Envelope, attempt)
			switch {
			case apierrors.IsConflict(err), apierrors.IsNotFound(err):
				metrics.JournalConflict(agent)
				r.outdated.Store(d.UID, version)
				return nil
			case err != nil:
				result.Exchange = outbox.Exchange{Outcome: outbox.NotSent, Reason: outbox.ReasonJournalWriteFailed, Detail: remote.Clean(err.Error())}
				return result
			}
			spanned, end := r.Tracer.Call(ctx, d, outbox.CallSend, attempt.Number)
			sent := dispatch(spanned, token, request)
			end(sent)
			result.Exchange = witness(ctx, client, a, promised, sent)
			metrics.Attempt(agent, d.Namespace, result.Exchange)
			r.tellCall(d, result)
			return result
		},
	})
}

// witness adds what only a second question can tell: of an answer that was refused, the state of its task, and of a
// message that was sent again to an agent that promised to deduplicate, whether it made another task of the first copy.
// Losing it to a crash loses no task that was bound.
func witness(ctx context.Context, client *remote.Client, a outbox.Send, promised bool, ex outbox.Exchange) outbox.Exchange {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	switch {
	case ex.Outcome == outbox.Refused && a.Envelope.TaskID != "":
		ex.Task = client.Get(ctx, a.Envelope.TaskID).Task
	case promised && ex.Outcome == outbox.Accepted && ex.Task != nil && a.Attempt.Number > 1 && a.Envelope.TaskID == "" && a.Envelope.ContextID != "":
		found := client.Find(ctx, outbox.Query{MessageID: a.Envelope.MessageID, ContextID: a.Envelope.ContextID})
		if found.Task != nil {
			ex.Others = append(found.Others, found.Task.ID)
		}
	}
	return ex
}

// journal writes the attempt and the message's ids in one write with resourceVersion, and returns the right to send.
func (r *DelegationReconciler) journal(ctx context.Context, d *v1alpha1.Delegation, to outbox.Envelope, attempt outbox.Attempt) (outbox.Token, error) {
	read := d.DeepCopy()
	d.Spec.MessageID, d.Spec.ContextID = to.MessageID, to.ContextID
	controllerutil.AddFinalizer(d, v1alpha1.DeliveryFinalizer)
	if err := attempt.Annotate(d); err != nil {
		return outbox.Token{}, err
	}
	if err := amend(ctx, r.Client, d, read); err != nil {
		return outbox.Token{}, err
	}
	return outbox.Fence(d, read.ResourceVersion, attempt)
}

// ask hands a courier a call that may be repeated at will.
func (r *DelegationReconciler) ask(s *scope, a outbox.Ask) {
	client, version, d := s.agent.client, s.agent.Credentials, s.delegation
	if a.Call == outbox.CallCancel {
		// What a look at the task brought would take the place of what the agent says to the cancellation.
		r.Follower.Drop(s.delegation.UID)
	}
	r.Courier.Carry(courier.Job{
		Key: s.key(), Agent: s.agent.id, Limits: s.agent.limits, Call: a.Call,
		Do: func(ctx context.Context) *outbox.Result {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			if !r.Agents.stands(ctx, d, client) {
				return nil // the agent is not what it was
			}
			result := &outbox.Result{Call: a.Call, TaskID: a.TaskID, Credentials: version}
			ctx, end := r.Tracer.Call(ctx, d, a.Call, 0)
			defer func() { end(result.Exchange); r.tellCall(d, result) }()
			switch a.Call {
			case outbox.CallFind:
				result.Exchange = client.Find(ctx, a.Query)
			case outbox.CallCancel:
				result.Exchange = client.Cancel(ctx, a.TaskID)
			default:
				result.Exchange = client.Get(ctx, a.TaskID)
			}
			return result
		},
	})
}
