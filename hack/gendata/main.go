// Command gendata writes the sample tables of the finance agent: a month's ledger and the bank statement
// of the same month, with a handful of errors to find. The same seed and month give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 9, "seed of the data")
	month := flag.String("month", "2026-09", "month of the data, as 2026-09")
	out := flag.String("out", "config/samples/data", "folder to write ledger.csv and bank.csv to")
	flag.Parse()
	if err := run(*seed, *month, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gendata:", err)
		os.Exit(1)
	}
}

func run(seed uint64, month, out string) error {
	first, err := time.Parse("2006-01", month)
	if err != nil {
		return fmt.Errorf("month %q: want the form 2026-09", month)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, content := range files(generate(seed, first)) {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
