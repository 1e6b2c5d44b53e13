// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	stdctx "context"
	"errors"
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

const (
	// searches is how often the message is looked for, and pause how long between: some agents list a task late.
	searches = 5
	pause    = time.Second
	// cancels is how often a task is asked to be canceled: one that is just being begun may not be cancelable yet.
	cancels = 5
)

// ErrNotTaken says that the agent did not take the message at all, so that there is nothing to judge.
var ErrNotTaken = errors.New("the agent did not take the message")

// Agent is where the trial goes.
type Agent struct {
	Client *remote.Client
	// Lists says that the endpoint's protocol has a listing of tasks.
	Lists bool
	// Timeout bounds each call.
	Timeout time.Duration
}

// Run sends a message twice and looks at what comes of it. The second pair of ids is for an agent that takes no contextId of
// the client. The evidence is there also with an error.
func (a Agent) Run(ctx stdctx.Context, messageID, contextID, fallbackID string) (Evidence, error) {
	e := Evidence{MessageID: messageID, ContextID: contextID, Lists: a.Lists}
	e.First = a.try(ctx, messageID, contextID)
	if e.First.Outcome == outbox.Refused {
		refused := e.First
		e.ContextRefused, e.MessageID, e.ContextID = &refused, fallbackID, ""
		e.First = a.try(ctx, fallbackID, "")
	}
	switch e.First.Outcome {
	case outbox.NotSent, outbox.Refused, outbox.Unauthorized:
		return e, fmt.Errorf("%w: %s", ErrNotTaken, reason(e.First))
	}
	e.Second = a.try(ctx, e.MessageID, e.ContextID)
	if ids := e.Tasks(); len(ids) > 0 {
		e.Look = a.call(ctx, func(ctx stdctx.Context) outbox.Exchange { return a.Client.Get(ctx, ids[0]) })
	}
	if e.Lists {
		e.Found = a.search(ctx, e)
	}
	return e, ctx.Err()
}

func (a Agent) try(ctx stdctx.Context, messageID, contextID string) outbox.Exchange {
	return a.call(ctx, func(ctx stdctx.Context) outbox.Exchange { return a.Client.Try(ctx, messageID, contextID) })
}

func (a Agent) call(ctx stdctx.Context, f func(stdctx.Context) outbox.Exchange) outbox.Exchange {
	ctx, cancel := stdctx.WithTimeout(ctx, a.Timeout)
	defer cancel()
	return f(ctx)
}

// search looks for the message until it shows. It asks for the context that the task has, which may be the agent's own.
func (a Agent) search(ctx stdctx.Context, e Evidence) outbox.Exchange {
	q := outbox.Query{MessageID: e.MessageID, ContextID: e.ContextID}
	for _, ex := range []outbox.Exchange{e.Second, e.First} {
		if ex.Task != nil && ex.Task.ContextID != "" {
			q.ContextID = ex.Task.ContextID
		}
	}
	if q.ContextID == "" && len(e.Tasks()) == 0 {
		return outbox.Exchange{}
	}
	for n := 1; ; n++ {
		found := a.call(ctx, func(ctx stdctx.Context) outbox.Exchange { return a.Client.Find(ctx, q) })
		if found.Outcome != outbox.Absent || n == searches || !rest(ctx) {
			return found
		}
	}
}

// Cancel cancels a task that the trial made, and says what became of it.
func (a Agent) Cancel(ctx stdctx.Context, id string) string {
	for n := 1; ; n++ {
		ex := a.call(ctx, func(ctx stdctx.Context) outbox.Exchange { return a.Client.Cancel(ctx, id) })
		switch {
		case ex.Task != nil && ex.Task.State.Terminal():
			return "ended as " + string(ex.Task.State)
		case ex.Outcome == outbox.Absent:
			return "the agent has it no more"
		case ex.Outcome == outbox.Refused:
			return "the agent does not cancel it (" + reason(ex) + "): ask its owner"
		case n == cancels || !rest(ctx):
			if ex.Outcome == outbox.Accepted {
				return "asked to be canceled, and not ended yet"
			}
			return "can't be canceled now (" + reason(ex) + "): ask its owner"
		}
	}
}

// rest waits for a moment, and reports whether there is more time.
func rest(ctx stdctx.Context) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
