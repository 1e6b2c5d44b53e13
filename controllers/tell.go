// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxLogged bounds what of an agent's words is logged, in bytes.
const maxLogged = 256

// loggerOf returns the logger for what happens to a Delegation. It is not that of the Reconcile, whose id differs from pass
// to pass.
func loggerOf(d *v1alpha1.Delegation) logr.Logger {
	return ctrl.Log.WithName("delegation").WithValues("namespace", d.Namespace, "delegation", d.Name, "agent", d.AgentKey().String())
}

// tell counts and logs what a status write changed, and traces it. The write was made, by this process and no other. No word
// of the agent's is logged but the id that it gave its task.
func (r *DelegationReconciler) tell(s *scope, c outbox.Changes) {
	d, now := s.delegation, r.Clock.Now()
	metrics.Changed(s.agentName(), d, c, now)
	r.Tracer.Changed(d, c, now)
	if !c.Moved {
		return
	}
	log := loggerOf(d).WithValues("taskId", d.Status.TaskID, "attempt", d.Status.Attempts)
	if c.RecoveredBy != "" {
		log.Info("recovered", "by", c.RecoveredBy)
	}
	message := "changed"
	switch {
	case c.Finished:
		message = "finished"
	case c.Unknown:
		message = "outcome unknown"
	case c.Delivered:
		message = "delivered"
	}
	log.Info(message, "phase", d.Status.Phase, "reason", outbox.ReadyReason(&d.Status))
}

// tellCall logs one call, for those who ask for more than what changed.
func (r *DelegationReconciler) tellCall(d *v1alpha1.Delegation, result *outbox.Result) {
	log := loggerOf(d).V(1)
	if !log.Enabled() {
		return
	}
	log.Info("called", "call", result.Call, "attempt", result.Attempt, "outcome", result.Outcome, "reason", result.Reason,
		"detail", truncate(result.Detail, maxLogged))
}
