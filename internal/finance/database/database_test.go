// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

var numbers = Schema{Version: 1, Tables: "CREATE TABLE numbers (n INTEGER PRIMARY KEY)"}

func open(t *testing.T, path string, schema Schema) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (db *DB) insert(ctx context.Context, n int, outcome error) error {
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO numbers VALUES (?)", n)
		return errors.Join(err, outcome)
	})
}

func (db *DB) count(t *testing.T) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDatabase(t *testing.T) {
	for name, path := range map[string]string{
		"file": filepath.Join(t.TempDir(), "a.db"), "odd name": filepath.Join(t.TempDir(), "100% a?b#c d.db"),
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, path, numbers)
			var group sync.WaitGroup
			for n := range 20 {
				group.Go(func() {
					if err := db.insert(t.Context(), n, nil); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			refused := errors.New("refused")
			if err := db.insert(t.Context(), 20, refused); !errors.Is(err, refused) {
				t.Errorf("error %v", err)
			}
			if n := db.count(t); n != 20 {
				t.Errorf("%d rows, want 20", n)
			}
			if n := open(t, path, numbers).count(t); n != 20 {
				t.Errorf("%d rows after opening it again", n)
			}
			if _, err := Open(t.Context(), path, Schema{Version: 2}); !errors.Is(err, ErrSchema) {
				t.Errorf("another version: %v", err)
			}
		})
	}
}

func TestDurability(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), numbers)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", pragma, got, err, want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none", "a.db"), numbers); err == nil {
		t.Error("a file in a directory that isn't there was opened")
	}
}
