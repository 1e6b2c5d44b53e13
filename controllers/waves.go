// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// wavePriority is that of Delegations that one event brings up together: a RemoteAgent that is ready again may have thousands
// that wait for it, and what concerns a single one, of another agent, does not wait for all of them.
const wavePriority = -5

// wave queues what an object is mapped to, behind what concerns single Delegations. It differs from the library's handler in
// the priority alone, and does not look at what an object was before: none is mapped by what can change.
func wave(of handler.MapFunc) handler.EventHandler {
	behind := func(ctx context.Context, o client.Object, q queue) { addAt(q, wavePriority, of(ctx, o)...) }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if e.IsInInitialList {
				addAt(q, startBound, of(ctx, e.Object)...)
				return
			}
			behind(ctx, e.Object, q)
		},
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { behind(ctx, e.ObjectNew, q) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { behind(ctx, e.Object, q) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { behind(ctx, e.Object, q) },
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// addAt queues with a priority, where the queue has any.
func addAt(q queue, priority int, requests ...reconcile.Request) {
	if by, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		by.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
		return
	}
	for _, request := range requests {
		q.Add(request)
	}
}
