// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// The indexes of the cache.
const (
	// Finished Delegations are not in these: nothing that changes there concerns them.
	byAgent        = "spec.agentRef"
	byForeignAgent = "spec.agentRef.namespace"
	byConfigMap    = "configMapKeyRef"
	bySecret       = "secretKeyRef"
	// Finished Delegations are in these: they keep their ids and their place in the conversation.
	byMessageID  = "spec.messageId"
	byContextID  = "spec.contextId"
	byContinues  = "spec.continues.name"
	byRefines    = "spec.refines.name"
	byDuplicates = "status.duplicates"
	byUID        = "metadata.uid"

	// RemoteAgents are in this one by what their credentials are read from.
	agentByReference = "credentials"

	// foreign is what the index byForeignAgent lists Delegations under whose RemoteAgent is in another namespace.
	foreign = "foreign"
)

// SetupWithManager registers the controller, its watches and its indexes.
func (r *DelegationReconciler) SetupWithManager(mgr ctrl.Manager, wake *Wake, workers int) error {
	if err := indexDelegations(mgr); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr)
	if r.Agents.everywhere() {
		b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{}))
	}
	r.Agents.watchSecrets(b, r.ofSource(bySecret, credential.KindSecret))
	return b.Named("delegation").
		For(&v1alpha1.Delegation{}, builder.WithPredicates(afterStart)).
		Watches(&v1alpha1.Delegation{}, atStart).
		// At the start those that wait for others are looked at in any case.
		Watches(&v1alpha1.Delegation{}, handler.EnqueueRequestsFromMapFunc(r.ofConversation), builder.WithPredicates(afterStart)).
		Watches(&v1alpha1.RemoteAgent{}, handler.EnqueueRequestsFromMapFunc(r.ofAgent)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.ofSource(byConfigMap, credential.KindConfigMap))).
		WatchesRawSource(wake.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// SetupWithManager registers the controller, its watches and its index.
func (r *RemoteAgentReconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.RemoteAgent{}, agentByReference, func(o client.Object) []string {
		var values []string
		for _, ref := range credential.References(o.(*v1alpha1.RemoteAgent)) {
			values = append(values, ref.Kind+"/"+ref.Name)
		}
		return values
	})
	if err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr)
	r.Agents.watchSecrets(b, r.ofReference(credential.KindSecret))
	return b.Named("remoteagent").
		For(&v1alpha1.RemoteAgent{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, finalizersChanged))).
		// At the start each RemoteAgent is examined in any case.
		Watches(&v1alpha1.Delegation{}, handler.EnqueueRequestsFromMapFunc(r.ofDelegation), builder.WithPredicates(afterStart)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.ofReference(credential.KindConfigMap))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// listed maps an object to the Delegations of its namespace that an index lists under its name.
func (r *DelegationReconciler) listed(field string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.requests(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{field: o.GetName()})
	}
}

// ofSource maps a Secret or ConfigMap to the Delegations that an index lists because they take content from it, and to those
// of the agents whose credentials are in it.
func (r *DelegationReconciler) ofSource(field, kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		requests := r.listed(field)(ctx, o)
		for name := range agentsOf(ctx, r.Client, kind, o) {
			agent := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: name}}
			requests = append(requests, r.ofAgent(ctx, agent)...)
		}
		return requests
	}
}

func (r *RemoteAgentReconciler) ofReference(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for name := range agentsOf(ctx, r.Client, kind, o) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
		}
		return requests
	}
}

// agentsOf returns the names of the RemoteAgents whose credentials are in an object.
func agentsOf(ctx context.Context, c client.Reader, kind string, o client.Object) map[string]bool {
	list := &v1alpha1.RemoteAgentList{}
	if err := c.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{agentByReference: kind + "/" + o.GetName()},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing RemoteAgents", "kind", kind, "name", o.GetName())
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Name] = true
	}
	return names
}

// finalizersChanged lets the event of a RemoteAgent's own finalizer through, whose write ends a pass.
var finalizersChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	},
}

// ofDelegation maps a Delegation to its RemoteAgent where that has to know: its message became several tasks, the egress
// policy denied the connection, so that its name leads elsewhere than when it was read, or the RemoteAgent is to be deleted
// and waits for it.
func (r *RemoteAgentReconciler) ofDelegation(ctx context.Context, o client.Object) []reconcile.Request {
	d := o.(*v1alpha1.Delegation)
	name := d.AgentKey()
	if !r.Agents.worksIn(name.Namespace) {
		return nil
	}
	delivered := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDelivered)
	denied := delivered != nil && delivered.Reason == remote.ReasonEgressDenied
	if len(d.Status.Duplicates) == 0 && !denied {
		ra := &v1alpha1.RemoteAgent{}
		if err := r.Client.Get(ctx, name, ra, client.DisableReadYourWritesConsistency); err != nil || ra.DeletionTimestamp == nil {
			return nil
		}
	}
	return []reconcile.Request{{NamespacedName: name}}
}

// ofConversation maps a Delegation to those that wait for it: what refines it, and what continues the same task.
func (r *DelegationReconciler) ofConversation(ctx context.Context, o client.Object) []reconcile.Request {
	d := o.(*v1alpha1.Delegation)
	requests := r.listed(byRefines)(ctx, o)
	root, _, err := r.root(ctx, d)
	if err != nil || root == nil {
		root = d
	}
	members, err := r.members(ctx, root)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing continuations", "delegation", root.Name)
	}
	for _, other := range members {
		if other.UID != d.UID && !other.Status.Phase.Finished() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
	}
	return requests
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
