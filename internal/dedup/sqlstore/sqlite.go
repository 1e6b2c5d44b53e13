// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/sqldb"
)

const (
	sqliteFind = "SELECT digest, owner, lease, expires, kind, outcome FROM a2a_dedup_messages WHERE id = ?1 AND expires > ?2"

	sqliteInsert = "INSERT INTO a2a_dedup_messages (id, principal, message_id, digest, owner, lease, expires, kind, outcome)" +
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, x'')" +
		" ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, owner = excluded.owner, lease = excluded.lease," +
		" expires = excluded.expires, kind = 0, outcome = x''" +
		" WHERE a2a_dedup_messages.expires <= ?8"

	sqliteHold = "UPDATE a2a_dedup_messages SET owner = ?3, lease = ?4, expires = MAX(expires, ?5)" +
		" WHERE id = ?1 AND digest = ?2 AND kind = 0 AND expires > ?6 AND (owner = ?3 OR lease <= ?6)"

	sqliteExpire = "DELETE FROM a2a_dedup_messages WHERE id IN" +
		" (SELECT id FROM a2a_dedup_messages WHERE expires <= ?1 ORDER BY expires LIMIT ?2)"
)

// openTimeout bounds the opening of a file that other processes write.
const openTimeout = 30 * time.Second

type sqliteDB struct {
	*sqldb.SQLite
	commits                      *commits
	find, insertion, holding, gc *sql.Stmt
}

// OpenSQLite opens the table in the file at path, which it makes when there is none, readable by its owner
// alone, since replies are in it. Other tables in the file are left alone.
func OpenSQLite(path string) (*Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	db, err := sqldb.OpenSQLite(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	d := &sqliteDB{SQLite: db, commits: newCommits(db.Writer)}
	if err := d.start(ctx); err != nil {
		return nil, fmt.Errorf("sqlstore: SQLite database %q: %w", path, errors.Join(err, d.Close()))
	}
	return newStore(ctx, d)
}

func (d *sqliteDB) start(ctx context.Context) error {
	return errors.Join(
		prepared(ctx, d.Reader, sqliteFind, &d.find),
		prepared(ctx, d.Writer, sqliteInsert, &d.insertion),
		prepared(ctx, d.Writer, sqliteHold, &d.holding),
		prepared(ctx, d.Writer, sqliteExpire, &d.gc),
	)
}

func prepared(ctx context.Context, db *sql.DB, statement string, target **sql.Stmt) (err error) {
	*target, err = db.PrepareContext(ctx, statement)
	return err
}

func (d *sqliteDB) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	return d.Writer.PrepareContext(ctx, strings.ReplaceAll(statement, "$", "?"))
}

// exec runs Bind's and Release's statements, see the package's comment.
func (d *sqliteDB) exec(ctx context.Context, prepared *sql.Stmt, args ...any) (sql.Result, error) {
	return d.commits.exec(ctx, false, prepared, args...)
}

func (d *sqliteDB) insert(ctx context.Context, id []byte, claim dedup.Claim) (*dedup.Row, bool, error) {
	now := claim.Now.UnixMicro()
	row := &dedup.Row{Digest: claim.Digest, Owner: claim.Owner, Lease: claim.Now.Add(claim.Lease), Expires: claim.Now.Add(claim.Retention)}
	// A row that is there makes this a write of nothing, which waits for no disk.
	n, err := affected(d.commits.exec(ctx, true, d.insertion, id, readable(claim.Key.Principal), readable(claim.Key.MessageID),
		claim.Digest, claim.Owner, row.Lease.UnixMicro(), row.Expires.UnixMicro(), now))
	if err != nil || n > 0 {
		return row, n > 0, err
	}
	var known scanned
	err = d.find.QueryRowContext(ctx, id, now).Scan(&known.digest, &known.owner, &known.lease, &known.expires, &known.kind, &known.outcome)
	switch {
	case errors.Is(err, sql.ErrNoRows): // it was released in between
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return known.row(), false, nil
}

func (d *sqliteDB) hold(ctx context.Context, id []byte, claim dedup.Claim) (sql.Result, error) {
	now := claim.Now
	return d.commits.exec(ctx, true, d.holding, id, claim.Digest, claim.Owner,
		now.Add(claim.Lease).UnixMicro(), now.Add(claim.Retention).UnixMicro(), now.UnixMicro())
}

func (d *sqliteDB) expire(ctx context.Context, now time.Time, limit int) (sql.Result, error) {
	return d.commits.exec(ctx, true, d.gc, now.UnixMicro(), limit)
}
