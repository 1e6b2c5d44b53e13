// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The kinds of steps.
const (
	KindRead      = "read"      // what was sent, and what revised tasks add to it
	KindReconcile = "reconcile" // the report
	KindApprove   = "approve"   // what was decided about unusual adjustments
	KindPlan      = "plan"      // the postings, which are a step each from here on
	KindPost      = "post"      // one posting
)

// ErrJournal says that a task's steps are not what was to be written or replayed: a step that is recorded already, or
// isn't, or one of another program.
var ErrJournal = errors.New("step is not in the journal as expected")

// Step is one step of a task. It is recorded before it is executed, and again with its result.
type Step struct {
	// Number counts from 1 within the task.
	Number int
	Kind   string
	// Input is what the step works on. It never changes once recorded.
	Input any
	// Done says that the step was executed, with Result. A step that isn't may have been executed all the same.
	Done   bool
	Result any
}

// Journal keeps the steps of tasks. A value that was written comes back as it is, or as the json.RawMessage of it.
type Journal interface {
	// Steps returns a task's steps by their numbers.
	Steps(ctx context.Context, task a2a.TaskID) ([]Step, error)
	// Write records all of the steps or none: one that is done is the end of a recorded one, any other is new. It
	// returns ErrJournal where that isn't so.
	Write(ctx context.Context, task a2a.TaskID, steps ...Step) error
	// Settle drops what only a replay needs, once the task has ended: everything but the postings.
	Settle(ctx context.Context, task a2a.TaskID) error
}

// StepKey is the idempotency key of what a step does elsewhere. It depends on nothing that differs when the step is
// executed again.
func StepKey(task a2a.TaskID, number int) string { return fmt.Sprintf("a2a:%s:step:%d", task, number) }

// decode reads a step's input or result.
func decode[T any](value any) (decoded T, err error) {
	switch v := value.(type) {
	case T:
		return v, nil
	case json.RawMessage:
		if err := json.Unmarshal(v, &decoded); err != nil {
			return decoded, fmt.Errorf("%w: %w", ErrJournal, err)
		}
		return decoded, nil
	}
	return decoded, fmt.Errorf("%w: a %T", ErrJournal, value)
}

// Advance is what [Journal.Write] makes of a task's steps; implementations that hold them in memory can use it.
func Advance(recorded []Step, next Step) ([]Step, error) {
	at := slices.IndexFunc(recorded, func(s Step) bool { return s.Number == next.Number })
	switch {
	case next.Done && at >= 0 && !recorded[at].Done && recorded[at].Kind == next.Kind:
		recorded = slices.Clone(recorded)
		recorded[at].Done, recorded[at].Result = true, next.Result
		return recorded, nil
	case !next.Done && at < 0:
		return append(slices.Clip(recorded), next), nil
	}
	return nil, fmt.Errorf("%w: step %d, %s", ErrJournal, next.Number, next.Kind)
}

// MemoryJournal is a [Journal] that ends with the process. Its zero value is ready to use.
type MemoryJournal struct {
	mu    sync.Mutex
	steps map[a2a.TaskID][]Step
}

var _ Journal = (*MemoryJournal)(nil)

// Steps implements [Journal].
func (m *MemoryJournal) Steps(_ context.Context, task a2a.TaskID) ([]Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.steps[task]), nil
}

// Write implements [Journal].
func (m *MemoryJournal) Write(_ context.Context, task a2a.TaskID, steps ...Step) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.steps[task]
	for _, step := range steps {
		if all, err = Advance(all, step); err != nil {
			return err
		}
	}
	if m.steps == nil {
		m.steps = make(map[a2a.TaskID][]Step)
	}
	m.steps[task] = all
	return nil
}

// Settle implements [Journal].
func (m *MemoryJournal) Settle(_ context.Context, task a2a.TaskID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := slices.Clone(slices.DeleteFunc(slices.Clone(m.steps[task]), func(s Step) bool { return s.Kind != KindPost }))
	if len(kept) == 0 {
		delete(m.steps, task)
		return nil
	}
	m.steps[task] = kept
	return nil
}
