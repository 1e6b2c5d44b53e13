// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/schedule"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// byController lists the Delegations that a DelegationSchedule made, by its UID.
const byController = "metadata.controller"

// scheduleAction is the action of Events.
const scheduleAction = "Schedule"

// ScheduleReconciler makes the Delegations of DelegationSchedules.
type ScheduleReconciler struct {
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Shard is the part of the DelegationSchedules that this process keeps. Their runs may be of any.
	Shard shard.Shard
}

// SetupWithManager registers the controller and its watches; its index is one of the Delegations'.
func (r *ScheduleReconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).Named("delegationschedule").
		For(&v1alpha1.DelegationSchedule{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: beyondConditions})).
		Owns(&v1alpha1.Delegation{}, builder.WithPredicates(afterStart)). // at the start each schedule is planned in any case
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// beyondConditions passes over events of what the operator alone writes: as one, the note that a run could not be created would
// begin the next attempt, and the backoff would never apply.
func beyondConditions(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.DeepCopyObject().(*v1alpha1.DelegationSchedule)
	is, isToo := e.ObjectNew.DeepCopyObject().(*v1alpha1.DelegationSchedule)
	if !ok || !isToo || was.ResourceVersion == is.ResourceVersion {
		return true // the last is the resync
	}
	for _, s := range []*v1alpha1.DelegationSchedule{was, is} {
		s.ResourceVersion, s.ManagedFields, s.Status.Conditions = "", nil, nil
	}
	return !equality.Semantic.DeepEqual(was, is)
}

// Reconcile plans and acts until the schedule has to wait. A plan that creates a run is followed by another, which records it.
func (r *ScheduleReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.Shard.Owns(req.NamespacedName) {
		return ctrl.Result{}, nil
	}
	s := &v1alpha1.DelegationSchedule{}
	if err := r.Client.Get(ctx, req.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.input(ctx, s)
	for range maxSteps {
		if err != nil {
			break
		}
		plan := schedule.Decide(in)
		if plan.Create == nil || in.Refused != nil {
			return r.rest(ctx, &in, plan)
		}
		err = r.begin(ctx, &in, plan)
	}
	return r.yield(err)
}

// yield ends a pass that did not come to rest. A conflict is another's write, after which all is decided anew.
func (r *ScheduleReconciler) yield(err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return ctrl.Result{}, fmt.Errorf("no rest after %d actions", maxSteps)
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// input gathers the runs.
func (r *ScheduleReconciler) input(ctx context.Context, s *v1alpha1.DelegationSchedule) (schedule.Input, error) {
	in := schedule.Input{Now: r.Clock.Now(), Schedule: s}
	list := &v1alpha1.DelegationList{}
	err := r.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingFields{byController: string(s.UID)})
	for i := range list.Items {
		in.Runs = append(in.Runs, &list.Items[i])
	}
	return in, err
}

// rest carries out a plan that begins no run.
func (r *ScheduleReconciler) rest(ctx context.Context, in *schedule.Input, plan schedule.Plan) (ctrl.Result, error) {
	if err := r.settle(ctx, in, plan); err != nil {
		return r.yield(err)
	}
	if in.Refused != nil && !in.Refused.Final {
		return ctrl.Result{}, fmt.Errorf("creating a run: %s", in.Refused.Message) // for the backoff
	}
	if plan.Until.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(plan.Until.Sub(r.Clock.Now()), time.Millisecond)}, nil
}

// settle writes the status, tells of it, and then cancels and deletes. Nothing of that is done on an old status.
func (r *ScheduleReconciler) settle(ctx context.Context, in *schedule.Input, plan schedule.Plan) error {
	acts := plan.Create != nil || len(plan.Cancel)+len(plan.Delete) > 0
	if acts || !equality.Semantic.DeepEqual(in.Schedule.Status, plan.Status) {
		if err := r.fence(ctx, in, plan.Status); err != nil {
			return err
		}
	}
	for _, e := range plan.Events {
		emit(r.Recorder, in.Schedule, nil, scheduleAction, e)
	}
	for _, run := range plan.Cancel {
		canceled := run.DeepCopy()
		canceled.Spec.Cancel = true
		if err := amend(ctx, r.Client, canceled, run); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for _, run := range plan.Delete {
		exactly := client.Preconditions{UID: &run.UID, ResourceVersion: &run.ResourceVersion}
		if err := r.Client.Delete(ctx, run, exactly); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// fence writes the status with the resourceVersion that was decided on, also where nothing in it is new: the API server
// refuses the write where the version is an old one, and changes nothing where it is not.
func (r *ScheduleReconciler) fence(ctx context.Context, in *schedule.Input, status v1alpha1.DelegationScheduleStatus) error {
	s := in.Schedule.DeepCopy()
	s.Status = status
	err := r.Client.Status().Update(ctx, s)
	if err == nil {
		in.Schedule = s
	}
	return err
}

// begin creates a run, or finds out who did. What is known then is in the input of the next decision.
func (r *ScheduleReconciler) begin(ctx context.Context, in *schedule.Input, plan schedule.Plan) error {
	if err := r.settle(ctx, in, plan); err != nil {
		return err
	}
	if overlooked, err := r.overlooked(ctx, in); overlooked || err != nil {
		return err
	}
	run := plan.Create
	err := r.Client.Create(ctx, run)
	switch {
	case err == nil:
		emit(r.Recorder, in.Schedule, run, scheduleAction, outbox.Event{Reason: schedule.ReasonRunCreated, Message: "created Delegation " + run.Name})
		in.Runs = append(in.Runs, run)
	case apierrors.IsAlreadyExists(err):
		return r.meet(ctx, in, run)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		in.Refused = &schedule.Refusal{Message: "the namespace is being deleted", Final: true}
	case apierrors.IsConflict(err):
		return err
	default:
		in.Refused = &schedule.Refusal{Message: remote.Clean(err.Error()), Final: apierrors.IsInvalid(err)}
	}
	return nil
}

// overlooked reports whether the API server has a run that the cache lacked: another manager's. It is asked only where runs
// keep others from beginning.
func (r *ScheduleReconciler) overlooked(ctx context.Context, in *schedule.Input) (bool, error) {
	s := in.Schedule
	if s.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyForbid && s.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyReplace {
		return false, nil
	}
	list := &v1alpha1.DelegationList{}
	if err := r.Live.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.ScheduleLabel: s.Name}); err != nil {
		return false, err
	}
	known := map[string]bool{}
	for _, run := range in.Runs {
		known[string(run.UID)] = true
	}
	found := false
	for i := range list.Items {
		if run := &list.Items[i]; metav1.IsControlledBy(run, s) && !known[string(run.UID)] {
			in.Runs, found = append(in.Runs, run), true
		}
	}
	return found, nil
}

// meet looks at who has the name of a run already.
func (r *ScheduleReconciler) meet(ctx context.Context, in *schedule.Input, run *v1alpha1.Delegation) error {
	other := &v1alpha1.Delegation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(run), other); err != nil {
		return client.IgnoreNotFound(err) // it went meanwhile: decided anew
	}
	if metav1.IsControlledBy(other, in.Schedule) {
		in.Runs = append(in.Runs, other)
	} else {
		in.Taken = other
	}
	return nil
}
