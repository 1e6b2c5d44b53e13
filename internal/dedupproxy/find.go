// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	// askTimeout bounds one call of the proxy's own.
	askTimeout = 30 * time.Second
	maxPages   = 100
	// maxPasses bounds how often a listing is read for two equal passes in a row.
	maxPasses = 4
	// maxProbes bounds how many tasks are asked for one by one where the listing shows no history.
	maxProbes = 50
)

// search is what a look for a message's task came to.
type search int

const (
	// failedSearch says that the agent could not be asked, which may be otherwise in a while.
	failedSearch search = iota
	// found: a task has the message in its history.
	found
	// absent: the agent shows tasks with their history, and none has the message.
	absent
	// blind: the agent does not list tasks to this caller, or not with their history.
	blind
	// denied: the agent does not accept the caller's credentials.
	denied
)

// sought is the result of a search.
type sought struct {
	search search
	taskID string
	// why is for the log.
	why string
	// whole is the agent's answer where it denied.
	whole answer
}

// find looks for the task that has the message. A message to a task can only be in that task's history. For others the
// listing is read until two passes in a row saw the same tasks, since one that changes under its reader loses entries.
func (a asker) find(ctx context.Context) sought {
	if a.call.message.taskID != "" {
		return a.inTask(ctx, a.call.message.taskID)
	}
	var last *pass
	for range maxPasses {
		p, fault := a.list(ctx)
		switch {
		case p != nil && len(p.matches) > 0:
			return sought{search: found, taskID: oldest(p.matches)}
		case fault != nil:
			return *fault
		case last != nil && slices.Equal(last.ids, p.ids):
			return a.among(ctx, p)
		}
		last = p
	}
	return sought{why: fmt.Sprintf("the agent's tasks changed during each of %d passes", maxPasses)}
}

// wireTask is what a search reads of a task.
type wireTask struct {
	ID        string
	ContextID string
	Status    struct{ Timestamp string }
	History   []struct{ MessageID string }
}

func (t wireTask) has(messageID string) bool {
	return slices.ContainsFunc(t.History, func(m struct{ MessageID string }) bool { return m.MessageID == messageID })
}

// inTask looks into one task.
func (a asker) inTask(ctx context.Context, id string) sought {
	got, err := a.getTask(ctx, id, json.RawMessage(fmt.Sprint(historyLength)))
	if err != nil {
		return sought{why: err.Error()}
	}
	if got.fault == a2a.ErrorReason(a2a.ErrTaskNotFound) {
		return sought{search: absent, why: "the task is not there"}
	}
	if got.result == nil {
		return unlisted(got)
	}
	var t wireTask
	switch err := decode(got.result, &t); {
	case err != nil || t.ID == "":
		return sought{why: "the task can't be read"}
	case t.has(a.call.message.id):
		return sought{search: found, taskID: t.ID}
	case len(t.History) == 0:
		return sought{search: blind, why: "the agent shows no history"}
	}
	return sought{search: absent, why: "the task's history does not hold the message"}
}

// pass is one reading of all pages.
type pass struct {
	// ids of all tasks that were shown, sorted, each once.
	ids []string
	// matches have the message; bare are those of the context that show no history.
	matches []wireTask
	bare    []string
}

// list makes one pass. With a fault the pass holds what was seen before it.
func (a asker) list(ctx context.Context) (*pass, *sought) {
	p := &pass{}
	token, used := "", map[string]bool{}
	for range maxPages {
		got, err := a.listTasks(ctx, a.call.message.contextID, token)
		if err != nil {
			return p, &sought{why: err.Error()}
		}
		if got.result == nil {
			fault := unlisted(got)
			return p, &fault
		}
		var page struct {
			Tasks         []wireTask
			NextPageToken string
		}
		if err := decode(got.result, &page); err != nil {
			return p, &sought{why: "the listing can't be read"}
		}
		for _, t := range page.Tasks {
			p.add(t, a.call.message)
		}
		if page.NextPageToken == "" {
			slices.Sort(p.ids)
			p.ids = slices.Compact(p.ids)
			return p, nil
		}
		if used[page.NextPageToken] {
			break
		}
		token, used[page.NextPageToken] = page.NextPageToken, true
	}
	return p, &sought{why: fmt.Sprintf("the listing did not end within %d pages, or led in a circle", maxPages)}
}

// add skips the tasks of other contexts, which servers that ignore the filter show, but counts them for what was seen.
func (p *pass) add(t wireTask, m message) {
	p.ids = append(p.ids, t.ID)
	switch {
	case t.ID == "", m.contextID != "" && t.ContextID != m.contextID:
	case t.has(m.id):
		p.matches = append(p.matches, t)
	case len(t.History) == 0:
		p.bare = append(p.bare, t.ID)
	}
}

// oldest is the task that was there first, as far as the agent tells: all replicas have to choose the same.
func oldest(matches []wireTask) string {
	return slices.MinFunc(matches, func(a, b wireTask) int {
		return cmp.Or(cmp.Compare(a.Status.Timestamp, b.Status.Timestamp), cmp.Compare(a.ID, b.ID))
	}).ID
}

// among looks into the tasks whose history the listing did not show.
func (a asker) among(ctx context.Context, p *pass) sought {
	if len(p.bare) > maxProbes {
		return sought{search: blind, why: "the agent's listing shows no history"}
	}
	result := sought{search: absent, why: fmt.Sprintf("none of %d tasks has the message", len(p.ids))}
	for _, id := range p.bare {
		s := a.inTask(ctx, id)
		switch s.search {
		case found, failedSearch, denied:
			return s
		case blind:
			result = s
		case absent: // gone by now, or without the message
		}
	}
	return result
}

// unlisted tells an agent that does not show tasks from one that does not just now. Agents on the Go SDK give an
// authentication error to a caller without a name, which is no matter of credentials: those are asked for with a
// challenge (RFC 9110, section 15.5.2).
func unlisted(got reading) sought {
	status := got.whole.status
	switch {
	case status == http.StatusUnauthorized && got.whole.header.Get("Www-Authenticate") != "":
		return sought{search: denied, whole: got.whole, why: "the agent does not accept the caller's credentials"}
	case refusals[got.fault]:
		return sought{search: blind, why: "the agent answers " + got.fault}
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
	case status >= 400 && status < 500, status == http.StatusNotImplemented:
		return sought{search: blind, why: fmt.Sprintf("the agent answers HTTP %d", status)}
	}
	return sought{why: fmt.Sprintf("the agent answers HTTP %d %s", status, got.fault)}
}
