// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/courier"
)

const (
	finance types.UID = "agent-finance"
	travel  types.UID = "agent-travel"
)

// plenty is more than any case makes use of.
var plenty = courier.Limits{InFlight: 1000, PerSecond: 1000}

// Tests run in a bubble of testing/synctest: its time stands still until every goroutine waits, and its end fails the test
// when one is left behind.

// log notes what ran, in order, and how much of it at once. Its works last until they are released or for a given time.
type log struct {
	mu      sync.Mutex
	begun   []string
	at      []time.Duration
	running int
	peak    int
	start   time.Time
	gate    chan struct{}
}

func newLog() *log { return &log{start: time.Now(), gate: make(chan struct{})} }

func (l *log) enter(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, name)
	l.at = append(l.at, time.Since(l.start))
	l.running++
	l.peak = max(l.peak, l.running)
}

func (l *log) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// lasting is work that takes a while.
func (l *log) lasting(name string, d time.Duration) func(context.Context) {
	return func(context.Context) {
		l.enter(name)
		defer l.leave()
		time.Sleep(d)
	}
}

// gated is work that lasts until release.
func (l *log) gated(name string) func(context.Context) {
	return func(context.Context) {
		l.enter(name)
		defer l.leave()
		<-l.gate
	}
}

func (l *log) release() { close(l.gate) }

// names waits until nothing moves any more and returns what has begun.
func (l *log) names() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.begun)
}

func wantNames(t *testing.T, l *log, want ...string) {
	t.Helper()
	if got := l.names(); !slices.Equal(got, want) {
		t.Fatalf("begun: %q, want %q", got, want)
	}
}

// ended drains the pool and fails where work is still out after an hour.
func ended(t *testing.T, p *courier.Pool) {
	t.Helper()
	if drained(p, time.Hour) >= time.Hour {
		t.Error("work was still out after an hour")
	}
}

func TestLimitIsReachedAndNeverExceeded(t *testing.T) {
	for limit, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 16: 16, 100: 40} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				for i := range 40 {
					// Lasting for different times, so that ends and beginnings mix.
					p.Run(finance, courier.Limits{InFlight: limit, PerSecond: 1000}, l.lasting("", time.Duration(1+i%7)*time.Second))
				}
				time.Sleep(time.Hour)
				if got := len(l.names()); got != 40 {
					t.Errorf("%d of 40 have run", got)
				}
				if l.peak != want {
					t.Errorf("%d ran at once, want %d", l.peak, want)
				}
				ended(t, p)
			})
		})
	}
}

func TestFullAgentHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		one := courier.Limits{InFlight: 1, PerSecond: 1}
		for i := range 3 {
			p.Run(finance, one, l.gated(fmt.Sprint("finance ", i)))
		}
		p.Run(travel, one, l.gated("travel 0"))
		got := l.names()
		slices.Sort(got)
		if want := []string{"finance 0", "travel 0"}; !slices.Equal(got, want) {
			t.Errorf("begun: %q, want %q", got, want)
		}
		l.release()
		ended(t, p)
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprint(i))
			p.Run(finance, courier.Limits{InFlight: 1, PerSecond: 1000}, l.lasting(want[i], time.Second))
		}
		time.Sleep(time.Minute)
		wantNames(t, l, want...)
		ended(t, p)
	})
}

func TestRate(t *testing.T) {
	const count = 24
	for perSecond, want := range map[int]int{-1: 1, 0: 1, 1: 1, 4: 4, 50: count} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				for range count {
					p.Run(finance, courier.Limits{InFlight: count, PerSecond: perSecond}, l.lasting("", 0))
				}
				synctest.Wait()
				// Off the second, where work that is due on it has begun for certain.
				time.Sleep(time.Millisecond)
				for second := 0; second*want <= count; second++ {
					if got, allowed := len(l.names()), min(want+second*want, count); got != allowed {
						t.Fatalf("%d began within %d s, want %d", got, second, allowed)
					}
					time.Sleep(time.Second)
				}
				ended(t, p)
			})
		})
	}
}

func TestRateOfOneAgentIsNotTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		slow := courier.Limits{InFlight: 5, PerSecond: 1}
		for _, agent := range []types.UID{finance, finance, travel} {
			p.Run(agent, slow, l.lasting(string(agent), 0))
		}
		got := l.names()
		slices.Sort(got)
		if want := []string{string(finance), string(travel)}; !slices.Equal(got, want) {
			t.Errorf("begun at once: %q, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		ended(t, p)
	})
}

func TestChangedLimits(t *testing.T) {
	cases := []struct {
		name          string
		before, after courier.Limits
		// begun at once under the old limits, and 100 ms after the new ones came with one more work.
		first, then int
	}{
		{"more at once", courier.Limits{InFlight: 1, PerSecond: 100}, courier.Limits{InFlight: 4, PerSecond: 100}, 1, 4},
		{"fewer at once", courier.Limits{InFlight: 4, PerSecond: 100}, courier.Limits{InFlight: 1, PerSecond: 100}, 4, 4},
		// The three that wait for their turn keep it.
		{"faster", courier.Limits{InFlight: 4, PerSecond: 1}, courier.Limits{InFlight: 40, PerSecond: 100}, 1, 7},
		{"slower", courier.Limits{InFlight: 4, PerSecond: 4}, courier.Limits{InFlight: 40, PerSecond: 1}, 4, 4},
		{"the same", courier.Limits{InFlight: 4, PerSecond: 4}, courier.Limits{InFlight: 4, PerSecond: 4}, 4, 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				for range 9 {
					p.Run(finance, c.before, l.gated(""))
				}
				if got := len(l.names()); got != c.first {
					t.Errorf("%d began at once, want %d", got, c.first)
				}
				p.Run(finance, c.after, l.gated(""))
				time.Sleep(100 * time.Millisecond)
				if got := len(l.names()); got != c.then {
					t.Errorf("%d had begun after the change, want %d", got, c.then)
				}
				l.release()
				time.Sleep(time.Minute)
				if got := len(l.names()); got != 10 {
					t.Errorf("%d of 10 have run", got)
				}
				ended(t, p)
			})
		})
	}
}

// A lower limit lets those finish that are out, and starts nothing before there is room under it.
func TestLowerLimitWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		for i := range 4 {
			p.Run(finance, courier.Limits{InFlight: 4, PerSecond: 100}, l.lasting("", time.Duration(i+1)*time.Second))
		}
		p.Run(finance, courier.Limits{InFlight: 2, PerSecond: 100}, l.lasting("late", 0))
		time.Sleep(2500 * time.Millisecond)
		wantNames(t, l, "", "", "", "")
		time.Sleep(time.Second)
		wantNames(t, l, "", "", "", "", "late")
		ended(t, p)
	})
}

// A changed rate changes what may begin at once after a rest, too.
func TestChangedRateAfterARest(t *testing.T) {
	for before, after := range map[int]int{1: 10, 10: 1} {
		t.Run(fmt.Sprint(before, " to ", after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := courier.NewPool(), newLog()
				p.Run(finance, courier.Limits{InFlight: 100, PerSecond: before}, l.lasting("", 0))
				for range 2 {
					time.Sleep(time.Minute)
					began := len(l.names())
					for range 15 {
						p.Run(finance, courier.Limits{InFlight: 100, PerSecond: after}, l.lasting("", 0))
					}
					if got := len(l.names()) - began; began > 1 && got != after {
						t.Errorf("%d began at once, want %d", got, after)
					}
				}
				time.Sleep(time.Minute)
				ended(t, p)
			})
		})
	}
}

// A turn is one of the agent's calls by its pace and takes none of its places, and nobody gets one once the pool drains.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := courier.NewPool(), newLog()
		one := courier.Limits{InFlight: 1, PerSecond: 1}
		start := time.Now()
		p.Run(finance, one, l.gated("first"))
		wantNames(t, l, "first")
		if err := p.Turn(t.Context(), finance, one); err != nil || time.Since(start) != time.Second {
			t.Errorf("a turn after %s: %v; want it after 1s, with the only place taken", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := p.Turn(ctx, finance, one); !errors.Is(err, context.Canceled) {
			t.Errorf("a turn that was given up: %v", err)
		}
		l.release()
		ended(t, p)
		if err := p.Turn(t.Context(), finance, one); err == nil {
			t.Error("a turn while the pool drains")
		}
	})
}
