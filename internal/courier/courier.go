// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// Key names the Delegation that a call is made for. The UID keeps an object and its successor of the same name apart.
type Key struct {
	types.NamespacedName
	UID types.UID
}

// Job is one call to an agent.
type Job struct {
	Key    Key
	Agent  types.UID
	Limits Limits
	Call   outbox.Call
	// Do makes the call. Without a result, as when the journal could not be written, the Delegation is decided on anew.
	Do func(context.Context) *outbox.Result
}

// Courier runs at most one call at a time for each Delegation and holds its result.
type Courier struct {
	pool   *Pool
	clock  clock.PassiveClock
	notify func(types.NamespacedName)
	mu     sync.Mutex
	boxes  map[types.UID]*box
}

type box struct {
	name    types.NamespacedName
	running outbox.Call
	result  *outbox.Result
	// gone says that the Delegation was deleted while a call was queued or out: nobody will ask for its result.
	gone bool
}

// New returns a courier on a pool. It calls notify, from any goroutine, when a Delegation is to be decided on anew.
func New(pool *Pool, clk clock.PassiveClock, notify func(types.NamespacedName)) *Courier {
	return &Courier{pool: pool, clock: clk, notify: notify, boxes: map[types.UID]*box{}}
}

// Carry queues a job, unless one for the same Delegation is queued or out. It returns at once.
func (c *Courier) Carry(j Job) {
	c.mu.Lock()
	b := c.box(j.Key)
	b.gone = false
	if b.running != outbox.CallNone {
		c.mu.Unlock()
		return
	}
	b.running = j.Call
	c.mu.Unlock()
	taken := c.pool.RunFor(j.Key.Namespace, j.Agent, j.Limits, func(ctx context.Context) {
		started := c.clock.Now()
		result := j.Do(ctx)
		c.settle(j.Key, started, result)
		c.notify(j.Key.NamespacedName)
	})
	if !taken {
		c.settle(j.Key, c.clock.Now(), nil)
	}
}

func (c *Courier) settle(key Key, started time.Time, result *outbox.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.box(key)
	b.running = outbox.CallNone
	if result != nil {
		result.Started = started
		c.put(b, result)
	}
	c.tidy(key.UID, b)
}

// Deliver hands in the result of a call that was made elsewhere, such as a poll, and reports whether it was taken. It
// yields to the agent's answer to a send, which nobody else may have. A send without an answer gives way: for a task
// that is under way, which another replica may have bound, it is never recorded.
func (c *Courier) Deliver(key Key, result *outbox.Result) bool {
	c.mu.Lock()
	b := c.box(key)
	if held := b.result; held != nil && held.Call == outbox.CallSend && held.Outcome == outbox.Accepted {
		c.mu.Unlock()
		return false
	}
	c.put(b, result)
	c.mu.Unlock()
	c.notify(key.NamespacedName)
	return true
}

// put keeps a result, with the time since when the same call ends the same way. The caller holds the lock.
func (c *Courier) put(b *box, r *outbox.Result) {
	r.At = c.clock.Now()
	r.Since = r.At
	if last := b.result; last != nil && last.Call == r.Call && last.Outcome == r.Outcome {
		r.Since = last.Since
	}
	b.result = r
}

// box returns the box of a Delegation. The caller holds the lock.
func (c *Courier) box(key Key) *box {
	b := c.boxes[key.UID]
	if b == nil {
		b = &box{name: key.NamespacedName}
		c.boxes[key.UID] = b
	}
	return b
}

// tidy drops a box that holds nothing, or nothing that anybody will ask for. The caller holds the lock.
func (c *Courier) tidy(uid types.UID, b *box) {
	if b.running == outbox.CallNone && (b.result == nil || b.gone) {
		delete(c.boxes, uid)
	}
}

// Observe returns the call that is queued or out for a Delegation, and the result of the last one.
func (c *Courier) Observe(uid types.UID) (outbox.Call, *outbox.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[uid]; b != nil {
		return b.running, b.result
	}
	return outbox.CallNone, nil
}

// Recorded drops a result whose content is in the API server now. A newer one stays.
func (c *Courier) Recorded(uid types.UID, result *outbox.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxes[uid]
	if b == nil {
		return
	}
	if b.result == result {
		b.result = nil
	}
	c.tidy(uid, b)
}

// Unrecorded names the Delegations whose agent's answer to a message is not in the API server yet.
func (c *Courier) Unrecorded() []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []types.NamespacedName
	for _, b := range c.boxes {
		if b.result != nil && b.result.Call == outbox.CallSend {
			names = append(names, b.name)
		}
	}
	return names
}

// Forget drops what is held of a Delegation that is gone, and what a call that is queued or out for it will bring.
func (c *Courier) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[uid]; b != nil {
		b.result, b.gone = nil, true
		c.tidy(uid, b)
	}
}
