// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrNewerSchema says that a newer release migrated the database. It still serves the replicas that are running; to start
// one, use that release or a newer one.
var ErrNewerSchema = errors.New("database has a newer schema: start a newer release")

// Schema is the tables of one package. Each package has its own in a database that it may share with others.
type Schema struct {
	// Versions is the name of the table that tells which steps were taken.
	Versions string
	// Steps are SQL files, to be taken in the order of their names; a semicolon at the end of a line ends a statement. Steps
	// are only ever added, and replicas of the release before have to be able to work with the schema after each.
	Steps fs.FS
	// Lock keeps replicas from migrating at once, by an advisory lock of PostgreSQL. It is arbitrary and must never change.
	Lock int64
}

// migrate takes the steps that are missing, in one transaction in which lock is the first statement, where there is one.
func (s Schema) migrate(ctx context.Context, db *sql.DB, lock string) error {
	steps, err := s.steps()
	if err != nil {
		return err
	}
	// Without a look first, a user that may not make tables could not start a replica.
	if version, err := s.version(ctx, db); err == nil && version == len(steps) {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := s.migrateIn(ctx, tx, lock, steps); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return tx.Commit()
}

func (s Schema) steps() ([]string, error) {
	names, err := fs.Glob(s.Steps, "*/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]string, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(s.Steps, name)
		if err != nil {
			return nil, err
		}
		steps[i] = string(text)
	}
	return steps, nil
}

func (s Schema) migrateIn(ctx context.Context, tx *sql.Tx, lock string, steps []string) error {
	if lock != "" {
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+s.Versions+" (version BIGINT NOT NULL PRIMARY KEY)"); err != nil {
		return err
	}
	version, err := s.version(ctx, tx)
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
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (version) VALUES (%d)", s.Versions, version+1)); err != nil {
			return err
		}
	}
	return nil
}

func (s Schema) version(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM "+s.Versions).Scan(&version)
	return version, err
}

// statements takes a step apart.
func statements(step string) []string {
	var all []string
	for _, statement := range strings.SplitAfter(step, ";\n") {
		if strings.TrimSpace(statement) != "" {
			all = append(all, statement)
		}
	}
	return all
}
