// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

const (
	// storeTimeout bounds a write to the table that ends a send.
	storeTimeout = 5 * time.Second
	// bindPatience is how long an outcome is tried to be written while the table is not available.
	bindPatience = 5 * time.Minute
	// maxOpen bounds the memory of messages whose outcome is open. One that is forgotten is waited for again.
	maxOpen = 10_000

	minPoll = 100 * time.Millisecond
	maxPoll = 5 * time.Second
)

// resolve answers a copy whose first one was left with an open outcome. It holds the row, so that nobody else forwards.
//
// Where the agent's listing is authoritative, a message that is not found is forwarded, but no earlier than the settle
// time after the row was taken over: whoever held it before could forward until then. The wait is made here, whatever
// the client does, since a row that is given up in between may be forwarded by somebody else meanwhile.
func (p *Proxy) resolve(w http.ResponseWriter, r *http.Request, c *call, ticket *dedup.Ticket) {
	ctx := context.WithoutCancel(r.Context())
	if p.Lookup == LookupNone {
		p.leave(ctx, w, c, ticket, problemUnresolved, "the agent is not asked with --lookup=none")
		return
	}
	since := p.remember(ticket.Key())
	if p.Lookup == LookupAuthoritative {
		since = time.Now()
	}
	wait := newPoll()
	for {
		settled := time.Since(since) >= p.Settle // before the search: what it sees has to be as old
		s := asker{p, r, c}.find(ctx)
		switch {
		case s.search == found:
			p.adopt(ctx, w, r, c, ticket, s.taskID)
			return
		case s.search == denied:
			ticket.Leave()
			s.whole.header = endToEnd(s.whole.header)
			s.whole.write(w)
			return
		case s.search == failedSearch:
			p.leave(ctx, w, c, ticket, problemInProgress, s.why)
			return
		case s.search == blind, settled && p.Lookup != LookupAuthoritative:
			p.leave(ctx, w, c, ticket, problemUnresolved, s.why)
			return
		case settled:
			p.Logger.InfoContext(ctx, "message of an abandoned send is not at the agent, and is forwarded", "messageId", c.message.id, "why", s.why)
			p.Metrics.countRecovery(RecoveryAbsent)
			p.forward(w, r, c, ticket)
			return
		case p.Lookup != LookupAuthoritative:
			p.leave(ctx, w, c, ticket, problemInProgress, s.why)
			return
		}
		asleep := time.Now()
		goesOn := wait.sleep(p.Settle-time.Since(since), p.stopping)
		spent(ctx, time.Since(asleep))
		if !goesOn {
			p.leave(ctx, w, c, ticket, problemInProgress, "the proxy stops")
			return
		}
	}
}

// adopt binds the task that was found and answers with it.
func (p *Proxy) adopt(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, ticket *dedup.Ticket, taskID string) {
	p.Logger.InfoContext(ctx, "task of an abandoned send found", "messageId", c.message.id, "taskId", taskID)
	p.Metrics.countRecovery(RecoveryFound)
	outcome := dedup.Binding{TaskID: a2a.TaskID(taskID)}
	if errors.Is(p.bind(ctx, ticket, outcome), dedup.ErrBound) {
		p.Metrics.countSend(ResultInProgress)
		problemInProgress.answer(c).write(w)
		return
	}
	p.Metrics.countSend(ResultReplay)
	p.replay(ctx, r, c, outcome).write(w)
}

// leave gives the row up with the outcome still open.
func (p *Proxy) leave(ctx context.Context, w http.ResponseWriter, c *call, ticket *dedup.Ticket, say problem, why string) {
	ticket.Leave()
	result, recovery := ResultInProgress, RecoveryLater
	if say.reason == dedup.ReasonOutcomeUnknown {
		result, recovery = ResultUnknown, RecoveryUnknown
	}
	p.Logger.WarnContext(ctx, "message with an open outcome", "messageId", c.message.id, "answered", say.reason, "why", why)
	p.Metrics.countSend(result)
	p.Metrics.countRecovery(recovery)
	say.answer(c).write(w)
}

// bind writes an outcome into the table before anybody is told of it. While the table is not available it goes on in the
// background, with the row still held: the outcome is known here only, and the client is told.
func (p *Proxy) bind(ctx context.Context, ticket *dedup.Ticket, outcome dedup.Binding) error {
	p.forget(ticket.Key())
	ctx = context.WithoutCancel(ctx)
	err := p.bindOnce(ctx, ticket, outcome)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, dedup.ErrBound):
		p.Logger.ErrorContext(ctx, "the agent made two tasks of one message; the first stays", "messageId", ticket.Key().MessageID, "second", outcome.TaskID)
		p.Metrics.duplicates.Inc()
		return err
	case errors.Is(err, dedup.ErrNoRow):
		p.Logger.ErrorContext(ctx, "outcome came after its row expired: give a longer --retention", "messageId", ticket.Key().MessageID)
		return nil
	}
	p.background.Go(func() { p.bindLater(ctx, ticket, outcome) })
	return nil
}

func (p *Proxy) bindOnce(ctx context.Context, ticket *dedup.Ticket, outcome dedup.Binding) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return ticket.Bind(ctx, outcome)
}

func (p *Proxy) bindLater(ctx context.Context, ticket *dedup.Ticket, outcome dedup.Binding) {
	defer ticket.Leave() // does nothing after success
	wait, start := newPoll(), time.Now()
	for {
		goesOn := wait.sleep(maxPoll, p.stopping)
		err := p.bindOnce(ctx, ticket, outcome)
		if err == nil || errors.Is(err, dedup.ErrBound) || errors.Is(err, dedup.ErrNoRow) {
			return
		}
		if time.Since(start) > bindPatience || !goesOn {
			p.Logger.ErrorContext(ctx, "outcome not recorded; the next copy looks for its task",
				"messageId", ticket.Key().MessageID, "error", fmt.Errorf("gave up: %w", err))
			return
		}
	}
}

// remember returns since when a message's outcome is known to be open in this process. It is in memory only: losing it
// makes a client wait longer for the word that nothing was found.
func (p *Proxy) remember(key dedup.Key) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, known := p.open[key]
	if !known {
		if len(p.open) >= maxOpen {
			clear(p.open)
		}
		since = time.Now()
		p.open[key] = since
	}
	return since
}

func (p *Proxy) forget(key dedup.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, key)
}

// poll is a wait that doubles.
type poll struct{ next time.Duration }

func newPoll() *poll { return &poll{next: minPoll} }

// sleep waits for the next interval, or for limit if that is shorter. It returns false, at once, when stop is closed.
func (w *poll) sleep(limit time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(max(0, min(w.next, limit)))
	defer timer.Stop()
	w.next = min(2*w.next, maxPoll)
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}
