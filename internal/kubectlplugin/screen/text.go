// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package screen makes the texts that people read: tables, trees and lines of progress. It does no I/O, and lets nothing
// through that a terminal would act on, whoever wrote it.
package screen

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// Line makes one line of a text from outside: no control characters, at most limit columns wide.
func Line(s string, limit int) string { return Cut(remote.Clean(s), limit) }

// Cut shortens a line to at most limit columns, and shows by an ellipsis that it did.
func Cut(s string, limit int) string {
	if Columns(s) <= limit {
		return s
	}
	var out strings.Builder
	used := 0
	for _, r := range s {
		if used+columns(r) > limit-1 {
			break
		}
		used += columns(r)
		out.WriteRune(r)
	}
	if limit < 1 {
		return ""
	}
	return strings.TrimRight(out.String(), " ") + "…"
}

// Columns is how wide a terminal shows a line.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Table aligns rows of cells by two spaces. Cells are made one line each.
func Table(rows [][]string) string {
	var widths []int
	clean := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			cell = remote.Clean(cell)
			clean[i] = append(clean[i], cell)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], Columns(cell))
		}
	}
	var out strings.Builder
	for _, row := range clean {
		var line strings.Builder
		for j, cell := range row {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[j]-Columns(cell)+2))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// Size is a number of bytes for people; empty for none.
func Size(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Count is a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
