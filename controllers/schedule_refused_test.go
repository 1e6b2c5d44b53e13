// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/schedule"
)

// refusing is an API server that takes no Delegation, each time for another reason.
type refusing struct {
	client.Client
	tries atomic.Int64
}

// Create implements client.Writer.
func (r *refusing) Create(context.Context, client.Object, ...client.CreateOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "delegations"}, "s", refusal(r.tries.Add(1)))
}

type refusal int64

func (r refusal) Error() string { return strings.Repeat("quota ", int(r)) }

// As long as a run can't be created each attempt leaves the status as it is. A write would be an event, and as one begin the
// next attempt past the backoff.
func TestAnAttemptThatFailsAgainWritesNothing(t *testing.T) {
	for _, c := range []struct {
		name, label, reason string
	}{
		{name: "refused", label: "not a label", reason: schedule.ReasonRunRefused},
		{name: "refused in a long message", label: strings.Repeat("x", 40_000), reason: schedule.ReasonRunRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScheduling(t, func(spec *v1alpha1.DelegationScheduleSpec) {
				spec.Template.Metadata.Labels = map[string]string{"team": c.label}
			})
			w.until(func() bool { return w.reason() == c.reason })
			before := w.s.ResourceVersion
			for range 3 {
				_ = w.reconcileAsSeen()
			}
			if w.s.ResourceVersion != before || w.reason() != c.reason || !meta.IsStatusConditionTrue(w.s.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("resourceVersion %s, then %s: %+v", before, w.s.ResourceVersion, w.s.Status.Conditions)
			}
		})
	}
}

// Another reason each time is written each time, and is no event.
func TestAnotherRefusalIsNoEvent(t *testing.T) {
	w := newScheduling(t, nil)
	w.r.Client = &refusing{Client: w.r.Client}
	w.until(func() bool { return w.reason() == schedule.ReasonRunNotCreated })
	was := w.s.DeepCopy()
	if err := w.reconcileAsSeen(); err == nil {
		t.Error("no error, so that the queue does not back off")
	}
	if w.s.ResourceVersion == was.ResourceVersion {
		t.Fatal("the new reason is not told")
	}
	if beyondConditions(event.UpdateEvent{ObjectOld: was, ObjectNew: w.s}) {
		t.Errorf("%+v after %+v is an event", w.s.Status, was.Status)
	}
	changed := w.s.DeepCopy()
	changed.ResourceVersion, changed.Status.LastScheduleTime = "other", nil
	changed.Status.NextScheduleTime = nil
	if !beyondConditions(event.UpdateEvent{ObjectOld: w.s, ObjectNew: changed}) {
		t.Error("a status that was taken away is no event")
	}
}

// reconcileAsSeen reconciles once the cache has what the test has seen.
func (w *scheduling) reconcileAsSeen() error {
	w.t.Helper()
	name := client.ObjectKeyFromObject(w.s)
	eventually(w.t, func() bool {
		s := &v1alpha1.DelegationSchedule{}
		return w.r.Client.Get(w.t.Context(), name, s) == nil && s.ResourceVersion == w.s.ResourceVersion
	})
	_, failed := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: name})
	if err := w.admin.Get(w.t.Context(), name, w.s); err != nil {
		w.t.Fatal(err)
	}
	return failed
}

// The queue's backoff is what an attempt waits for, and not the event of its own note.
func TestARefusedRunIsTriedByTheBackoff(t *testing.T) {
	w := newScheduling(t, nil)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: w.admin.Scheme(), Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.s.Namespace: {}}}})
	if err != nil {
		t.Fatal(err)
	}
	api := &refusing{Client: w.r.Client}
	w.r.Client = api
	if err := w.r.SetupWithManager(mgr, 1); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// The first note has more than conditions, and is an event. From then on 5 ms double each time: ten attempts take at
	// least 5 + 10 + … + 640 ms. Without the backoff they took half a second.
	eventually(t, func() bool { return api.tries.Load() >= 10 })
	if took := time.Since(begun); took < time.Second {
		t.Errorf("%d attempts in %s", api.tries.Load(), took)
	}
}
