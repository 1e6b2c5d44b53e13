// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

const (
	pageSize = 100
	maxPages = 100
)

// pages reads a listing (A2A 1.0, section 3.1.4) page by page, at most maxPages of them, and hands each to take, which
// ends the reading by returning what is wrong with it. Accepted says that the last page was read. What earlier pages
// showed counts also where a later one fails.
func (c *Client) pages(ctx context.Context, params a2a.ListTasksRequest, take func([]outbox.Task) *outbox.Exchange) outbox.Exchange {
	params.Tenant, params.PageSize = c.tenant, pageSize
	used := map[string]bool{}
	for range maxPages {
		tasks, next, ex := c.page(ctx, &params)
		if ex.Outcome != outbox.Accepted {
			return ex
		}
		if wrong := take(tasks); wrong != nil {
			return *wrong
		}
		if next == "" {
			return ex
		}
		if used[next] {
			break
		}
		params.PageToken, used[next] = next, true
	}
	return unproved(ReasonListingEndless, fmt.Sprintf("the listing did not end within %d pages of %d tasks, or led in a circle", maxPages, pageSize))
}

// page reads one page.
func (c *Client) page(ctx context.Context, params *a2a.ListTasksRequest) ([]outbox.Task, string, outbox.Exchange) {
	result, ex := c.exchange(ctx, request{call: outbox.CallFind, params: params})
	if ex.Outcome != outbox.Accepted {
		return nil, "", unlisted(ex)
	}
	o := object(result)
	if o == nil {
		return nil, "", unproved(ReasonInvalidResponse, "the listing is not an object")
	}
	var tasks []outbox.Task
	for _, raw := range elements(o["tasks"]) {
		task := Snapshot(decodeTask(raw))
		if fit(task.ID) == "" {
			return nil, "", unproved(ReasonEmptyTask, "the listing holds a task without a usable id")
		}
		tasks = append(tasks, task)
	}
	return tasks, o.text("nextPageToken"), ex
}

// wholeSecond is a time to filter by, nil for the zero time. It is rounded down, since some servers read no fraction, and a
// task too many does no harm.
func wholeSecond(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

// unlisted names the ways in which agents say that they list no tasks, HTTP 501 among them. Agents on the Go SDK answer
// so to a caller without a name, which is no matter of wrong credentials.
func unlisted(ex outbox.Exchange) outbox.Exchange {
	switch ex.Reason {
	case "MethodNotFound", "UnsupportedOperation", statusReason(http.StatusNotImplemented), unauthenticated.reason, permissionDenied.reason:
		ex.Outcome, ex.Reason = outbox.Refused, ReasonLookupUnsupported
	}
	return ex
}
