// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/sqldb"
	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

// replicas open one empty database at the same moment; all have to serve it afterwards.
func replicas(t *testing.T, open func() (*Store, error)) {
	t.Helper()
	var (
		group  sync.WaitGroup
		gate   = make(chan struct{})
		stores [8]*Store
		errs   [8]error
	)
	for i := range stores {
		group.Go(func() {
			<-gate
			stores[i], errs[i] = open()
		})
	}
	close(gate)
	group.Wait()
	for i, s := range stores {
		closing(t, s, errs[i])
		c := dedup.Claim{Key: dedup.Key{MessageID: fmt.Sprint("m-", i)}, Digest: "d", Owner: "a", Now: time.Now(), Retention: time.Hour}
		if _, inserted, err := s.Insert(t.Context(), c); err != nil || !inserted {
			t.Errorf("replica %d: %v, %v", i, inserted, err)
		}
	}
}

// wantNewerRefused makes the database look migrated by a newer release.
func wantNewerRefused(t *testing.T, db *sql.DB, open func() (*Store, error)) {
	t.Helper()
	run(t, db, "INSERT INTO a2a_dedup_schema (version) SELECT MAX(version) + 1 FROM a2a_dedup_schema")
	if s, err := open(); !errors.Is(err, sqldb.ErrNewerSchema) {
		if err == nil {
			err = s.Close()
		}
		t.Errorf("open: %v, want ErrNewerSchema", err)
	}
}

func TestSQLiteReplicasStartAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dedup.db")
	openStore := func() (*Store, error) { return OpenSQLite(path) }
	replicas(t, openStore)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	wantNewerRefused(t, db, openStore)
}

func TestPostgresReplicasStartAtOnce(t *testing.T) {
	url := postgres.Start(t).Database(t)
	openStore := func() (*Store, error) { return OpenPostgres(t.Context(), url) }
	replicas(t, openStore)
	wantNewerRefused(t, open(t, url), openStore)
}

// The rows of all releases are found by these.
func TestIDsAreStable(t *testing.T) {
	for key, want := range map[dedup.Key]string{
		{}: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		{Principal: "orchestrator", MessageID: "m-71"}: "5377ed2c2d8881bcba06cc98058afe12a997eed24d91c6a4285bd65a589cfe2f",
	} {
		if got := fmt.Sprintf("%x", idOf(key)); got != want {
			t.Errorf("id of %+v is %s, want %s", key, got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"m-71": "m-71", "ünï": "ünï", "": "",
		"a\x00b": `"a\x00b"`, "a\xffb": `"a\xffb"`, "a\nb": `"a\nb"`,
	} {
		if got := readable(name); got != want {
			t.Errorf("%q reads %s, want %s", name, got, want)
		}
	}
}
