// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package courier

import (
	"context"
	"slices"
)

// queue is the work that waits for one agent. Tenants take turns, and each one's work is first come, first served: who
// queues much waits for it, and nobody else does.
type queue struct {
	waiting map[string][]func(context.Context)
	// turns has the tenants with work, the next one first.
	turns []string
}

func (q *queue) empty() bool { return len(q.turns) == 0 }

func (q *queue) size() int {
	n := 0
	for _, of := range q.waiting {
		n += len(of)
	}
	return n
}

func (q *queue) push(tenant string, work func(context.Context)) {
	if q.waiting == nil {
		q.waiting = map[string][]func(context.Context){}
	}
	if len(q.waiting[tenant]) == 0 {
		q.turns = append(q.turns, tenant)
	}
	q.waiting[tenant] = append(q.waiting[tenant], work)
}

// pop takes the work whose turn it is, of the tenants that may have another call out. Those that may not keep their place
// among the turns.
func (q *queue) pop(may func(tenant string) bool) (tenant string, work func(context.Context), ok bool) {
	i := slices.IndexFunc(q.turns, may)
	if i < 0 {
		return "", nil, false
	}
	tenant = q.turns[i]
	if i == 0 {
		q.turns = q.turns[1:]
	} else {
		q.turns = slices.Delete(q.turns, i, i+1)
	}
	of := q.waiting[tenant]
	work = of[0]
	of[0] = nil
	if of = of[1:]; len(of) > 0 {
		q.waiting[tenant] = of
		q.turns = append(q.turns, tenant)
	} else {
		delete(q.waiting, tenant)
	}
	if q.empty() {
		// What is left of the slice and the map would keep as much memory as the longest queue took.
		*q = queue{}
	}
	return tenant, work, true
}
