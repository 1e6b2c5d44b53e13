// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"sync"
)

const (
	// maxBatch bounds the writes of one transaction, so that none waits long for the others.
	maxBatch = 128
)

// commits makes one transaction of the writes that wait for the writer at the same time, since what takes
// long about a write is to have it on the disk. A write that finds the writer free waits for nobody.
// Each is still one statement with an answer of its own, and none that has to be is answered before it is on the disk.
type commits struct {
	db   *sql.DB
	turn chan struct{} // taken by whoever commits for all
	// relaxed is whether the connection's commits are left to the next one that waits for the disk. It belongs to whoever
	// has the turn. A connection that the driver made anew waits for the disk, whatever this says.
	relaxed bool

	mu      sync.Mutex
	waiting []*write
}

type write struct {
	ctx  context.Context
	stmt *sql.Stmt
	// synced writes are on the disk when their call returns.
	synced bool
	args   []any
	result sql.Result
	err    error
	done   chan struct{}
}

func newCommits(db *sql.DB) *commits { return &commits{db: db, turn: make(chan struct{}, 1)} }

// exec runs a statement that was prepared on the writer. A caller that leaves gets its answer later all
// the same: it is on its way to the disk together with others'.
func (c *commits) exec(ctx context.Context, synced bool, stmt *sql.Stmt, args ...any) (sql.Result, error) {
	w := &write{ctx: ctx, stmt: stmt, synced: synced, args: args, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	for {
		select {
		case <-w.done:
			return w.result, w.err
		case c.turn <- struct{}{}:
			c.commit(c.take())
			<-c.turn
		}
	}
}

func (c *commits) take() []*write {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), maxBatch)
	batch := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	return batch
}

// commit runs a batch in one transaction. If anything goes wrong nothing of that is kept, and each write
// is run by itself, so that it fails, or not, for its own reasons.
func (c *commits) commit(batch []*write) {
	if len(batch) == 0 {
		return // somebody else had the turn meanwhile, and committed for this caller too
	}
	if err := c.sync(slices.ContainsFunc(batch, func(w *write) bool { return w.synced })); err != nil {
		for _, w := range batch {
			w.err = err
		}
	} else if len(batch) == 1 || c.together(batch) != nil {
		for _, w := range batch {
			if w.err = w.ctx.Err(); w.err == nil {
				w.result, w.err = w.stmt.ExecContext(context.WithoutCancel(w.ctx), w.args...)
			}
		}
	}
	for _, w := range batch {
		close(w.done)
	}
}

// sync says whether the next commits wait for the disk (https://sqlite.org/pragma.html#pragma_synchronous): NORMAL survives
// the death of the process, and FULL the loss of power too, with all that was committed before.
func (c *commits) sync(full bool) error {
	if full != c.relaxed {
		return nil
	}
	pragma := "PRAGMA synchronous = NORMAL"
	if full {
		pragma = "PRAGMA synchronous = FULL"
	}
	if _, err := c.db.ExecContext(context.Background(), pragma); err != nil {
		return err
	}
	c.relaxed = !full
	return nil
}

// together leaves no transaction behind that an error says was not committed, but for a commit that fails
// itself: then its writes may be there, and to run them again shows each what became of it. An insert
// finds its own row, by its owner.
func (c *commits) together(batch []*write) error {
	ctx := context.Background() // no caller can end it, and the busy timeout bounds its wait
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	for _, w := range batch {
		if w.err = w.ctx.Err(); w.err != nil {
			continue
		}
		if w.result, err = tx.StmtContext(ctx, w.stmt).ExecContext(ctx, w.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
