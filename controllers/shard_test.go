// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/courier"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/remote"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// halves are the one of two shards that owns an object, and the other.
func halves(t *testing.T, o client.Object) (owner, other shard.Shard) {
	t.Helper()
	first, err := shard.Parse("0/2")
	if err != nil {
		t.Fatal(err)
	}
	second, err := shard.Parse("1/2")
	if err != nil {
		t.Fatal(err)
	}
	if first.Owns(client.ObjectKeyFromObject(o)) {
		return first, second
	}
	return second, first
}

// What is another shard's is not touched.
func TestAnotherShardsDelegation(t *testing.T) {
	r, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	name := client.ObjectKeyFromObject(d)
	eventually(t, func() bool { return r.Client.Get(t.Context(), name, &v1alpha1.Delegation{}) == nil })
	before := version(t, admin, name)
	owner, other := halves(t, d)
	r.Shard = other
	decide(t, r, name)
	if now := version(t, admin, name); now != before {
		t.Error("the shard that does not own it wrote it")
	}
	r.Shard = owner
	decide(t, r, name)
	if now := version(t, admin, name); now == before {
		t.Error("the shard that owns it wrote nothing")
	}
}

// A push that comes to another shard than the Delegation's is written for the one that follows the task.
func TestPushToAnotherShard(t *testing.T) {
	p, r, admin := relays(t)
	elected := make(chan struct{})
	close(elected)
	p.Elected = elected
	d := newDelegation(t, admin)
	eventually(t, func() bool {
		return r.Client.Get(t.Context(), client.ObjectKeyFromObject(d), &v1alpha1.Delegation{}) == nil
	})
	owner, other := halves(t, d)
	e := push.Event{TaskID: "t-1", State: v1alpha1.TaskStateCompleted}
	for _, c := range []struct {
		part shard.Shard
		want push.Result
	}{{owner, push.Hinted}, {other, push.Relayed}} {
		p.Shard = c.part
		if got, err := p.Trigger(t.Context(), d.UID, e); err != nil || got != c.want {
			t.Errorf("shard %s: %s, %v; want %s", c.part, got, err, c.want)
		}
	}
}

// An agent sees no more of all shards together than its owner allows, and a client opens no more connections.
func TestLimitsAreShared(t *testing.T) {
	ra := &v1alpha1.RemoteAgent{}
	ra.Spec.Delivery.MaxInFlight, ra.Spec.Delivery.RequestsPerSecond = 3, 51
	first, second := halves(t, ra)
	var sum courier.Limits
	for _, part := range []shard.Shard{first, second} {
		limits := (&Agents{Shard: part}).contractOf(ra).limits
		sum.InFlight, sum.PerSecond = sum.InFlight+limits.InFlight, sum.PerSecond+limits.PerSecond
	}
	if want := (courier.Limits{InFlight: 3, PerSecond: 51}); sum != want {
		t.Errorf("both shards together have %+v; want %+v", sum, want)
	}
}

// A RemoteAgent of another shard gets no status and no finalizer of this one, whose client of it goes with it all the same.
func TestAnotherShardsRemoteAgent(t *testing.T) {
	d, _, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	ra := &v1alpha1.RemoteAgent{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "agent"},
		Spec:       v1alpha1.RemoteAgentSpec{Interfaces: []v1alpha1.AgentInterface{{URL: "http://127.0.0.1:1/a2a"}}},
	}
	create(t, admin, ra)
	_, other := halves(t, ra)
	name := client.ObjectKeyFromObject(ra)
	r := &RemoteAgentReconciler{Client: d.Client, Clock: clock.RealClock{}, Agents: d.Agents, Shard: other}
	look := func() {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return d.Client.Get(t.Context(), name, &v1alpha1.RemoteAgent{}) == nil })
	look()
	now := &v1alpha1.RemoteAgent{}
	if err := admin.Get(t.Context(), name, now); err != nil || now.ResourceVersion != ra.ResourceVersion {
		t.Errorf("%v; it was written: %+v", err, now)
	}
	made, err := remote.New(remote.Config{Interface: ra.Spec.Interfaces[0]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Agents.share(ra.UID, nil, &agentClient{Client: made, made: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), ra); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return d.Client.Get(t.Context(), name, &v1alpha1.RemoteAgent{}) != nil })
	look()
	if len(d.Agents.clients) != 0 {
		t.Error("the client of a RemoteAgent that is gone is kept")
	}
}

// A RemoteAgent that is deleted is released once what other shards sent just before has come into the cache.
func TestReleaseWaitsForOtherShards(t *testing.T) {
	at := time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "agent", UID: types.UID("u")}}
	part, _ := halves(t, ra)
	deleted := ra.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: at}
	for _, c := range []struct {
		name        string
		part        shard.Shard
		ra          *v1alpha1.RemoteAgent
		after       time.Duration
		retry, want time.Duration
	}{
		{"at once", part, deleted, 0, 0, cacheLag},
		{"a second later", part, deleted, time.Second, time.Minute, cacheLag - time.Second},
		{"something else comes first", part, deleted, time.Second, 2 * time.Second, 2 * time.Second},
		{"after the time", part, deleted, cacheLag, time.Minute, time.Minute},
		{"not deleted", part, ra, 0, time.Minute, time.Minute},
		{"one manager for all", shard.Shard{}, deleted, 0, 0, 0},
	} {
		r := &RemoteAgentReconciler{Clock: testingclock.NewFakePassiveClock(at.Add(c.after)), Shard: c.part}
		if got := r.sooner(c.retry, c.ra); got != c.want {
			t.Errorf("%s: looked at again after %s; want %s", c.name, got, c.want)
		}
	}
}
