// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrNewerSchema says that a newer release migrated the database. It still serves the replicas that are
// running; to start one, use that release or a newer one.
var ErrNewerSchema = errors.New("database has a newer schema: start a newer release")

//go:embed schema/*.sql
var schemaFiles embed.FS

// migrations are the steps of the schema, in the order of their file names. Steps are only ever added,
// and replicas of the release before have to be able to work with the schema after each.
func migrations() ([]string, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]string, len(names))
	for i, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps[i] = string(text)
	}
	return steps, nil
}

// migrate brings the schema up to date, in one transaction that lock makes wait for any other one like it.
func migrate(ctx context.Context, db *sql.DB, lock string) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	// Without a look first, a user that may not make tables could not start a replica.
	if version, err := versionOf(ctx, db); err == nil && version == len(steps) {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := migrateIn(ctx, tx, lock, steps); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return tx.Commit()
}

func migrateIn(ctx context.Context, tx *sql.Tx, lock string, steps []string) error {
	if lock != "" {
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS a2a_dedup_schema (version BIGINT NOT NULL PRIMARY KEY)"); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("%w: it is at version %d, this release knows %d", ErrNewerSchema, version, len(steps))
	}
	for ; version < len(steps); version++ {
		for _, statement := range statements(steps[version]) {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("version %d: %w", version+1, err)
			}
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO a2a_dedup_schema (version) VALUES (%d)", version+1)); err != nil {
			return err
		}
	}
	return nil
}

func versionOf(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM a2a_dedup_schema").Scan(&version)
	return version, err
}

// statements takes a step apart: a semicolon at the end of a line ends a statement.
func statements(step string) []string {
	var all []string
	for _, statement := range strings.SplitAfter(step, ";\n") {
		if strings.TrimSpace(statement) != "" {
			all = append(all, statement)
		}
	}
	return all
}
