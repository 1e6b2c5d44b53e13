// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"log/slog"
	"time"
)

const (
	// sweepRows bounds the rows that one statement removes, so that it holds its locks for milliseconds.
	sweepRows = 1000
	// sweepStatements bounds the statements of one sweep. What is left waits for the next.
	sweepStatements = 100
)

// Sweep removes the ids that are too old, once at the beginning and then each time that every has passed, until ctx ends.
// Such ids count as not seen already; this gives their room back. Any number of replicas may do so. A failure is logged, and
// the next sweep tries again.
func (s *Store) Sweep(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if removed, err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "old ids of processed messages could not be removed", "removed", removed, "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sweep returns how many ids it removed.
func (s *Store) sweep(ctx context.Context) (removed int64, err error) {
	for range sweepStatements {
		result, err := s.writer.ExecContext(ctx, s.expire, s.now(), sweepRows)
		if err != nil {
			return removed, fail(ctx, "sweep", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return removed, fail(ctx, "sweep", err)
		}
		if removed += n; n < sweepRows {
			break
		}
	}
	return removed, nil
}
