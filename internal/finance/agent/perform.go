// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The waits between tries of what has to succeed before the task goes on.
const (
	firstWait = 50 * time.Millisecond
	maxWait   = 5 * time.Second
)

// perform executes the next step, unless the journal has it as done: then it returns the recorded result. A step that
// the journal has and that isn't done is executed with its recorded input. It returns false when the run is to end.
//
// The end of a step is written together with the beginning of the next, so that a step costs one write. Until then its
// result may be lost with the process, and the step is executed again.
func perform[I, R any](ctx context.Context, j *job, kind string, input I, do func(I) (R, bool)) (result R, ok bool) {
	j.number++
	recorded, err := j.recordedStep(ctx, kind)
	if err != nil {
		return result, j.fail(err)
	}
	switch {
	case recorded == nil:
		if ctx.Err() != nil || !j.write(ctx, Step{Number: j.number, Kind: kind, Input: input}) {
			return result, false
		}
	case recorded.Done:
		if result, err = decode[R](recorded.Result); err != nil {
			return result, j.fail(err)
		}
		return result, true
	default:
		if input, err = decode[I](recorded.Input); err != nil {
			return result, j.fail(err)
		}
	}
	j.again = recorded != nil
	if result, ok = do(input); ok {
		j.unwritten = append(j.unwritten, Step{Number: j.number, Kind: kind, Done: true, Result: result})
	}
	return result, ok
}

// recordedStep returns what the journal has under the number of the next step, or nil.
func (j *job) recordedStep(ctx context.Context, kind string) (*Step, error) {
	if j.recorded == nil {
		j.recorded = make(map[int]Step)
		if j.StoredTask != nil {
			var all []Step
			if !j.insist(ctx, "read the steps", func() (err error) { all, err = j.journal.Steps(ctx, j.TaskID); return err }) {
				return nil, context.Cause(ctx)
			}
			for _, step := range all {
				j.recorded[step.Number] = step
			}
		}
	}
	step, ok := j.recorded[j.number]
	switch {
	case !ok:
		return nil, nil
	case step.Kind != kind:
		return nil, fmt.Errorf("%w: step %d is %q, not %q", ErrJournal, j.number, step.Kind, kind)
	}
	return &step, nil
}

// write records the steps that are done so far and the one that comes next.
func (j *job) write(ctx context.Context, next ...Step) bool {
	if !j.isCreated(ctx) {
		return false
	}
	steps := append(j.unwritten, next...)
	if len(steps) == 0 {
		return true
	}
	if !j.insist(ctx, "record a step", func() error { return j.journal.Write(context.WithoutCancel(ctx), j.TaskID, steps...) }) {
		return false
	}
	j.unwritten = nil
	return true
}

// isCreated waits until the task store has a new task.
func (j *job) isCreated(ctx context.Context) bool {
	if !j.tracked || j.StoredTask != nil {
		return true
	}
	select {
	case <-j.run.created:
		return true
	case <-ctx.Done():
		return false
	}
}

// flush records what is done at the end of a run. Where that fails, the steps are executed again.
func (j *job) flush(ctx context.Context) {
	if len(j.unwritten) == 0 {
		return
	}
	if err := j.journal.Write(context.WithoutCancel(ctx), j.TaskID, j.unwritten...); err != nil {
		slog.WarnContext(ctx, "last step not recorded", "task", j.TaskID, "cause", err)
	}
}

// insist tries until it succeeds, or the run is to end: a task must neither go on unrecorded nor fail for a full disk.
func (j *job) insist(ctx context.Context, what string, try func() error) bool {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := try()
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrJournal):
			return j.fail(err)
		case ctx.Err() != nil:
			return false
		}
		slog.ErrorContext(ctx, "the task waits", "task", j.TaskID, "for", what, "cause", err)
		if !pause(ctx, wait) {
			return false
		}
	}
}

// fail ends the run with an error that is nobody's but the agent's. The SDK makes the task a failed one.
func (j *job) fail(err error) bool {
	j.yield(nil, err)
	return false
}
