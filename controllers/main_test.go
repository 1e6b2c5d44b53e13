// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

var config *rest.Config

func TestMain(m *testing.M) { os.Exit(testenv.Run(m, func(c *rest.Config) { config = c })) }

// newReconciler returns one on a cache that runs until the test ends. No controller calls it.
func newReconciler(t *testing.T) (*DelegationReconciler, *interrupted, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Cache: CacheOptions(nil), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := indexDelegations(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	pool := courier.NewPool()
	couriers := courier.New(pool, clock.RealClock{}, func(types.NamespacedName) {})
	cached := &interrupted{Client: mgr.GetClient()}
	return &DelegationReconciler{
		Client: cached, Live: mgr.GetAPIReader(), Recorder: events.NewFakeRecorder(16), Clock: clock.RealClock{}, Self: "self",
		Agents: &Agents{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Pool: pool,
			Credentials: &credential.Keeper{Live: mgr.GetAPIReader(), Cluster: admin, Clock: clock.RealClock{}}},
		Courier: couriers, Follower: follow.New(pool, clock.RealClock{}, couriers.Deliver),
	}, cached, admin
}

// impersonating returns a client with the rights of a user.
func impersonating(t *testing.T, user string) client.Client {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = user
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func decide(t *testing.T, r *DelegationReconciler, name types.NamespacedName) {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what another goroutine brings about.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited 30 s in vain")
		}
	}
}
