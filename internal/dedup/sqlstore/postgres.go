// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/sqldb"
)

const (
	// clock is the time a statement goes by: the database's, or that of a test.
	clock = "WITH clock AS MATERIALIZED (SELECT COALESCE($1::bigint, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint) AS now)"

	// postgresInsert answers repeats by reading alone, without a lock or a write. That no live row is
	// seen proves nothing: the insert decides. A row that came in between gives neither.
	postgresInsert = clock + ", known AS (" +
		" SELECT m.* FROM a2a_dedup_messages m, clock WHERE m.id = $2 AND m.expires > clock.now" +
		"), added AS (" +
		" INSERT INTO a2a_dedup_messages AS m (id, principal, message_id, digest, owner, lease, expires, kind, outcome)" +
		" SELECT $2, $3, $4, $5, $6, now + $7, now + $8::bigint, 0, '' FROM clock WHERE NOT EXISTS (SELECT FROM known)" +
		" ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, owner = excluded.owner, lease = excluded.lease," +
		" expires = excluded.expires, kind = 0, outcome = ''" +
		" WHERE m.expires <= excluded.expires - $8::bigint RETURNING m.*" +
		") SELECT TRUE, digest, owner, lease, expires, kind, outcome FROM added" +
		" UNION ALL SELECT FALSE, digest, owner, lease, expires, kind, outcome FROM known"

	postgresHold = clock +
		" UPDATE a2a_dedup_messages m SET owner = $4, lease = clock.now + $5, expires = GREATEST(m.expires, clock.now + $6)" +
		" FROM clock WHERE m.id = $2 AND m.digest = $3 AND m.kind = 0 AND m.expires > clock.now" +
		" AND (m.owner = $4 OR m.lease <= clock.now)"

	// postgresExpire passes by rows that somebody is writing. A row that was replaced since the statement
	// began is looked at again when it is locked, and stays.
	postgresExpire = clock + ", old AS (" +
		" SELECT m.id FROM a2a_dedup_messages m, clock WHERE m.expires <= clock.now" +
		" ORDER BY m.expires LIMIT $2 FOR UPDATE OF m SKIP LOCKED" +
		") DELETE FROM a2a_dedup_messages m USING old WHERE m.id = old.id"
)

type postgresDB struct {
	db                     *sql.DB
	insertion, holding, gc *sql.Stmt
	callersClock           bool // tests set the time
}

// OpenPostgres opens the table in the database that the connection string names
// (postgres://user:password@host/database?sslmode=verify-full), and makes or migrates it first.
// Behind a connection pooler that has no prepared statements, add default_query_exec_mode=exec.
// ctx bounds the opening alone.
func OpenPostgres(ctx context.Context, url string) (*Store, error) {
	return openPostgres(ctx, url, false)
}

func openPostgres(ctx context.Context, url string, callersClock bool) (*Store, error) {
	db, err := sqldb.OpenPostgres(ctx, url, schema)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	d := &postgresDB{callersClock: callersClock, db: db}
	if err := d.start(ctx); err != nil {
		return nil, fmt.Errorf("sqlstore: PostgreSQL: %w", errors.Join(err, db.Close()))
	}
	return newStore(ctx, d)
}

func (d *postgresDB) start(ctx context.Context) error {
	return errors.Join(
		prepared(ctx, d.db, postgresInsert, &d.insertion),
		prepared(ctx, d.db, postgresHold, &d.holding),
		prepared(ctx, d.db, postgresExpire, &d.gc),
	)
}

func (d *postgresDB) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	return d.db.PrepareContext(ctx, statement)
}

func (d *postgresDB) exec(ctx context.Context, prepared *sql.Stmt, args ...any) (sql.Result, error) {
	return prepared.ExecContext(ctx, args...)
}

// time is NULL where the statement has to go by the database's clock.
func (d *postgresDB) time(now time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: now.UnixMicro(), Valid: d.callersClock}
}

func (d *postgresDB) insert(ctx context.Context, id []byte, claim dedup.Claim) (*dedup.Row, bool, error) {
	var (
		row      scanned
		inserted bool
	)
	err := d.insertion.QueryRowContext(ctx, d.time(claim.Now), id, readable(claim.Key.Principal), readable(claim.Key.MessageID),
		claim.Digest, claim.Owner, claim.Lease.Microseconds(), claim.Retention.Microseconds(),
	).Scan(&inserted, &row.digest, &row.owner, &row.lease, &row.expires, &row.kind, &row.outcome)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return row.row(), inserted, nil
}

func (d *postgresDB) hold(ctx context.Context, id []byte, claim dedup.Claim) (sql.Result, error) {
	return d.holding.ExecContext(ctx, d.time(claim.Now), id, claim.Digest, claim.Owner,
		claim.Lease.Microseconds(), claim.Retention.Microseconds())
}

func (d *postgresDB) expire(ctx context.Context, now time.Time, limit int) (sql.Result, error) {
	return d.gc.ExecContext(ctx, d.time(now), limit)
}

func (d *postgresDB) Close() error { return d.db.Close() }
