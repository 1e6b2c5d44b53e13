// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
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
	server := postgres.Start(t)
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		url := server.Database(t)
		return func(t *testing.T) dedup.Store {
			s, err := openPostgres(t.Context(), url, true)
			return closing(t, s, err)
		}
	})
}
