// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

func TestIdleLaneKeepsNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		for range 10_000 {
			p.Run("agent", Limits{InFlight: 1, PerSecond: 100_000}, func(context.Context) {})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if l := p.agents["agent"]; l.running != 0 || l.waiting.waiting != nil || cap(l.waiting.turns) != 0 {
			t.Errorf("%d running, and the queue is %+v; want none of either", l.running, l.waiting)
		}
		p.Drain(t.Context())
	})
}

// A queue that is never empty must not keep the place of what has left it.
func TestBusyLaneKeepsNoMoreThanItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		limits := Limits{InFlight: 1, PerSecond: 100_000}
		for range 10_000 {
			p.Run("agent", limits, func(context.Context) { time.Sleep(time.Second) })
			p.mu.Lock()
			q := &p.agents["agent"].waiting
			waiting, room, turns := len(q.waiting[""]), cap(q.waiting[""]), cap(q.turns)
			p.mu.Unlock()
			if waiting > 3 || room > 16 || turns > 16 {
				t.Fatalf("room for %d and %d turns in a queue of %d", room, turns, waiting)
			}
			if waiting == 3 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
		}
		p.Drain(t.Context())
	})
}

func TestForgottenLaneIsGone(t *testing.T) {
	for name, forget := range map[string]func(*Pool){
		"idle":    func(p *Pool) { time.Sleep(time.Minute); p.Forget("agent") },
		"running": func(p *Pool) { synctest.Wait(); p.Forget("agent"); time.Sleep(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool()
				for range 3 {
					p.Run("agent", Limits{InFlight: 1, PerSecond: 100}, func(context.Context) { time.Sleep(time.Second) })
				}
				forget(p)
				synctest.Wait()
				if len(p.agents) != 0 {
					t.Errorf("%d lanes are left", len(p.agents))
				}
				p.Drain(t.Context())
			})
		})
	}
}

// Whatever happens to a Delegation, nothing is held of it in the end.
func TestNoBoxIsLeft(t *testing.T) {
	key := Key{NamespacedName: types.NamespacedName{Namespace: "books", Name: "reconcile"}, UID: "uid-1"}
	send := func() *outbox.Result { return &outbox.Result{Call: outbox.CallSend} }
	get := func() *outbox.Result { return &outbox.Result{Call: outbox.CallGet} }
	// carry makes a call that takes a second.
	carry := func(c *Courier, result *outbox.Result) {
		c.Carry(Job{Key: key, Agent: "agent", Limits: Limits{InFlight: 1, PerSecond: 100}, Call: outbox.CallSend, Do: func(context.Context) *outbox.Result {
			time.Sleep(time.Second)
			return result
		}})
	}
	cases := map[string]func(*Courier, *Pool){
		"a recorded result":            func(c *Courier, _ *Pool) { r := send(); carry(c, r); time.Sleep(time.Minute); c.Recorded(key.UID, r) },
		"a call without a result":      func(c *Courier, _ *Pool) { carry(c, nil); time.Sleep(time.Minute) },
		"a delivered result":           func(c *Courier, _ *Pool) { r := get(); c.Deliver(key, r); c.Recorded(key.UID, r) },
		"a call that was not taken":    func(c *Courier, p *Pool) { p.Drain(context.Background()); carry(c, send()) },
		"deleted with a result":        func(c *Courier, _ *Pool) { carry(c, send()); time.Sleep(time.Minute); c.Forget(key.UID) },
		"deleted during a call":        func(c *Courier, _ *Pool) { carry(c, send()); c.Forget(key.UID); time.Sleep(time.Minute) },
		"deleted during a futile call": func(c *Courier, _ *Pool) { carry(c, nil); c.Forget(key.UID); time.Sleep(time.Minute) },
		"deleted twice during a call": func(c *Courier, _ *Pool) {
			carry(c, send())
			c.Forget(key.UID)
			c.Forget(key.UID)
			time.Sleep(time.Minute)
		},
		"deleted before anything":  func(c *Courier, _ *Pool) { c.Forget(key.UID) },
		"recorded before anything": func(c *Courier, _ *Pool) { c.Recorded(key.UID, nil) },
		"looked at":                func(c *Courier, _ *Pool) { c.Observe(key.UID) },
		"delivered to during a call": func(c *Courier, _ *Pool) {
			carry(c, nil)
			c.Deliver(key, get())
			c.Forget(key.UID)
			time.Sleep(time.Minute)
		},
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool()
				c := New(p, clock.RealClock{}, func(types.NamespacedName) {})
				do(c, p)
				synctest.Wait()
				if len(c.boxes) != 0 {
					t.Errorf("%d boxes are left", len(c.boxes))
				}
				p.Drain(t.Context())
			})
		})
	}
}
