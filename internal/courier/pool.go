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
	// PerSecond is how many calls may begin in a second on average. After a rest as many may begin at once.
	PerSecond int
}

// pace is the limit and the burst of a rate limiter.
func (l Limits) pace() (rate.Limit, int) {
	n := max(l.PerSecond, 1)
	return rate.Limit(n), n
}

// Pool runs work with a bound per agent. The tenants of an agent, which are namespaces, take turns; within one it is first
// come, first served.
type Pool struct {
	mu sync.Mutex
	// open ends when Drain begins; base when it cuts off what is out.
	open, base context.Context
	shut, stop context.CancelFunc
	agents     map[types.UID]*lane
	busy       sync.WaitGroup
	// perTenant is how many calls of one tenant may be out at once, to all agents; 0 for any number. out counts them.
	perTenant int
	out       map[string]int
}

// lane is the queue of one agent. It outlives its work, since pace knows how much began lately.
type lane struct {
	agent   types.UID
	running int
	waiting queue
	limits  Limits
	pace    *rate.Limiter
	// forgotten says that the lane is to go once it has no work.
	forgotten bool
}

// NewPool returns a pool that accepts work at once.
func NewPool() *Pool {
	p := &Pool{agents: map[types.UID]*lane{}, out: map[string]int{}}
	p.base, p.stop = context.WithCancel(context.Background())
	p.open, p.shut = context.WithCancel(p.base)
	return p
}

// LimitTenants bounds how many calls of one tenant may be out at once, to all agents; 0 for any number. It is to be called
// before there is work. Calls for all tenants are not counted.
func (p *Pool) LimitTenants(n int) { p.perTenant = n }

// Run queues work that is for all tenants of an agent, as RunFor does.
func (p *Pool) Run(agent types.UID, limits Limits, work func(context.Context)) bool {
	return p.RunFor("", agent, limits, work)
}

// RunFor queues a tenant's work for an agent and returns at once. After Drain began the work is dropped: nothing of it has
// left yet, and the next process decides on it anew. It reports whether the work was taken.
func (p *Pool) RunFor(tenant string, agent types.UID, limits Limits, work func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open.Err() != nil {
		return false
	}
	l := p.lane(agent, limits)
	l.forgotten = false
	l.waiting.push(tenant, work)
	p.start(l)
	return true
}

// Turn waits until a call to an agent may begin by its pace, for a call that takes none of its places: one that lasts and
// is bounded elsewhere. The error is that of ctx, or says that Drain has begun.
func (p *Pool) Turn(ctx context.Context, agent types.UID, limits Limits) error {
	if err := p.open.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	pace := p.lane(agent, limits).pace
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.open, cancel)()
	return pace.Wait(ctx)
}

// lane returns the queue of an agent, with these limits from now on. The caller holds the lock.
func (p *Pool) lane(agent types.UID, limits Limits) *lane {
	l := p.agents[agent]
	if l == nil {
		l = &lane{agent: agent, limits: limits, pace: rate.NewLimiter(limits.pace())}
		p.agents[agent] = l
	}
	if l.limits != limits {
		l.limits = limits
		limit, burst := limits.pace()
		l.pace.SetLimit(limit)
		l.pace.SetBurst(burst)
	}
	return l
}

// start begins as much waiting work as the limits allow. The caller holds the lock.
func (p *Pool) start(l *lane) {
	for l.running < max(l.limits.InFlight, 1) {
		tenant, work, ok := l.waiting.pop(p.may)
		if !ok {
			return
		}
		l.running++
		p.out[tenant]++
		p.busy.Add(1)
		go p.carry(l, tenant, work)
	}
}

// may reports whether another call of a tenant may go out. The caller holds the lock.
func (p *Pool) may(tenant string) bool {
	return p.perTenant <= 0 || tenant == "" || p.out[tenant] < p.perTenant
}

func (p *Pool) carry(l *lane, tenant string, work func(context.Context)) {
	defer p.busy.Done()
	// The wait fails only when Drain has begun: what still waits for its turn has not left either.
	if l.pace.Wait(p.open) == nil {
		work(p.base)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.running--
	held := !p.may(tenant)
	if p.out[tenant]--; p.out[tenant] == 0 {
		delete(p.out, tenant)
	}
	p.start(l)
	if held {
		// What the tenant has for other agents may have waited for this. Maps are walked in an order of their own each time,
		// so that no agent is always the last.
		for _, other := range p.agents {
			p.start(other)
		}
	}
	p.tidy(l)
}

// tidy drops a lane that is to go and has no work. The caller holds the lock.
func (p *Pool) tidy(l *lane) {
	if l.forgotten && l.running == 0 && l.waiting.empty() {
		delete(p.agents, l.agent)
	}
}

// Load is how many calls of one agent are out, or wait for their turn by its pace, and how many wait for a place.
type Load struct{ InFlight, Queued int }

// Load returns the load of each agent that had work lately.
func (p *Pool) Load() map[types.UID]Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	loads := make(map[types.UID]Load, len(p.agents))
	for uid, l := range p.agents {
		loads[uid] = Load{InFlight: l.running, Queued: l.waiting.size()}
	}
	return loads
}

// Drain drops what waits and gives what is out until ctx ends to finish; then it is cut off.
func (p *Pool) Drain(ctx context.Context) {
	p.mu.Lock()
	p.shut()
	for _, l := range p.agents {
		l.waiting = queue{}
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

// Forget drops the lane of an agent that is gone, once it has no work.
func (p *Pool) Forget(agent types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.agents[agent]; l != nil {
		l.forgotten = true
		p.tidy(l)
	}
}
