// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqlstore keeps the set of processed ids in SQLite, for the processes of one machine, or in PostgreSQL, for a fleet.
// The package sqldb says how the databases are opened and what they promise.
//
// A row holds a digest of the id and the time at which it is forgotten, which goes by the callers' clock in SQLite and by the
// database's in PostgreSQL, so that a replica whose clock is wrong forgets nothing early.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/seen"
	"github.com/delegation-dev/delegation-operator/internal/sqldb"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

var schema = sqldb.Schema{Versions: "a2a_seen_schema", Steps: schemaFiles, Lock: 4117006121854}

// openTimeout bounds the opening of a file that other processes write.
const openTimeout = 30 * time.Second

// statements are what differs between the databases. Their parameters are the same: those of the calls below.
type statements struct{ seen, remember, forget, expire string }

var sqliteStatements = statements{
	seen: "SELECT 1 FROM a2a_seen WHERE id = ?1 AND expires > ?2",
	remember: "INSERT INTO a2a_seen (id, expires) VALUES (?1, ?2 + ?3)" +
		" ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
	forget: "DELETE FROM a2a_seen WHERE id = ?1",
	expire: "DELETE FROM a2a_seen WHERE id IN (SELECT id FROM a2a_seen WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
}

// clock is the time that a statement goes by: the database's, or that of a test.
const clock = "COALESCE($%d::bigint, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint)"

var postgresStatements = statements{
	seen: "SELECT 1 FROM a2a_seen WHERE id = $1 AND expires > " + fmt.Sprintf(clock, 2),
	remember: "INSERT INTO a2a_seen (id, expires) VALUES ($1, " + fmt.Sprintf(clock, 2) + " + $3)" +
		" ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
	forget: "DELETE FROM a2a_seen WHERE id = $1",
	// Rows that somebody is writing are passed by: they are remembered anew, or another replica removes them.
	expire: "DELETE FROM a2a_seen WHERE id IN (SELECT id FROM a2a_seen WHERE expires <= " + fmt.Sprintf(clock, 1) +
		" ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)",
}

// Store is a [seen.Store] in an SQL database. Close it when it is not used any more.
type Store struct {
	statements
	reader, writer *sql.DB
	closer         io.Closer
	age            time.Duration
	// now is the time for a statement: NULL where the database's goes.
	now func() sql.NullInt64
}

var _ seen.Store = (*Store)(nil)

// OpenSQLite opens the set in the file at path, which it makes when there is none. Ids are remembered for age. Errors wrap
// seen.ErrAge, or are those of sqldb.OpenSQLite.
func OpenSQLite(path string, age time.Duration) (*Store, error) {
	return openSQLite(path, age, time.Now)
}

func openSQLite(path string, age time.Duration, now func() time.Time) (*Store, error) {
	if age <= 0 {
		return nil, seen.ErrAge
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	db, err := sqldb.OpenSQLite(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("seen: %w", err)
	}
	return &Store{statements: sqliteStatements, reader: db.Reader, writer: db.Writer, closer: db, age: age, now: from(now)}, nil
}

// OpenPostgres opens the set in the database that the connection string names, and makes its table first. Ids are remembered
// for age. ctx bounds the opening alone. Errors wrap seen.ErrAge, or are those of sqldb.OpenPostgres.
func OpenPostgres(ctx context.Context, url string, age time.Duration) (*Store, error) {
	return openPostgres(ctx, url, age, func() sql.NullInt64 { return sql.NullInt64{} })
}

func openPostgres(ctx context.Context, url string, age time.Duration, now func() sql.NullInt64) (*Store, error) {
	if age <= 0 {
		return nil, seen.ErrAge
	}
	db, err := sqldb.OpenPostgres(ctx, url, schema)
	if err != nil {
		return nil, fmt.Errorf("seen: %w", err)
	}
	return &Store{statements: postgresStatements, reader: db, writer: db, closer: db, age: age, now: now}, nil
}

// from makes a clock one of statements.
func from(now func() time.Time) func() sql.NullInt64 {
	return func() sql.NullInt64 { return sql.NullInt64{Int64: now().UnixMicro(), Valid: true} }
}

// Close waits for the calls that are under way and closes the connections.
func (s *Store) Close() error { return s.closer.Close() }

// Seen implements [seen.Store].
func (s *Store) Seen(ctx context.Context, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	var one int
	err := s.reader.QueryRowContext(ctx, s.seen, digest(id), s.now()).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, fail(ctx, "seen", err)
}

// Remember implements [seen.Store].
func (s *Store) Remember(ctx context.Context, id string) error {
	return s.write(ctx, "remember", s.remember, digest(id), s.now(), s.age.Microseconds())
}

// Forget implements [seen.Store].
func (s *Store) Forget(ctx context.Context, id string) error {
	return s.write(ctx, "forget", s.forget, digest(id))
}

func (s *Store) write(ctx context.Context, call, statement string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.writer.ExecContext(ctx, statement, args...)
	return fail(ctx, call, err)
}

func digest(id string) []byte {
	d := seen.DigestOf(id)
	return d[:]
}

// fail names the call. A context that is done is the cause whatever the driver makes of it: drivers close the connection
// under the statement, and say that.
func fail(ctx context.Context, call string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("seen: %s: %w: %w", call, ctx.Err(), err)
	}
	return fmt.Errorf("seen: %s: %w", call, err)
}
