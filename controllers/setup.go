// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

// The indexes of the cache. Finished Delegations are in none: nothing that changes elsewhere concerns them.
const (
	byAgent       = "spec.agentRef.name"
	byConfigMap   = "configMapKeyRef"
	bySecret      = "secretKeyRef"
	agentBySecret = "authentication.secretRef"
)

// SetupWithManager registers the controller, its watches and its indexes.
func (r *DelegationReconciler) SetupWithManager(mgr ctrl.Manager, wake *Wake, workers int) error {
	for field, values := range map[string]func(*v1alpha1.Delegation) []string{
		byAgent:     func(d *v1alpha1.Delegation) []string { return []string{d.Spec.AgentRef.Name} },
		byConfigMap: configMapNames,
		bySecret:    secretNames,
	} {
		if err := index(mgr, field, values); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("delegation").
		For(&v1alpha1.Delegation{}).
		Watches(&v1alpha1.RemoteAgent{}, handler.EnqueueRequestsFromMapFunc(r.listed(byAgent))).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.listed(byConfigMap))).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WatchesRawSource(wake.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// SetupWithManager registers the controller, its watches and its index.
func (r *RemoteAgentReconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.RemoteAgent{}, agentBySecret, func(o client.Object) []string {
		if ref := credential.SecretRef(o.(*v1alpha1.RemoteAgent)); ref != nil {
			return []string{ref.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("remoteagent").
		For(&v1alpha1.RemoteAgent{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func index(mgr ctrl.Manager, field string, values func(*v1alpha1.Delegation) []string) error {
	return mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Delegation{}, field, func(o client.Object) []string {
		d := o.(*v1alpha1.Delegation)
		if d.Status.Phase.Finished() && d.DeletionTimestamp == nil {
			return nil
		}
		return values(d)
	})
}

func configMapNames(d *v1alpha1.Delegation) []string {
	var names []string
	for _, p := range d.Spec.Message.Parts {
		if p.ValueFrom != nil && p.ValueFrom.ConfigMapKeyRef != nil {
			names = append(names, p.ValueFrom.ConfigMapKeyRef.Name)
		}
	}
	return names
}

func secretNames(d *v1alpha1.Delegation) []string {
	var names []string
	for _, p := range d.Spec.Message.Parts {
		if p.ValueFrom != nil && p.ValueFrom.SecretKeyRef != nil {
			names = append(names, p.ValueFrom.SecretKeyRef.Name)
		}
	}
	return names
}

// listed maps an object to the Delegations that an index lists under its name. A list that misses the newest write of
// this process misses nothing: that write has its own event.
func (r *DelegationReconciler) listed(field string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.DelegationList{}
		if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{field: o.GetName()},
			client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "listing Delegations", "index", field, "name", o.GetName())
			return nil
		}
		requests := make([]reconcile.Request, 0, len(list.Items))
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	}
}

// ofSecret maps a Secret to the Delegations that take content from it, and to those of the agents that it authenticates
// the operator to.
func (r *DelegationReconciler) ofSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.listed(bySecret)(ctx, o)
	for i := range agentsOfSecret(ctx, r.Client, o) {
		agent := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: i}}
		requests = append(requests, r.listed(byAgent)(ctx, agent)...)
	}
	return requests
}

func (r *RemoteAgentReconciler) ofSecret(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for name := range agentsOfSecret(ctx, r.Client, o) {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return requests
}

// agentsOfSecret returns the names of the RemoteAgents whose credentials are in a Secret.
func agentsOfSecret(ctx context.Context, c client.Reader, o client.Object) map[string]bool {
	list := &v1alpha1.RemoteAgentList{}
	if err := c.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{agentBySecret: o.GetName()},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing RemoteAgents", "secret", o.GetName())
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Name] = true
	}
	return names
}

// Wake brings the names of Delegations that something happened to, outside the API server, into the controller's queue.
type Wake struct {
	ready chan struct{}
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewWake returns a Wake that holds callers until the controller has started.
func NewWake() *Wake { return &Wake{ready: make(chan struct{})} }

// Add queues a Delegation. It never blocks once the controller runs.
func (w *Wake) Add(name types.NamespacedName) {
	<-w.ready
	w.queue.Add(reconcile.Request{NamespacedName: name})
}

func (w *Wake) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.queue = queue
		close(w.ready)
		return nil
	})
}
