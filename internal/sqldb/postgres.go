// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// postgresConnections bounds how many calls are under way at once in one process.
	postgresConnections = 16
	// postgresLifetime makes connections move on to another server, behind a name that has several.
	postgresLifetime = 30 * time.Minute

	postgresSession = "SET default_transaction_isolation = 'read committed';" +
		"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)

// OpenPostgres opens the database of a connection string (postgres://user:password@host/database?sslmode=verify-full) and
// migrates the schema. ctx bounds the opening alone. Errors don't show the password.
func OpenPostgres(ctx context.Context, url string, schema Schema) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		return conn.PgConn().Exec(ctx, postgresSession).Close()
	}))
	db.SetMaxOpenConns(postgresConnections)
	db.SetMaxIdleConns(postgresConnections)
	db.SetConnMaxLifetime(postgresLifetime)
	if err := schema.migrate(ctx, db, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", schema.Lock)); err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", errors.Join(err, db.Close()))
	}
	return db, nil
}
