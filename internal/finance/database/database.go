// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database opens the SQLite files in which the finance agent keeps what has to survive it.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver
)

// ErrSchema says that a file was written by another version of the program.
var ErrSchema = errors.New("database has another schema")

// Schema is the tables of one file.
type Schema struct {
	// Version is at least 1. It is kept in the file (SQLite's user_version), and goes up with every change of Tables.
	Version int
	// Tables are the statements that make the tables in an empty file.
	Tables string
}

// DB is a database. Reads go through the embedded handle, writes through Write.
type DB struct {
	*sql.DB
	// writing lines writers up: SQLite has one at a time, and would have the others poll.
	writing sync.Mutex
}

// Open opens the file, and makes it where there is none.
//
// A write that was committed survives the end of the process and of the machine: the journal is written ahead (WAL), and
// synced at every commit (synchronous=FULL).
func Open(ctx context.Context, path string, schema Schema) (*DB, error) {
	handle, err := sql.Open("sqlite", source(path))
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db := &DB{DB: handle}
	if err := db.Write(ctx, func(tx *sql.Tx) error { return schema.ensure(ctx, tx) }); err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, errors.Join(err, handle.Close()))
	}
	return db, nil
}

func source(path string) string {
	options := url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"},
		"_txlock": {"immediate"}, // a transaction that reads first and writes then could not be tried again
	}
	return fileURL(path, options)
}

func fileURL(path string, options url.Values) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return (&url.URL{Scheme: "file", Opaque: escaped, RawQuery: options.Encode()}).String()
}

func (s Schema) ensure(ctx context.Context, tx *sql.Tx) error {
	var found int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return err
	}
	switch found {
	case s.Version:
		return nil
	case 0:
		_, err := tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", s.Tables, s.Version))
		return err
	}
	return fmt.Errorf("%w: it is %d, this program has %d: move the file away, or run the program that wrote it", ErrSchema, found, s.Version)
}

// Write runs change in a transaction, which is committed when change returns nil. Of several, one runs at a time.
func (db *DB) Write(ctx context.Context, change func(tx *sql.Tx) error) error {
	db.writing.Lock()
	defer db.writing.Unlock()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
