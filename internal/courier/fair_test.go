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
