// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// What one event brings up for many comes behind what concerns one, and in its own order; what was there at the start comes
// last of all.
func TestAWaveComesBehind(t *testing.T) {
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	waiting := wave(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{named(o.GetName() + "-1"), named(o.GetName() + "-2")}
	})
	agent := func(name string) *v1alpha1.RemoteAgent {
		ra := &v1alpha1.RemoteAgent{}
		ra.Name = name
		return ra
	}
	queue := priorityqueue.New[reconcile.Request]("waves")
	t.Cleanup(queue.ShutDown)
	waiting.Create(t.Context(), event.CreateEvent{Object: agent("start"), IsInInitialList: true}, queue)
	waiting.Update(t.Context(), event.UpdateEvent{ObjectOld: agent("ready"), ObjectNew: agent("ready")}, queue)
	waiting.Create(t.Context(), event.CreateEvent{Object: agent("made")}, queue)
	waiting.Delete(t.Context(), event.DeleteEvent{Object: agent("gone")}, queue)
	single := v1alpha1.Delegation{}
	single.Name = "single"
	(&handler.EnqueueRequestForObject{}).Create(t.Context(), event.CreateEvent{Object: &single}, queue)
	requireOrder(t, queue, "single", "ready-1", "ready-2", "made-1", "made-2", "gone-1", "gone-2", "start-1", "start-2")
}
