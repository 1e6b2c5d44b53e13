// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/push"
)

// Replicas that start at once have one key, and the next start has it too.
func TestReplicasShareTheKey(t *testing.T) {
	_, _, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	const replicas = 8
	keys, errs := make([][]byte, replicas), make([]error, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() { keys[i], errs[i] = PushKey(t.Context(), admin, ns.Name) })
	}
	all.Wait()
	again, err := PushKey(t.Context(), admin, ns.Name)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		if len(key) != push.KeyBytes || !bytes.Equal(key, again) {
			t.Errorf("replica %d has the key %x, the next start %x", i, key, again)
		}
	}
}

// A key that is too short is not replaced: other replicas may use another one.
func TestAShortKeyIsRefused(t *testing.T) {
	_, _, admin := newReconciler(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, admin, ns)
	short := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: PushKeySecret}, Data: map[string][]byte{"key": []byte("short")}}
	create(t, admin, short)
	if _, err := PushKey(t.Context(), admin, ns.Name); !errors.Is(err, push.ErrKey) {
		t.Errorf("error %v, want %v", err, push.ErrKey)
	}
}

// relays is a replica that does not lead.
func relays(t *testing.T) (*Pushes, *DelegationReconciler, client.Client) {
	t.Helper()
	r, _, admin := newReconciler(t)
	limit := push.Pace{PerSecond: 1, Burst: 100}
	return &Pushes{
		Client: r.Client, Live: r.Live, Follower: r.Follower, Elected: make(chan struct{}), Relays: push.NewLimits(limit, limit, time.Now),
	}, r, admin
}

// A push that comes to a replica which does not follow the task is written for the one that does, once for a state.
func TestRelay(t *testing.T) {
	p, r, admin := relays(t)
	d := newDelegation(t, admin)
	name := client.ObjectKeyFromObject(d)
	seen := func(held func(*v1alpha1.Delegation) bool) {
		eventually(t, func() bool {
			now := &v1alpha1.Delegation{}
			return r.Client.Get(t.Context(), name, now) == nil && held(now)
		})
	}
	d.Status.Phase, d.Status.TaskID, d.Status.State = v1alpha1.PhaseWorking, "t-1", v1alpha1.TaskStateWorking
	d.Status.StateTimestamp = &metav1.MicroTime{Time: time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)}
	if err := admin.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	seen(func(now *v1alpha1.Delegation) bool { return now.Status.TaskID != "" })
	at := func(state v1alpha1.TaskState, seconds int) push.Event {
		return push.Event{TaskID: "t-1", State: state, Timestamp: time.Date(2026, 9, 30, 12, 0, seconds, 0, time.UTC)}
	}
	for _, c := range []struct {
		name string
		e    push.Event
		want push.Result
	}{
		{"what is known", at(v1alpha1.TaskStateWorking, 0), push.Stale},
		{"news", at(v1alpha1.TaskStateInputRequired, 5), push.Relayed},
		{"the same again", at(v1alpha1.TaskStateInputRequired, 5), push.Stale},
		{"something older", at(v1alpha1.TaskStateAuthRequired, 3), push.Stale},
		{"the end", at(v1alpha1.TaskStateCompleted, 9), push.Relayed},
		{"after the end", at(v1alpha1.TaskStateWorking, 12), push.Stale},
	} {
		before := version(t, admin, name)
		got, err := p.Trigger(t.Context(), d.UID, c.e)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
		if wrote := version(t, admin, name) != before; wrote != (c.want == push.Relayed) {
			t.Errorf("%s: written: %t", c.name, wrote)
		}
	}
	if _, err := p.Trigger(t.Context(), "no-such-uid", at(v1alpha1.TaskStateCompleted, 9)); !errors.Is(err, push.ErrUnknown) {
		t.Errorf("error %v for a Delegation that is not there, want %v", err, push.ErrUnknown)
	}
}

// Replicas that are told the same at once write it once.
func TestReplicasRelayOnce(t *testing.T) {
	p, r, admin := relays(t)
	d := newDelegation(t, admin)
	name := client.ObjectKeyFromObject(d)
	eventually(t, func() bool { return r.Client.Get(t.Context(), name, &v1alpha1.Delegation{}) == nil })
	e := push.Event{TaskID: "t-1", State: v1alpha1.TaskStateCompleted}
	const replicas = 6
	results := make([]push.Result, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() {
			var err error
			if results[i], err = p.Trigger(t.Context(), d.UID, e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	written := 0
	for _, result := range results {
		if result == push.Relayed {
			written++
		}
	}
	if written != 1 {
		t.Errorf("%d writes for one event: %v", written, results)
	}
}

func version(t *testing.T, admin client.Client, name client.ObjectKey) string {
	t.Helper()
	d := &v1alpha1.Delegation{}
	if err := admin.Get(t.Context(), name, d); err != nil {
		t.Fatal(err)
	}
	return d.ResourceVersion
}
