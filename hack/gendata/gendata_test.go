package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// maxBytes keeps a table small enough for a ConfigMap and a message beside everything else in them.
const maxBytes = 40_000

func TestCheckedInDataIsWhatTheGeneratorMakes(t *testing.T) {
	out := t.TempDir()
	if err := run(9, "2026-09", out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ledger.csv", "bank.csv"} {
		made, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		checkedIn, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, checkedIn) {
			t.Errorf("%s differs from the generator's: run go run ./hack/gendata", name)
		}
	}
}

// Whatever the seed and the month, there is one error of each kind and nothing else to find.
func TestEverySeedHasEachErrorOnce(t *testing.T) {
	for _, month := range []string{"2026-09", "2026-02", "2025-08", "2024-02"} {
		first, err := time.Parse("2006-01", month)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(50) {
			tables := files(generate(seed, first))
			for name, table := range tables {
				if len(table) > maxBytes {
					t.Errorf("seed %d, %s: %s has %d bytes", seed, month, name, len(table))
				}
			}
			checkFindings(t, seed, month, tables)
		}
	}
}

func checkFindings(t *testing.T, seed uint64, month string, tables map[string][]byte) {
	t.Helper()
	entries, err := finance.ParseLedger(tables["ledger.csv"])
	if err != nil {
		t.Fatalf("seed %d, %s: %v", seed, month, err)
	}
	lines, err := finance.ParseBank(tables["bank.csv"])
	if err != nil {
		t.Fatalf("seed %d, %s: %v", seed, month, err)
	}
	r := finance.Reconcile(entries, lines, finance.Options{})
	if len(entries) < 280 || r.Period != month {
		t.Errorf("seed %d, %s: %d entries of %s", seed, month, len(entries), r.Period)
	}
	if len(r.Duplicates) != 1 || len(r.Differences) != 1 || !r.Differences[0].Transposed || len(r.Fees) != 1 ||
		len(r.MissingInLedger) != 1 || len(r.MissingInBank) != 0 || len(r.Unusual()) != 1 || len(r.Adjustments) != 1 {
		t.Errorf("seed %d, %s: %s\n%s", seed, month, r.Summary(), r.Markdown())
	}
}

func TestSeedsDiffer(t *testing.T) {
	month := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	if bytes.Equal(files(generate(1, month))["ledger.csv"], files(generate(2, month))["ledger.csv"]) {
		t.Error("two seeds give the same ledger")
	}
}

func TestBadMonth(t *testing.T) {
	if err := run(9, "September", t.TempDir()); err == nil {
		t.Error("no error for a month in no known form")
	}
}
