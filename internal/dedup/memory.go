// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"sync"
	"time"
)

// evictionsPerInsert bounds the work one Insert does for rows that expired. Each Insert adds one row and
// can remove several, so the table shrinks back to its live rows without a goroutine of its own.
const evictionsPerInsert = 16

// Memory is a [Store] in the memory of one process. Its rows end with the process: after a restart a
// repeated message is a new one. That is right only where the tasks end with the process too.
type Memory struct {
	mu    sync.Mutex
	rows  map[Key]*memoryRow
	queue expiryQueue
}

type memoryRow struct {
	key   Key
	row   Row
	place int // in the queue
}

// NewMemory returns an empty table.
func NewMemory() *Memory {
	return &Memory{rows: make(map[Key]*memoryRow)}
}

var _ Store = (*Memory)(nil)

// Insert implements [Store].
func (m *Memory) Insert(ctx context.Context, claim Claim) (Row, bool, error) {
	if err := cmp.Or(ctx.Err(), claim.Check()); err != nil {
		return Row{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evict(claim.Now, evictionsPerInsert)
	if known, ok := m.rows[claim.Key]; ok {
		if claim.Now.Before(known.row.Expires) {
			return known.row.clone(), false, nil
		}
		m.remove(known)
	}
	added := &memoryRow{key: claim.Key, row: Row{
		Digest: claim.Digest, Owner: claim.Owner,
		Lease: claim.Now.Add(claim.Lease), Expires: claim.Now.Add(claim.Retention),
	}}
	m.rows[claim.Key] = added
	heap.Push(&m.queue, added)
	return added.row, true, nil
}

// Hold implements [Store].
func (m *Memory) Hold(ctx context.Context, claim Claim) (bool, error) {
	if err := cmp.Or(ctx.Err(), claim.Check()); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.rows[claim.Key]
	if !ok || !known.row.holdable(claim) {
		return false, nil
	}
	known.row.Owner, known.row.Lease = claim.Owner, claim.Now.Add(claim.Lease)
	if expires := claim.Now.Add(claim.Retention); expires.After(known.row.Expires) {
		known.row.Expires = expires
		heap.Fix(&m.queue, known.place)
	}
	return true, nil
}

func (r Row) holdable(by Claim) bool {
	open := r.Digest == by.Digest && !r.Binding.Known() && by.Now.Before(r.Expires)
	return open && (r.Owner == by.Owner || !by.Now.Before(r.Lease))
}

// Bind implements [Store].
func (m *Memory) Bind(ctx context.Context, key Key, outcome Binding) error {
	if err := cmp.Or(ctx.Err(), outcome.Check()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.rows[key]
	switch {
	case !ok:
		return ErrNoRow
	case known.row.Binding.Known() && !known.row.Binding.Equal(outcome):
		return ErrBound
	}
	known.row.Binding = Binding{TaskID: outcome.TaskID, Reply: bytes.Clone(outcome.Reply)}
	return nil
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, key Key, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.rows[key]
	switch {
	case !ok:
		return nil
	case known.row.Binding.Known():
		return ErrBound
	case known.row.Owner != owner:
		return ErrNotHeld
	}
	m.remove(known)
	return nil
}

// Expire implements [Store].
func (m *Memory) Expire(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.evict(now, limit), nil
}

// Len is the number of rows held, expired ones that are not evicted yet included.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}

// evict drops the rows that expired first, up to a limit.
func (m *Memory) evict(now time.Time, limit int) (removed int) {
	for ; removed < limit && len(m.queue) > 0 && !now.Before(m.queue[0].row.Expires); removed++ {
		m.remove(m.queue[0])
	}
	return removed
}

func (m *Memory) remove(r *memoryRow) {
	delete(m.rows, r.key)
	heap.Remove(&m.queue, r.place)
}

func (r Row) clone() Row {
	r.Binding.Reply = bytes.Clone(r.Binding.Reply)
	return r
}

// expiryQueue is a heap of rows, the one that expires first on top.
type expiryQueue []*memoryRow

func (q expiryQueue) Len() int           { return len(q) }
func (q expiryQueue) Less(i, j int) bool { return q[i].row.Expires.Before(q[j].row.Expires) }
func (q expiryQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *expiryQueue) Push(x any) {
	row := x.(*memoryRow)
	row.place = len(*q)
	*q = append(*q, row)
}

// Pop implements heap.Interface.
func (q *expiryQueue) Pop() any {
	last := len(*q) - 1
	row := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return row
}
