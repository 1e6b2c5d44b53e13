// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	// maxPasses bounds how often a listing is read for two equal passes in a row.
	maxPasses = 4
	// maxProbes bounds how many tasks are asked for one by one where the listing shows no history.
	maxProbes = 50
)

// Find searches the agent's tasks (A2A 1.0, section 3.1.4) for a message, by its id in their history and within the
// query's context if it names one; without a context, among the tasks whose state changed after the query's time.
//
// Accepted comes with the task, artifacts included; of several the oldest, with the ids of the rest in Others, and Detail
// says so. Absent says that two passes in a row over all pages saw the same tasks and none with the message: a listing
// that changes under its reader loses entries. Its reason is HistoryMissing where a task showed no history, in which the
// message could be. Refused with reason LookupUnsupported says that the agent does not list tasks to this caller.
func (c *Client) Find(ctx context.Context, q outbox.Query) outbox.Exchange {
	var last *pass
	for range maxPasses {
		p := c.list(ctx, q)
		switch {
		case len(p.matches) > 0:
			return c.found(ctx, p.matches)
		case p.failure != nil:
			return *p.failure
		case last != nil && slices.Equal(last.ids, p.ids):
			return c.absent(ctx, q, p)
		}
		last = p
	}
	return unproved(ReasonListingChanged, fmt.Sprintf("the agent's tasks changed during each of %d passes", maxPasses))
}

// pass is one reading of all pages.
type pass struct {
	// ids of all tasks that were shown, sorted.
	ids []string
	// matches are the tasks that have the message; blind, those of the context that show no history.
	matches []outbox.Task
	blind   []string
	// failure ended the pass before the last page.
	failure *outbox.Exchange
}

// list makes one pass. Tasks of other contexts are skipped, since some servers ignore the filter, but count for what the
// pass saw.
func (c *Client) list(ctx context.Context, q outbox.Query) *pass {
	p, length := &pass{}, historyLength
	params := a2a.ListTasksRequest{ContextID: q.ContextID, HistoryLength: &length}
	if q.ContextID == "" {
		params.StatusTimestampAfter = wholeSecond(q.After)
	}
	ex := c.pages(ctx, params, func(tasks []outbox.Task) *outbox.Exchange {
		for _, t := range tasks {
			p.add(t, q)
		}
		return nil
	})
	if ex.Outcome != outbox.Accepted {
		p.failure = &ex
		return p
	}
	p.ids, p.blind = sorted(p.ids), sorted(p.blind)
	return p
}

// sorted is a list in order, each element once.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *pass) add(t outbox.Task, q outbox.Query) {
	p.ids = append(p.ids, t.ID)
	switch {
	case q.ContextID != "" && t.ContextID != q.ContextID:
	case slices.Contains(t.History, q.MessageID):
		if !slices.ContainsFunc(p.matches, func(m outbox.Task) bool { return m.ID == t.ID }) {
			p.matches = append(p.matches, t)
		}
	case len(t.History) == 0 && !outdated(t, q):
		p.blind = append(p.blind, t.ID)
	}
}

// outdated reports whether a task without history is too old to hold the message, as it is where a server ignores the
// filter. One that shows the message is taken at any age: the two clocks may differ.
func outdated(t outbox.Task, q outbox.Query) bool {
	return q.ContextID == "" && !t.Timestamp.IsZero() && t.Timestamp.Before(q.After)
}

// found returns the oldest of the tasks as GetTask shows it, since a listing leaves the artifacts out. A task that has
// ended is not reported without them, unless the agent refuses to show it.
func (c *Client) found(ctx context.Context, matches []outbox.Task) outbox.Exchange {
	byAge(matches)
	first := matches[0]
	ex := c.Get(ctx, first.ID)
	switch {
	case ex.Outcome == outbox.Accepted:
		if len(ex.Task.History) == 0 {
			ex.Task.History = first.History
		}
	case first.State == "", first.State.Terminal() && ex.Outcome != outbox.Refused && ex.Outcome != outbox.Absent:
		unread := unproved(ex.Reason, "task "+first.ID+" has the message and can't be read: "+ex.Detail)
		unread.RetryAfter = ex.RetryAfter
		return unread
	default:
		ex = outbox.Exchange{Outcome: outbox.Accepted, Task: &first}
	}
	return among(ex, matches)
}

// byAge puts the oldest task first.
func byAge(tasks []outbox.Task) {
	slices.SortStableFunc(tasks, func(a, b outbox.Task) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
	})
}

// among names the tasks that have the message beside the first, which the exchange reports.
func among(ex outbox.Exchange, matches []outbox.Task) outbox.Exchange {
	for _, m := range matches[1:] {
		ex.Others = append(ex.Others, m.ID)
	}
	if ex.Others != nil {
		ex.Detail = oneLine(fmt.Sprintf("%d tasks have the message; this is the oldest", len(matches)))
	}
	return ex
}

// absent looks into the tasks whose history the listing did not show, before it says that none has the message. With one
// match the others may fail: what was found is found.
func (c *Client) absent(ctx context.Context, q outbox.Query, p *pass) outbox.Exchange {
	missing := len(p.blind) > maxProbes
	var matches []outbox.Task
	for _, id := range p.blind[:min(len(p.blind), maxProbes)] {
		ex := c.Get(ctx, id)
		switch {
		case ex.Outcome == outbox.Absent, ex.Outcome == outbox.Refused:
			missing = true
		case ex.Outcome != outbox.Accepted && matches == nil:
			return ex
		case ex.Outcome != outbox.Accepted:
		case slices.Contains(ex.Task.History, q.MessageID):
			matches = append(matches, *ex.Task)
		case len(ex.Task.History) == 0:
			missing = true
		}
	}
	if matches != nil {
		byAge(matches)
		return among(outbox.Exchange{Outcome: outbox.Accepted, Task: &matches[0]}, matches)
	}
	if missing {
		return outbox.Exchange{Outcome: outbox.Absent, Reason: ReasonHistoryMissing, Detail: "no task shows the message, and not all of them show a history"}
	}
	detail := fmt.Sprintf("none of the %d tasks that the agent shows has the message", len(p.ids))
	return outbox.Exchange{Outcome: outbox.Absent, Reason: ReasonMessageNotFound, Detail: detail}
}
