// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The history that is kept where the spec does not say, as that of a CronJob.
const (
	defaultSuccessful = 3
	defaultFailed     = 1
)

// prune plans the removal of runs beyond the history. The latest stays in any case: while it is there, who evaluates its firing
// once more, on whatever old status, runs into its name. Earlier firings are settled by status.lastScheduleTime.
func (p *planner) prune() {
	var successful, failed []*v1alpha1.Delegation
	for _, run := range inOrder(p.s, p.in.Runs) {
		switch {
		case !removable(run):
		case run.Status.Phase == v1alpha1.PhaseCompleted:
			successful = append(successful, run)
		default:
			failed = append(failed, run)
		}
	}
	p.removeOldest(successful, limit(p.s.Spec.SuccessfulRunsHistoryLimit, defaultSuccessful))
	p.removeOldest(failed, limit(p.s.Spec.FailedRunsHistoryLimit, defaultFailed))
}

func limit(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return int(*n)
}

func (p *planner) removeOldest(runs []*v1alpha1.Delegation, keep int) {
	// As the API server has it, and not as it is about to be: until the latest run is on record, the one before it stays.
	last := p.s.Status.LastScheduleTime
	for _, run := range runs[:max(0, len(runs)-keep)] {
		if at, ok := timeOf(p.s, run); !ok || last != nil && at.Before(last.Time) {
			p.plan.Delete = append(p.plan.Delete, run)
		}
	}
}

// inOrder sorts runs by the time that they were made for, else by their age.
func inOrder(s *v1alpha1.DelegationSchedule, runs []*v1alpha1.Delegation) []*v1alpha1.Delegation {
	at := func(run *v1alpha1.Delegation) time.Time {
		if t, ok := timeOf(s, run); ok {
			return t
		}
		return run.CreationTimestamp.Time
	}
	out := slices.Clone(runs)
	slices.SortStableFunc(out, func(a, b *v1alpha1.Delegation) int {
		return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.Name, b.Name))
	})
	return out
}
