// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// Pushes has the tasks looked at that agents push of. Any replica of any shard gets a push; the one that leads in the
// Delegation's shard follows the task.
type Pushes struct {
	// Client reads from the cache; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Follower of this process, which follows tasks once Elected is closed.
	Follower *follow.Follower
	Elected  <-chan struct{}
	// Shard is the part of the Delegations that this process follows.
	Shard shard.Shard
	// Relays bounds the writes by which other replicas are told.
	Relays *push.Limits
}

// Trigger implements push.Trigger.
func (p *Pushes) Trigger(ctx context.Context, uid types.UID, e push.Event) (push.Result, error) {
	d, err := withUID(ctx, p.Client, uid)
	switch {
	case err != nil:
		return "", err
	case d == nil:
		return "", push.ErrUnknown
	case over(d):
		return push.Stale, nil
	}
	if !p.follows(d) {
		return p.relay(ctx, d, e)
	}
	p.Follower.HintDelegation(uid)
	return push.Hinted, nil
}

// follows reports whether it is this process that follows the task of a Delegation.
func (p *Pushes) follows(d *v1alpha1.Delegation) bool {
	select {
	case <-p.Elected:
		return p.Shard.Owns(client.ObjectKeyFromObject(d))
	default:
		return false
	}
}

// relay tells the replica that follows the task, through the API server and only where the event says something that the
// Delegation does not.
func (p *Pushes) relay(ctx context.Context, cached *v1alpha1.Delegation, e push.Event) (push.Result, error) {
	if e.Mark(cached) == "" {
		return push.Stale, nil
	}
	if !p.Relays.Allow(cached.UID) {
		return "", push.ErrLimited
	}
	result := push.Stale
	// The cache may be behind, and two replicas may be told the same at once: of the two writes one conflicts.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d := &v1alpha1.Delegation{}
		if err := p.Live.Get(ctx, client.ObjectKeyFromObject(cached), d); err != nil {
			return err
		}
		mark := e.Mark(d)
		if d.UID != cached.UID || mark == "" {
			return nil
		}
		hinted := d.DeepCopy()
		metav1.SetMetaDataAnnotation(&hinted.ObjectMeta, v1alpha1.HintAnnotation, mark)
		err := amend(ctx, p.Client, hinted, d)
		if err == nil {
			result = push.Relayed
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return "", push.ErrUnknown
	}
	return result, err
}
