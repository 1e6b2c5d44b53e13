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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The order in which what was there at the start is looked at. What happens from then on is of priority 0, whatever it is: the
// ends of one tenant's calls would keep another's new Delegation waiting if they came first.
const (
	// startInterrupted: a message that may be out, which nobody waits for any more.
	startInterrupted = -10
	// startNew: a message that was never sent.
	startNew = -20
	// startBound: a task that the agent works on in any case.
	startBound = handler.LowPriority
	// startOver: one that is over, and to be deleted sooner or later.
	startOver = handler.LowPriority - 10
)

// afterStart passes over what was there at the start.
var afterStart = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

// atStart queues the Delegations that were there at the start in the order above.
var atStart = handler.Funcs{
	CreateFunc: func(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		d, ok := e.Object.(*v1alpha1.Delegation)
		if !ok || !e.IsInInitialList || atRest(d) {
			return
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)}
		if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(startPriority(d))}, request)
			return
		}
		queue.Add(request)
	},
}

func startPriority(d *v1alpha1.Delegation) int {
	switch {
	case over(d):
		return startOver
	case d.Status.TaskID != "":
		return startBound
	case d.Annotations[v1alpha1.AttemptAnnotation] != "":
		return startInterrupted
	}
	return startNew
}

// atRest reports whether a Delegation needs nothing until somebody changes it.
func atRest(d *v1alpha1.Delegation) bool {
	return over(d) && d.DeletionTimestamp == nil && d.Spec.TTLSecondsAfterFinished == nil && d.Status.ObservedGeneration == d.Generation
}
