// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

func openAt(t *testing.T, url string) *Store {
	t.Helper()
	s, err := OpenPostgres(t.Context(), url)
	return closing(t, s, err)
}

// A replica whose clock is wrong neither takes over a live row nor forgets one.
func TestPostgresGoesByItsOwnClock(t *testing.T) {
	url := postgres.Start(t).Database(t)
	key := dedup.Key{Principal: "orchestrator", MessageID: "m-71"}
	skewed := func(by time.Duration) *dedup.Table {
		return dedup.NewTable(openAt(t, url), dedup.WithRetention(24*time.Hour), dedup.WithLease(time.Minute),
			dedup.WithClock(func() time.Time { return time.Now().Add(by) }))
	}
	first, err := skewed(-time.Hour).Claim(t.Context(), key, "d")
	if err != nil || first.First == nil || !first.First.Held() {
		t.Fatalf("first: %+v, %v", first, err)
	}
	for _, by := range []time.Duration{-48 * time.Hour, 0, time.Hour, 48 * time.Hour} {
		table := skewed(by)
		if v, err := table.Claim(t.Context(), key, "d"); !errors.Is(err, dedup.ErrInProgress) {
			t.Errorf("clock %v off: %+v, %v, want in progress", by, v, err)
		}
	}
	first.First.Leave()
	for _, by := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		v, err := skewed(by).Claim(t.Context(), key, "d")
		if err != nil || v.Abandoned == nil || !v.Abandoned.Held() {
			t.Fatalf("clock %v off: %+v, %v, want abandoned", by, v, err)
		}
		v.Abandoned.Leave()
	}
}

// Whatever the database's defaults are, a race has one winner and no errors, and commits are durable.
func TestPostgresBringsItsOwnSession(t *testing.T) {
	url := postgres.Start(t).Database(t)
	run(t, open(t, url), "ALTER DATABASE test1 SET default_transaction_isolation = 'serializable'")
	run(t, open(t, url), "ALTER DATABASE test1 SET synchronous_commit = 'off'")
	s := openAt(t, url)
	for setting, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "read committed"} {
		var got string
		if err := s.dialect.(*postgresDB).db.QueryRowContext(t.Context(), "SHOW "+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", setting, got, err, want)
		}
	}
	var (
		won   atomic.Int32
		group sync.WaitGroup
	)
	for range 32 {
		group.Go(func() {
			_, inserted, err := s.Insert(t.Context(), dedup.Claim{Digest: "d", Owner: "a", Retention: time.Hour})
			if err != nil {
				t.Errorf("Insert: %v", err)
			}
			if inserted {
				won.Add(1)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d won", won.Load())
	}
}

// A user that may only read and write rows can start a replica once the tables are there.
func TestPostgresWithoutTheRightToMakeTables(t *testing.T) {
	url := postgres.Start(t).Database(t)
	admin := open(t, url)
	run(t, admin, "CREATE ROLE replica LOGIN")
	asReplica := url + "&user=replica"
	if _, err := OpenPostgres(t.Context(), asReplica); err == nil {
		t.Fatal("tables were made without the right to")
	} else if denied := (*pgconn.PgError)(nil); !errors.As(err, &denied) || denied.Code != "42501" {
		t.Fatalf("error %v, want insufficient_privilege", err)
	}
	openAt(t, url)
	run(t, admin, "GRANT SELECT, INSERT, UPDATE, DELETE ON a2a_dedup_messages TO replica")
	run(t, admin, "GRANT SELECT ON a2a_dedup_schema TO replica")
	if _, inserted := at(t, openAt(t, asReplica), "m-71"); !inserted {
		t.Error("not inserted")
	}
}

// The database is killed and comes back: bound rows are there, and the same store goes on.
func TestPostgresComesBack(t *testing.T) {
	server := postgres.Start(t)
	s := openAt(t, server.Database(t))
	at(t, s, "m-71")
	if err := s.Bind(t.Context(), dedup.Key{MessageID: "m-71"}, dedup.Binding{TaskID: "t-1"}); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Insert(t.Context(), dedup.Claim{Digest: "d", Retention: time.Hour}); err == nil {
		t.Fatal("insert into a database that is gone")
	}
	if err := server.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row, inserted := at(t, s, "m-71"); inserted || row.Binding.TaskID != "t-1" {
		t.Errorf("row reads %+v, %v", row, inserted)
	}
}
