// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

func at(t *testing.T, s *Store, id string) (dedup.Row, bool) {
	t.Helper()
	row, inserted, err := s.Insert(t.Context(), dedup.Claim{
		Key: dedup.Key{MessageID: id}, Digest: "d", Owner: "onlooker", Now: time.Now(), Retention: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return row, inserted
}

func TestSQLiteIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%20.db")
	s, err := OpenSQLite(path)
	closing(t, s, err)
	for pragma, want := range map[string]int{"synchronous": 2, "busy_timeout": 10_000} {
		var got int
		if err := s.dialect.(*sqliteDB).Writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", pragma, got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("database file has mode %o: replies are in it", mode)
	}
}

func TestSQLiteNeedsAFile(t *testing.T) {
	for _, path := range []string{"", ":memory:", "file:x.db", filepath.Join(t.TempDir(), "missing", "x.db")} {
		if s, err := OpenSQLite(path); err == nil {
			t.Errorf("%q was opened", path)
			_ = s.Close()
		}
	}
}

const childEnv = "SQLSTORE_TEST_CHILD"

// A process that is killed right after Bind returned leaves a bound row.
func TestSQLiteSurvivesKill(t *testing.T) {
	if path := os.Getenv(childEnv); path != "" {
		bindForever(t, path)
	}
	path := filepath.Join(t.TempDir(), "dedup.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSQLiteSurvivesKill$")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var bound []string
	for lines := bufio.NewScanner(out); len(bound) < 20 && lines.Scan(); {
		bound = append(bound, lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	if len(bound) < 20 {
		t.Fatalf("child bound %d rows", len(bound))
	}
	s, err := OpenSQLite(path)
	closing(t, s, err)
	for _, id := range bound {
		if row, inserted := at(t, s, id); inserted || string(row.Binding.TaskID) != "t-"+id {
			t.Errorf("row %s reads %+v, %v", id, row, inserted)
		}
	}
}

func bindForever(t *testing.T, path string) {
	s, err := OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	for {
		id := time.Now().Format("150405.000000000")
		at(t, s, id)
		if err := s.Bind(t.Context(), dedup.Key{MessageID: id}, dedup.Binding{TaskID: a2a.TaskID("t-" + id)}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString(id + "\n"); err != nil {
			t.Fatal(err)
		}
	}
}
