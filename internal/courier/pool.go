// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package courier carries calls to agents, off the reconcile workers: a slow agent holds up its own calls and nobody
// else's. What a call brought is kept in memory until it is in the API server.
package courier

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// Limits bound what goes to one agent.
type Limits struct {
	// InFlight is how many calls may be out at once.
	InFlight int
	// PerSecond is how many calls may begin in a second.
	PerSecond int
}

// Pool runs work with a bound per agent: first come, first served.
type Pool struct {
	mu     sync.Mutex
	base   context.Context
	stop   context.CancelFunc
	closed bool
	agents map[types.UID]*lane
	busy   sync.WaitGroup
}

// lane is the queue of one agent. It exists while it has work.
type lane struct {
	running int
	waiting []func(context.Context)
	limits  Limits
	pace    *rate.Limiter
}

// NewPool returns a pool that accepts work at once.
func NewPool() *Pool {
	base, stop := context.WithCancel(context.Background())
	return &Pool{base: base, stop: stop, agents: map[types.UID]*lane{}}
}

// Run queues work for an agent and returns at once. After Drain began the work is dropped: nothing of it has left yet,
// and the next process decides on it anew. It reports whether the work was taken.
func (p *Pool) Run(agent types.UID, limits Limits, work func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	l := p.agents[agent]
	if l == nil {
		l = &lane{pace: rate.NewLimiter(rate.Limit(limits.PerSecond), max(limits.PerSecond, 1))}
		p.agents[agent] = l
	}
	if l.limits != limits {
		l.limits = limits
		l.pace.SetLimit(rate.Limit(limits.PerSecond))
		l.pace.SetBurst(max(limits.PerSecond, 1))
	}
	l.waiting = append(l.waiting, work)
	p.start(l)
	return true
}

// start begins as much waiting work as the limit allows. The caller holds the lock.
func (p *Pool) start(l *lane) {
	for l.running < max(l.limits.InFlight, 1) && len(l.waiting) > 0 {
		work := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		l.running++
		p.busy.Add(1)
		go p.carry(l, work)
	}
}

func (p *Pool) carry(l *lane, work func(context.Context)) {
	defer p.busy.Done()
	// The wait ends with an error only when the pool is stopped hard; the work then sees the same ended context.
	_ = l.pace.Wait(p.base)
	work(p.base)
	p.mu.Lock()
	defer p.mu.Unlock()
	l.running--
	p.start(l)
}

// Drain drops what waits and gives what is out until ctx ends to finish; then it is cut off.
func (p *Pool) Drain(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.agents {
		l.waiting = nil
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { p.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	p.stop()
	<-done
}

// Forget drops the lane of an agent that is gone, unless it still has work.
func (p *Pool) Forget(agent types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.agents[agent]; l != nil && l.running == 0 && len(l.waiting) == 0 {
		delete(p.agents, agent)
	}
}
