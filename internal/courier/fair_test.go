// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/courier"
)

// Who comes behind another tenant's long queue waits for one of its works for each place, not for all of them.
func TestOneTenantsQueueHoldsUpNoOther(t *testing.T) {
	const many = 10_000
	for _, places := range []int{1, 2, 16} {
		t.Run(fmt.Sprint(places, " at once"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				limits := courier.Limits{InFlight: places, PerSecond: 100_000}
				for range many {
					p.RunFor("busy", finance, limits, l.lasting("busy", time.Millisecond))
				}
				synctest.Wait()
				p.RunFor("quiet", finance, limits, l.lasting("quiet", time.Millisecond))
				time.Sleep(time.Minute)
				got := l.names()
				if at := slices.Index(got, "quiet"); at < 0 || at > 2*places {
					t.Errorf("the one began as number %d; want it after at most %d others", at, 2*places)
				}
				if len(got) != many+1 {
					t.Errorf("%d of %d have run", len(got), many+1)
				}
				ended(t, p)
			})
		})
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	for _, c := range []struct {
		name  string
		queue []string
		want  []string
	}{
		{"one tenant", []string{"a1", "a2", "a3"}, []string{"a1", "a2", "a3"}},
		{"each has its turn", []string{"a1", "a2", "a3", "b1", "b2", "c1"}, []string{"a1", "a2", "b1", "c1", "a3", "b2"}},
		{"who has none left is passed over", []string{"a1", "b1", "a2", "a3"}, []string{"a1", "b1", "a2", "a3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				for _, name := range c.queue {
					p.RunFor(name[:1], finance, courier.Limits{InFlight: 1, PerSecond: 1000}, l.lasting(name, time.Second))
				}
				time.Sleep(time.Minute)
				wantNames(t, l, c.want...)
				ended(t, p)
			})
		})
	}
}

// A tenant that is at its limit waits, whatever the agent; the others do not wait for it.
func TestCallsOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		p.LimitTenants(1)
		limits := courier.Limits{InFlight: 8, PerSecond: 1000}
		p.RunFor("a", finance, limits, l.lasting("a1", 2*time.Second))
		p.RunFor("a", finance, limits, l.lasting("a2", time.Second))
		p.RunFor("a", "another", limits, l.lasting("a3", time.Second))
		synctest.Wait()
		wantNames(t, l, "a1")
		p.RunFor("b", finance, limits, l.lasting("b1", time.Second))
		synctest.Wait()
		wantNames(t, l, "a1", "b1")
		p.Run(finance, limits, l.lasting("all", time.Second))
		p.Run(finance, limits, l.lasting("all", time.Second))
		synctest.Wait()
		wantNames(t, l, "a1", "b1", "all", "all")
		time.Sleep(time.Minute)
		if got := l.names(); len(got) != 6 {
			t.Errorf("%v have run, and not all 6", got)
		}
		ended(t, p)
	})
}
