// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// Changes lists the tasks whose state changed after a time of the agent's own clock (A2A 1.0, section 3.1.4,
// statusTimestampAfter), which is rounded down to the second. Of each it returns the id, the state and the state's
// timestamp, zero where the agent gives none; each task comes once, as it was shown last. History and artifacts are not
// asked for.
//
// Accepted says that all pages were read. That proves nothing about a task that is not shown: a listing that changes
// while its pages are read loses entries. With another outcome the tasks of the pages before it are returned.
//
// Refused with reason LookupUnsupported says that the agent does not list tasks to this caller; with reason
// FilterIgnored, that it lists tasks which did not change in that time. Then reading ends, since it costs as many pages as
// there are tasks.
func (c *Client) Changes(ctx context.Context, since time.Time) ([]outbox.Task, outbox.Exchange) {
	none, seen := 0, newRoll()
	after := wholeSecond(since)
	ex := c.pages(ctx, a2a.ListTasksRequest{HistoryLength: &none, StatusTimestampAfter: after}, func(tasks []outbox.Task) *outbox.Exchange {
		for _, t := range tasks {
			seen.add(t)
		}
		return seen.unfiltered(after)
	})
	return seen.tasks, ex
}

// roll is what a listing has shown so far.
type roll struct {
	tasks []outbox.Task
	place map[string]int
	// oldest is the task whose state is the oldest; untimed counts those whose state has no time.
	oldest  outbox.Task
	untimed int
}

func newRoll() *roll { return &roll{place: map[string]int{}} }

func (r *roll) add(t outbox.Task) {
	t = outbox.Task{ID: t.ID, State: t.State, Timestamp: t.Timestamp}
	switch {
	case t.Timestamp.IsZero():
		r.untimed++
	case r.oldest.ID == "" || t.Timestamp.Before(r.oldest.Timestamp):
		r.oldest = t
	}
	if at, twice := r.place[t.ID]; twice {
		r.tasks[at] = t
		return
	}
	r.place[t.ID] = len(r.tasks)
	r.tasks = append(r.tasks, t)
}

// unfiltered says that the agent did not heed the filter. Servers on the Go SDK show a task whose state has no time whatever
// was asked for; more than a page of these costs what no filter costs.
func (r *roll) unfiltered(after *time.Time) *outbox.Exchange {
	switch {
	case after == nil:
		return nil
	case r.oldest.ID != "" && r.oldest.Timestamp.Before(*after):
		return ignored(fmt.Sprintf("statusTimestampAfter was %s, and task %s of %s is listed",
			after.Format(time.RFC3339), cut(r.oldest.ID, maxForeign), r.oldest.Timestamp.Format(time.RFC3339)))
	case r.untimed > pageSize:
		return ignored(fmt.Sprintf("statusTimestampAfter was given, and %d tasks without a timestamp are listed", r.untimed))
	}
	return nil
}

func ignored(detail string) *outbox.Exchange {
	return &outbox.Exchange{Outcome: outbox.Refused, Reason: ReasonFilterIgnored, Detail: oneLine(detail)}
}
