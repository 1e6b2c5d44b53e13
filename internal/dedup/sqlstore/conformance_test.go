// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedup/storetest"
	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

func closing(t *testing.T, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestSQLiteConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		path := filepath.Join(t.TempDir(), "dedup.db")
		return func(t *testing.T) dedup.Store {
			s, err := OpenSQLite(path)
			return closing(t, s, err)
		}
	})
}

// The statements are those of production; the time is the callers', so that no test waits.
func TestPostgresConformance(t *testing.T) {
	url, schemas := postgres.Start(t).Database(t), 0
	admin := open(t, url)
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		schemas++
		schema := fmt.Sprint("s", schemas)
		run(t, admin, "CREATE SCHEMA "+schema) // much less work than a database
		return func(t *testing.T) dedup.Store {
			s, err := openPostgres(t.Context(), url+"&search_path="+schema, true)
			return closing(t, s, err)
		}
	})
}

// open is a connection of the test's own.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
