// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs_test holds the documents against the tree.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cited is a test or a fuzz target as the table of threats names it: `TestName` (`package`).
var cited = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)` \\(`([a-z0-9/]+)`\\)")

// Each threat names a test, and each test that is named exists.
func TestThreatsAreTried(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| threat | what stops it | the test that tries it |\n|---|---|---|\n")
	if !found {
		t.Fatal("there is no table of threats")
	}
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "|") {
			break
		}
		tests := cited.FindAllStringSubmatch(row, -1)
		if len(tests) == 0 {
			t.Errorf("no test is named: %s", row)
		}
		for _, c := range tests {
			if !declares(t, c[2], c[1]) {
				t.Errorf("%s has no %s", c[2], c[1])
			}
		}
	}
}

func declares(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") || strings.Contains(string(text), "\nfunc "+test+"(f *testing.F)") {
			return true
		}
	}
	return false
}
