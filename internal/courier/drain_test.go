// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/courier"
)

// drained drains the pool within a limit and returns how long that took.
func drained(p *courier.Pool, limit time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	p.Drain(ctx)
	return time.Since(began)
}

func TestDrain(t *testing.T) {
	const limit = 20 * time.Second
	cases := []struct {
		name   string
		limits courier.Limits
		// works last this long each, or until their context ends.
		works []time.Duration
		// begun of them, and how long the drain takes.
		begun int
		takes time.Duration
		// cut off are so many; each takes a second to notice.
		cut int
	}{
		{name: "an empty pool", limits: plenty},
		{name: "waits for what is out", limits: plenty, works: []time.Duration{5 * time.Second, 2 * time.Second}, begun: 2, takes: 5 * time.Second},
		{
			name: "drops what is queued", limits: courier.Limits{InFlight: 1, PerSecond: 1000},
			works: []time.Duration{5 * time.Second, time.Second, time.Second}, begun: 1, takes: 5 * time.Second,
		}, {
			name: "drops what waits for its turn under the rate", limits: courier.Limits{InFlight: 3, PerSecond: 1},
			works: []time.Duration{0, 0, 0}, begun: 1,
		}, {
			name: "cuts off at the end of its context", limits: plenty,
			works: []time.Duration{time.Hour, time.Second}, begun: 2, takes: limit + time.Second, cut: 1,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l, cut := courier.NewPool(), newLog(), make(chan error, len(c.works))
				for _, d := range c.works {
					p.Run(finance, c.limits, func(ctx context.Context) {
						l.enter("")
						defer l.leave()
						select {
						case <-time.After(d):
						case <-ctx.Done():
							time.Sleep(time.Second)
							cut <- ctx.Err()
						}
					})
				}
				synctest.Wait()
				if took := drained(p, limit); took != c.takes {
					t.Errorf("the drain took %s, want %s", took, c.takes)
				}
				time.Sleep(time.Minute)
				if got := len(l.names()); got != c.begun {
					t.Errorf("%d works began, want %d", got, c.begun)
				}
				if len(cut) != c.cut {
					t.Fatalf("%d works were cut off, want %d", len(cut), c.cut)
				}
				for range c.cut {
					if err := <-cut; !errors.Is(err, context.Canceled) {
						t.Errorf("the work's context ended with %v, want %v", err, context.Canceled)
					}
				}
			})
		})
	}
}

func TestDrainWithAnEndedContextCutsOffAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := courier.NewPool()
		p.Run(finance, plenty, func(ctx context.Context) { <-ctx.Done() })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		p.Drain(ctx)
		if took := time.Since(began); took != 0 {
			t.Errorf("the drain took %s", took)
		}
	})
}

// No context ends while work is within the time that Drain gives it.
func TestDrainLeavesTheContextAloneUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, seen := courier.NewPool(), make(chan error, 1)
		p.Run(finance, plenty, func(ctx context.Context) {
			time.Sleep(19 * time.Second)
			seen <- ctx.Err()
		})
		synctest.Wait()
		drained(p, 20*time.Second)
		if err := <-seen; err != nil {
			t.Errorf("the context of the work ended early: %v", err)
		}
	})
}

func TestRunAfterDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		if !p.Run(finance, plenty, l.gated("before")) {
			t.Error("an open pool did not take work")
		}
		synctest.Wait()
		done := make(chan struct{})
		go func() { defer close(done); p.Drain(t.Context()) }()
		synctest.Wait()
		if p.Run(finance, plenty, l.lasting("during", 0)) {
			t.Error("a pool that is being drained took work")
		}
		l.release()
		<-done
		if p.Run(travel, plenty, l.lasting("after", 0)) {
			t.Error("a drained pool took work")
		}
		time.Sleep(time.Minute)
		wantNames(t, l, "before")
		if took := drained(p, time.Minute); took != 0 {
			t.Errorf("the second drain took %s", took)
		}
	})
}

func TestForget(t *testing.T) {
	slow := courier.Limits{InFlight: 1, PerSecond: 1}
	cases := []struct {
		name string
		do   func(*courier.Pool, *log)
		// begun one millisecond after that, and after a minute.
		first, last int
	}{
		{
			name: "an idle agent: the next begins as for a new one",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", 0))
				synctest.Wait()
				p.Forget(finance)
				p.Run(finance, slow, l.lasting("", 0))
			}, first: 2, last: 2,
		}, {
			name: "another agent: the rate still holds",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", 0))
				synctest.Wait()
				p.Forget(travel)
				p.Run(finance, slow, l.lasting("", 0))
			}, first: 1, last: 2,
		}, {
			name: "an agent with work: it is done, one after the other",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", time.Second))
				p.Run(finance, slow, l.lasting("", time.Second))
				p.Forget(finance)
			}, first: 1, last: 2,
		}, {
			name: "an agent whose last call is out: the lane goes with it",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", time.Microsecond))
				synctest.Wait()
				p.Forget(finance)
				time.Sleep(2 * time.Microsecond)
				p.Run(finance, slow, l.lasting("", 0))
			}, first: 2, last: 2,
		}, {
			name: "an agent that has work again: the limit and the rate still hold",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", time.Microsecond))
				synctest.Wait()
				p.Forget(finance)
				p.Run(finance, slow, l.lasting("", 0))
			}, first: 1, last: 2,
		}, {
			name: "an agent that has work again: they hold after that, too",
			do: func(p *courier.Pool, l *log) {
				p.Run(finance, slow, l.lasting("", time.Microsecond))
				synctest.Wait()
				p.Forget(finance)
				p.Run(finance, slow, l.lasting("", 0))
				time.Sleep(time.Second + time.Microsecond)
				p.Run(finance, slow, l.lasting("", 0))
			}, first: 2, last: 3,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				c.do(p, l)
				time.Sleep(time.Millisecond)
				if got := len(l.names()); got != c.first {
					t.Errorf("%d began at once, want %d", got, c.first)
				}
				time.Sleep(time.Minute)
				if got := len(l.names()); got != c.last || l.peak > 1 {
					t.Errorf("%d began, %d at once; want %d, one at once", got, l.peak, c.last)
				}
				ended(t, p)
			})
		})
	}
}
