// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// DefaultEntries is how many ids a [Memory] holds where nobody asks for another number; they take about 20 MB.
const DefaultEntries = 100_000

// Memory is a [Store] in the memory of one process, bounded by number and by age. When it is full the id that was
// remembered longest ago makes room. A repeat of an id that is gone, here or by a restart, is processed again.
type Memory struct {
	entries int
	age     time.Duration
	now     func() time.Time

	mu sync.Mutex
	// order has the ids as they were remembered, oldest first. All live equally long, so it is the order of expiry too.
	order *list.List
	byID  map[Digest]*list.Element
}

// remembered is what order holds.
type remembered struct {
	id Digest
	at time.Time
}

// NewMemory returns an empty set for so many ids, each for so long. now is the clock, time.Now outside tests. It returns
// ErrEntries or ErrAge for a bound that is not positive.
func NewMemory(entries int, age time.Duration, now func() time.Time) (*Memory, error) {
	switch {
	case entries <= 0:
		return nil, ErrEntries
	case age <= 0:
		return nil, ErrAge
	}
	return &Memory{entries: entries, age: age, now: now, order: list.New(), byID: map[Digest]*list.Element{}}, nil
}

var _ Store = (*Memory)(nil)

// Seen implements [Store].
func (m *Memory) Seen(ctx context.Context, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	_, known := m.byID[DigestOf(id)]
	return known, nil
}

// Remember implements [Store].
func (m *Memory) Remember(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	key := DigestOf(id)
	if known, ok := m.byID[key]; ok {
		m.remove(known)
	}
	m.byID[key] = m.order.PushBack(remembered{key, m.now()})
	if m.order.Len() > m.entries {
		m.remove(m.order.Front())
	}
	return nil
}

// Forget implements [Store].
func (m *Memory) Forget(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.byID[DigestOf(id)]; ok {
		m.remove(known)
	}
	return nil
}

// Len is the number of ids held, those included that are too old and that no call has come across since.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order.Len()
}

// expire drops what is too old. Every id is dropped once, so a call pays for what it finds and no goroutine is needed.
func (m *Memory) expire() {
	for oldest := m.order.Front(); oldest != nil; oldest = m.order.Front() {
		if m.now().Sub(oldest.Value.(remembered).at) < m.age {
			return
		}
		m.remove(oldest)
	}
}

func (m *Memory) remove(e *list.Element) {
	delete(m.byID, m.order.Remove(e).(remembered).id)
}
