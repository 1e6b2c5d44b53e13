// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// attempts bounds how often a call looks again because its row changed between two statements. Every
// further attempt means that somebody else got on.
const attempts = 100

// errBusyRow says that a row changed under each of many attempts.
var errBusyRow = errors.New("sqlstore: row changed under every attempt")

// The kinds of outcome, as stored.
const (
	kindOpen  = 0
	kindTask  = 1
	kindReply = 2
)

// Store is a [dedup.Store] in an SQL database. Close it when it is not used any more.
type Store struct {
	dialect dialect

	bind, release, look *sql.Stmt
}

var _ dedup.Store = (*Store)(nil)

// dialect is what differs between the databases.
type dialect interface {
	// insert adds the row, or returns the live one that is there. No row says that one changed in
	// between: try again.
	insert(ctx context.Context, id []byte, claim dedup.Claim) (row *dedup.Row, inserted bool, err error)
	hold(ctx context.Context, id []byte, claim dedup.Claim) (sql.Result, error)
	expire(ctx context.Context, now time.Time, limit int) (sql.Result, error)
	// prepare prepares a statement that is common to all, for reading or also for writing; exec runs one
	// of the latter.
	prepare(ctx context.Context, statement string) (*sql.Stmt, error)
	exec(ctx context.Context, prepared *sql.Stmt, args ...any) (sql.Result, error)
	Close() error
}

func newStore(ctx context.Context, d dialect) (*Store, error) {
	s := &Store{dialect: d}
	for statement, target := range map[string]**sql.Stmt{bindSQL: &s.bind, releaseSQL: &s.release, lookSQL: &s.look} {
		prepared, err := d.prepare(ctx, statement)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		*target = prepared
	}
	return s, nil
}

// Close waits for the calls that are under way and closes the connections.
func (s *Store) Close() error { return s.dialect.Close() }

const (
	bindSQL    = "UPDATE a2a_dedup_messages SET kind = $2, outcome = $3 WHERE id = $1 AND (kind = 0 OR (kind = $2 AND outcome = $3))"
	releaseSQL = "DELETE FROM a2a_dedup_messages WHERE id = $1 AND owner = $2 AND kind = 0"
	lookSQL    = "SELECT kind FROM a2a_dedup_messages WHERE id = $1"
)

// Insert implements [dedup.Store].
func (s *Store) Insert(ctx context.Context, claim dedup.Claim) (dedup.Row, bool, error) {
	if err := cmp.Or(ctx.Err(), claim.Check()); err != nil {
		return dedup.Row{}, false, err
	}
	id := idOf(claim.Key)
	for range attempts {
		row, inserted, err := s.dialect.insert(ctx, id, claim)
		if err != nil {
			return dedup.Row{}, false, fail(ctx, "insert", err)
		}
		if row != nil {
			return *row, inserted, nil
		}
	}
	return dedup.Row{}, false, errBusyRow
}

// Hold implements [dedup.Store].
func (s *Store) Hold(ctx context.Context, claim dedup.Claim) (bool, error) {
	if err := cmp.Or(ctx.Err(), claim.Check()); err != nil {
		return false, err
	}
	n, err := affected(s.dialect.hold(ctx, idOf(claim.Key), claim))
	return n > 0, fail(ctx, "hold", err)
}

// Bind implements [dedup.Store].
func (s *Store) Bind(ctx context.Context, key dedup.Key, outcome dedup.Binding) error {
	if err := cmp.Or(ctx.Err(), outcome.Check()); err != nil {
		return err
	}
	kind, content := kindReply, []byte(outcome.Reply)
	if outcome.TaskID != "" {
		kind, content = kindTask, []byte(outcome.TaskID)
	}
	id := idOf(key)
	n, err := affected(s.dialect.exec(ctx, s.bind, id, kind, content))
	if err != nil || n > 0 {
		return fail(ctx, "bind", err)
	}
	switch _, err := s.kindOf(ctx, id); {
	case errors.Is(err, sql.ErrNoRows):
		return dedup.ErrNoRow
	case err != nil:
		return fail(ctx, "bind", err)
	}
	return dedup.ErrBound
}

// Release implements [dedup.Store].
func (s *Store) Release(ctx context.Context, key dedup.Key, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := idOf(key)
	n, err := affected(s.dialect.exec(ctx, s.release, id, owner))
	if err != nil || n > 0 {
		return fail(ctx, "release", err)
	}
	switch kind, err := s.kindOf(ctx, id); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fail(ctx, "release", err)
	case kind != kindOpen:
		return dedup.ErrBound
	}
	return dedup.ErrNotHeld
}

// Expire implements [dedup.Store].
func (s *Store) Expire(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := affected(s.dialect.expire(ctx, now, limit))
	return int(n), fail(ctx, "expire", err)
}

func (s *Store) kindOf(ctx context.Context, id []byte) (kind int, err error) {
	err = s.look.QueryRowContext(ctx, id).Scan(&kind)
	return kind, err
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// fail names the call. A context that is done is the cause whatever the driver makes of it: drivers close
// the connection under the statement, and say that.
func fail(ctx context.Context, call string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("sqlstore: %s: %w: %w", call, ctx.Err(), err)
	}
	return fmt.Errorf("sqlstore: %s: %w", call, err)
}

// scanned is a row on its way out of the database.
type scanned struct {
	digest, owner  string
	lease, expires int64
	kind           int
	outcome        []byte
}

func (s *scanned) row() *dedup.Row {
	row := &dedup.Row{Digest: s.digest, Owner: s.owner, Lease: time.UnixMicro(s.lease), Expires: time.UnixMicro(s.expires)}
	switch s.kind {
	case kindTask:
		row.Binding.TaskID = a2a.TaskID(s.outcome)
	case kindReply:
		row.Binding.Reply = s.outcome
	}
	return row
}
