// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// What goes well, in a flood, keeps no warning away, and after the flood Events are written again.
func TestLimitEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 10
		fake := events.NewFakeRecorder(10 * eventBurst)
		r := LimitEvents(fake, perSecond)
		write := func(kind string, n int) int {
			before := len(fake.Events)
			for range n {
				r.Eventf(&v1alpha1.Delegation{}, nil, kind, "Working", "Deliver", "the agent works on it")
			}
			return len(fake.Events) - before
		}
		for _, step := range []struct {
			kind        string
			after       time.Duration
			n, want     int
			description string
		}{
			{corev1.EventTypeNormal, 0, 5 * eventBurst, eventBurst, "a flood"},
			{corev1.EventTypeWarning, 0, 1, 1, "a warning in it"},
			{corev1.EventTypeNormal, 3 * time.Second, 5 * eventBurst, 3 * perSecond, "three seconds later"},
			{corev1.EventTypeNormal, time.Hour, eventBurst, eventBurst, "after a quiet hour"},
		} {
			time.Sleep(step.after)
			if got := write(step.kind, step.n); got != step.want {
				t.Errorf("%s: %d of %d Events were written, want %d", step.description, got, step.n, step.want)
			}
		}
	})
}
