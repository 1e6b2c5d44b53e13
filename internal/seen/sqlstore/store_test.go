// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/seen"
	"github.com/delegation-dev/delegation-operator/internal/seen/seentest"
	"github.com/delegation-dev/delegation-operator/internal/sqldb"
	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

// opener opens a set in a database that lives as long as the test; twice, it is the same set.
type opener func(t *testing.T, clock *seentest.Clock) *Store

// databases are the kinds of databases; each call of new makes one.
var databases = []struct {
	name string
	new  func(t *testing.T) opener
}{
	{"SQLite", func(t *testing.T) opener {
		path := filepath.Join(t.TempDir(), "seen.db")
		return func(t *testing.T, clock *seentest.Clock) *Store {
			s, err := openSQLite(path, seentest.Age, clock.Now)
			return closing(t, s, err)
		}
	}},
	{"PostgreSQL", func(t *testing.T) opener {
		url := server(t).Database(t)
		return func(t *testing.T, clock *seentest.Clock) *Store {
			s, err := openPostgres(t.Context(), url, seentest.Age, from(clock.Now))
			return closing(t, s, err)
		}
	}},
}

// server is shared by the tests of the package, since it takes a second to start.
func server(t *testing.T) *postgres.Server {
	t.Helper()
	if shared == nil {
		t.Fatal(postgres.ErrMissing)
	}
	return shared
}

var shared *postgres.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	shared, err = postgres.New(context.Background())
	switch {
	case errors.Is(err, postgres.ErrMissing): // the tests that need it fail
		return m.Run()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

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

// each runs a test with each kind of database.
func each(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) { test(t, d.new(t)) })
	}
}

func TestConformance(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			seentest.Run(t, func(t *testing.T, clock *seentest.Clock) seen.Store { return d.new(t)(t, clock) })
		})
	}
}

// What one replica remembers the others know, also one that is started later.
func TestReplicasShare(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		clock := seentest.NewClock()
		one, other := open(t, clock), open(t, clock)
		remember(t, one, "a")
		requireSeen(t, other, "a", true)
		requireSeen(t, open(t, clock), "a", true)
		if err := other.Forget(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		requireSeen(t, one, "a", false)
	})
}

// In production the time is the database's, whatever a replica's clock says.
func TestPostgresGoesByItsOwnClock(t *testing.T) {
	url := server(t).Database(t)
	s, err := OpenPostgres(t.Context(), url, time.Hour)
	closing(t, s, err)
	remember(t, s, "a")
	requireSeen(t, s, "a", true)
	if removed, err := s.sweep(t.Context()); removed != 0 || err != nil {
		t.Errorf("sweep removed %d ids, %v; want none", removed, err)
	}
	var left float64
	const query = "SELECT (expires / 1e6 - EXTRACT(EPOCH FROM clock_timestamp()))::float FROM a2a_seen"
	if err := s.reader.QueryRowContext(t.Context(), query).Scan(&left); err != nil || left > time.Hour.Seconds() || left < time.Hour.Seconds()-60 {
		t.Errorf("the id is remembered for %v s more, %v; want an hour", left, err)
	}
}

func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		clock := seentest.NewClock()
		s := open(t, clock)
		const old = sweepRows + 1 // more than one statement removes
		for i := range old {
			remember(t, s, strconv.Itoa(i))
		}
		clock.Advance(seentest.Age)
		remember(t, s, "new")
		if removed, err := s.sweep(t.Context()); removed != old || err != nil {
			t.Errorf("sweep removed %d ids, %v; want %d", removed, err, old)
		}
		requireSeen(t, s, "new", true)
		requireRows(t, s, 1)
	})
}

func TestBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.db")
	for _, age := range []time.Duration{0, -time.Second} {
		if _, err := OpenSQLite(path, age); !errors.Is(err, seen.ErrAge) {
			t.Errorf("OpenSQLite with age %s: error %v; want %v", age, err, seen.ErrAge)
		}
		if _, err := OpenPostgres(t.Context(), "postgres://localhost/none", age); !errors.Is(err, seen.ErrAge) {
			t.Errorf("OpenPostgres with age %s: error %v; want %v", age, err, seen.ErrAge)
		}
	}
	for path, want := range map[string]error{"": sqldb.ErrPath, ":memory:": sqldb.ErrPath, filepath.Join(path, "none", "seen.db"): fs.ErrNotExist} {
		if _, err := OpenSQLite(path, time.Hour); !errors.Is(err, want) {
			t.Errorf("OpenSQLite(%q): error %v; want %v", path, err, want)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused call made the file: %v", err)
	}
}

func remember(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := s.Remember(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func requireSeen(t *testing.T, s *Store, id string, want bool) {
	t.Helper()
	if got, err := s.Seen(t.Context(), id); got != want || err != nil {
		t.Errorf("Seen(%q) = %t, %v; want %t", id, got, err, want)
	}
}

func requireRows(t *testing.T, s *Store, want int) {
	t.Helper()
	var got int
	if err := s.reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a2a_seen").Scan(&got); err != nil || got != want {
		t.Errorf("%d rows, %v; want %d", got, err, want)
	}
}
