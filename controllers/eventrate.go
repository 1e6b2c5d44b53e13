// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/delegation-dev/delegation-operator/internal/metrics"
)

// eventBurst is how many Events of one type may be written at once after a quiet time.
const eventBurst = 100

// limitedRecorder leaves out Events beyond a rate. Each is a write to the API server, and what it says is in the object's
// status too: when thousands of Delegations move at once, Events would take the writes that move them. Warnings have a rate
// of their own, so that what went well keeps no warning away.
type limitedRecorder struct {
	events.EventRecorder
	limits map[string]*rate.Limiter
}

// LimitEvents returns a recorder that writes at most perSecond Events of each type, Normal and Warning, on average.
func LimitEvents(to events.EventRecorder, perSecond int) events.EventRecorder {
	return &limitedRecorder{EventRecorder: to, limits: map[string]*rate.Limiter{
		corev1.EventTypeNormal:  rate.NewLimiter(rate.Limit(perSecond), eventBurst),
		corev1.EventTypeWarning: rate.NewLimiter(rate.Limit(perSecond), eventBurst),
	}}
}

func (r *limitedRecorder) Eventf(of, related runtime.Object, kind, reason, action, note string, args ...any) {
	if limit := r.limits[kind]; limit != nil && !limit.Allow() {
		metrics.EventLeftOut(kind)
		return
	}
	r.EventRecorder.Eventf(of, related, kind, reason, action, note, args...)
}
