// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ledgerapi

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// memory is a [Store] that ends with the process.
type memory struct {
	mu      sync.Mutex
	records []Record
	byKey   map[string]int // places in records
}

// NewMemory returns an empty ledger that ends with the process.
func NewMemory() Store { return &memory{byKey: make(map[string]int)} }

// Post implements [Store].
func (m *memory) Post(ctx context.Context, key string, posting finance.Posting) (record Record, replayed bool, err error) {
	if err := ctx.Err(); err != nil {
		return Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, known := m.byKey[key]
	switch {
	case !known:
		at = len(m.records)
		m.byKey[key] = at
		m.records = append(m.records, Record{ID: name(int64(at + 1)), Key: key, Posting: posting, Created: time.Now().UTC()})
	case m.records[at].Posting != posting:
		return Record{}, false, ErrOtherBody
	}
	m.records[at].Received++
	return m.records[at], known, nil
}

// List implements [Store].
func (m *memory) List(_ context.Context, prefix string) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	records := []Record{}
	for _, record := range m.records {
		if strings.HasPrefix(record.Key, prefix) {
			records = append(records, record)
		}
	}
	return records, nil
}

// Close implements [Store].
func (m *memory) Close() error { return nil }
