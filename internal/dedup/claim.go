// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/log"
)

// claim decides what becomes of this copy. It returns a ticket when it is to be executed, or the first
// copy's outcome, or an error for its sender.
func (h *Handler) claim(ctx context.Context, key Key, req *a2a.SendMessageRequest) (*Ticket, *Binding, error) {
	digest, err := Digest(req.Message)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err)
	}
	verdict, err := h.table.Claim(ctx, key, digest)
	if err == nil && verdict.Abandoned != nil {
		verdict, err = h.resolve(ctx, verdict.Abandoned)
	}
	if err == nil && verdict.First != nil && !verdict.First.Held() {
		// The table, or the look-up, took longer than the lease: somebody else may be first by now.
		verdict.First.Leave()
		err = ErrInProgress
	}
	if err != nil {
		return nil, nil, tell(ctx, key, err)
	}
	return verdict.First, verdict.Known, nil
}

// resolve finds out what became of a first copy that nobody runs any more.
func (h *Handler) resolve(ctx context.Context, ticket *Ticket) (Verdict, error) {
	if h.lookup == nil {
		ticket.Leave()
		return Verdict{}, ErrOutcomeUnknown
	}
	outcome, found, err := h.lookup(ctx, ticket.Key())
	switch {
	case err != nil:
		ticket.Leave()
		return Verdict{}, fmt.Errorf("look up an earlier copy's task: %w", err)
	case !found:
		return Verdict{First: ticket}, nil
	}
	if err := ticket.Bind(ctx, outcome); err != nil {
		ticket.Leave()
		if errors.Is(err, ErrBound) { // by the first copy's own late answer: the next copy is told that one
			return Verdict{}, ErrInProgress
		}
		return Verdict{}, fmt.Errorf("bind an earlier copy's task: %w", err)
	}
	return Verdict{Known: &outcome}, nil
}

// tell is what the sender of a copy that is not executed hears. The cause of a failure is for the log: it
// may name machines.
func tell(ctx context.Context, key Key, err error) error {
	if r, ok := refusalFor(err); ok {
		if errors.Is(r.class, a2a.ErrServerError) {
			noteConflict(ctx, key, r)
		}
		return WireError(key, err)
	}
	log.Error(ctx, "deduplication failed", err)
	return a2a.NewError(fmt.Errorf("%w: %w", a2a.ErrInternalError, err), "deduplication is not available")
}
