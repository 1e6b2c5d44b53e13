// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutants breaks one promise of docs/guarantees.md after the other, in a copy of the tree, and wants the test that
// is there for it to fail: a test that fails for nothing proves nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const usage = `Usage: mutants [-run regexp]

Each hack/mutants/*.patch breaks a promise; hack/mutants/list.go says which, and by which test that is noticed. The tests
have to pass without the patch and to fail with it. Run it in the root of the repository, after make localcluster build.

Flags:
`

// folder holds the patches, seen from the root of the repository.
const folder = "hack/mutants"

func main() {
	pick := flag.String("run", "", "only the mutants whose name matches this regular expression")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *pick)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pick string) error {
	begun := time.Now()
	chosen, err := choose(pick)
	if err != nil {
		return err
	}
	copied, err := newTree(ctx)
	if err != nil {
		return err
	}
	defer copied.remove()
	if err := baseline(ctx, copied, chosen); err != nil {
		return err
	}
	survived := 0
	for _, m := range chosen {
		v, err := m.try(ctx, copied)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Println(v)
		if !v.killed {
			survived++
			fmt.Fprint(os.Stderr, v.output)
		}
	}
	fmt.Printf("%d of %d killed in %.0f s\n", len(chosen)-survived, len(chosen), time.Since(begun).Seconds())
	if survived > 0 {
		return fmt.Errorf("%d survived: their promises are not tested", survived)
	}
	return nil
}

// choose returns the mutants to run. Every patch has to be in the list, and each of the list has to have a patch.
func choose(pick string) ([]mutant, error) {
	names, err := regexp.Compile(pick)
	if err != nil {
		return nil, err
	}
	patches, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(patches) == 0 {
		return nil, errors.New("no patches in " + folder + ": run it in the root of the repository")
	}
	for _, path := range patches {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.patch() == path }) {
			return nil, fmt.Errorf("%s is not in %s/list.go", path, folder)
		}
	}
	var chosen []mutant
	for _, m := range mutants {
		if !slices.Contains(patches, m.patch()) {
			return nil, fmt.Errorf("%s is missing", m.patch())
		}
		if names.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no mutant matches %q", pick)
	}
	return chosen, nil
}

// baseline runs the tests of all mutants on the tree as it is. Where one fails by itself, that it fails with a mutant means
// nothing.
func baseline(ctx context.Context, t *tree, chosen []mutant) error {
	begun := time.Now()
	byPackage := map[string][]string{}
	for _, m := range chosen {
		if pattern := exactly(m.test); !slices.Contains(byPackage[m.pkg], pattern) {
			byPackage[m.pkg] = append(byPackage[m.pkg], pattern)
		}
	}
	ran := 0
	for pkg, patterns := range byPackage {
		if err := t.build(ctx, pkg); err != nil {
			return err
		}
		r, err := t.test(ctx, pkg, strings.Join(patterns, "|"))
		switch {
		case err != nil:
			return err
		case !r.passed:
			return fmt.Errorf("without a mutant the tests of %s fail, so that nothing would be shown:\n%s", pkg, r.output)
		}
		for _, m := range chosen {
			if m.pkg == pkg && !slices.Contains(r.ran, readable(m.test)) {
				return fmt.Errorf("%s: %s has no test %q", m.name, pkg, m.test)
			}
		}
		ran += len(patterns)
	}
	fmt.Printf("passed  %d tests without a mutant  %.1f s\n", ran, time.Since(begun).Seconds())
	return nil
}

// verdict is what became of one mutant.
type verdict struct {
	mutant
	killed bool
	took   time.Duration
	// output is the test's, where it did not notice.
	output string
}

// String is the line of the table.
func (v verdict) String() string {
	if !v.killed {
		return fmt.Sprintf("SURVIVED  %-28s %s  not noticed by %s  %.1f s", v.name, v.promise, v.test, v.took.Seconds())
	}
	return fmt.Sprintf("killed  %-28s %s  by %s  %.1f s", v.name, v.promise, v.test, v.took.Seconds())
}

// try breaks the copy, runs the mutant's test, and mends the copy.
func (m mutant) try(ctx context.Context, t *tree) (v verdict, err error) {
	begun := time.Now()
	if err := t.apply(ctx, m.patch()); err != nil {
		return v, fmt.Errorf("%w\n%s no longer fits the code: make the change anew and write it with git diff", err, m.patch())
	}
	defer func() { err = errors.Join(err, t.revert(ctx, m.patch())) }()
	if err := t.build(ctx, m.pkg); err != nil {
		return v, fmt.Errorf("%s: what does not compile proves nothing: %w", m.patch(), err)
	}
	r, err := t.test(ctx, m.pkg, exactly(m.test))
	if err != nil {
		return v, err
	}
	v = verdict{mutant: m, killed: slices.Contains(r.failed, readable(m.test)), took: time.Since(begun), output: r.output}
	switch {
	case v.killed && !strings.Contains(r.output, m.says):
		return v, fmt.Errorf("%s fails for another reason than %q:\n%s", m.test, m.says, r.output)
	case !v.killed && !r.passed:
		return v, fmt.Errorf("not %s fails but something else:\n%s", m.test, r.output)
	}
	return v, nil
}

// exactly is the -run pattern of one test or subtest.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(readable(part)) + "$"
	}
	return strings.Join(parts, "/")
}

// readable is the name of a test as go test prints it.
func readable(test string) string { return strings.ReplaceAll(test, " ", "_") }
