// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

func BenchmarkSQLite(b *testing.B) {
	s, err := OpenSQLite(filepath.Join(b.TempDir(), "dedup.db"))
	benchmark(b, s, err)
}

func BenchmarkPostgres(b *testing.B) {
	s, err := OpenPostgres(b.Context(), postgres.Start(b, postgres.WithFsync()).Database(b))
	benchmark(b, s, err)
}

// benchmark measures what a message costs the first time (two writes, of which the first waits for the
// disk) and repeated (a write of nothing, and a read), with 32 callers at once.
func benchmark(b *testing.B, s *Store, err error) {
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	var ids atomic.Int64
	message := func(id int64) dedup.Claim {
		return dedup.Claim{Key: dedup.Key{MessageID: strconv.FormatInt(id, 10)}, Digest: "d", Owner: "a", Now: time.Now(), Retention: time.Hour}
	}
	each := func(b *testing.B, f func() error) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := f(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("first", func(b *testing.B) {
		each(b, func() error {
			claim := message(ids.Add(1))
			if _, _, err := s.Insert(b.Context(), claim); err != nil {
				return err
			}
			return s.Bind(b.Context(), claim.Key, dedup.Binding{TaskID: "t"})
		})
	})
	b.Run("repeat", func(b *testing.B) {
		each(b, func() error {
			_, _, err := s.Insert(b.Context(), message(1))
			return err
		})
	})
}
