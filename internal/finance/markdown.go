package finance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Markdown renders the report for people: the totals first, then every finding; matched rows are only
// counted. The same report gives the same bytes.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Reconciliation of %s\n\n", cell(r.Period))
	if len(r.Revises) > 0 {
		fmt.Fprintf(&b, "This document %s.\n\n", cell(r.revision()))
	}
	r.writeTotals(&b)
	section(&b, "Duplicate postings", duplicateHeader, r.Duplicates, duplicateCells)
	section(&b, "Different amounts", differenceHeader, r.Differences, differenceCells)
	section(&b, "Bank fees not posted", lineHeader, r.Fees, lineCells)
	section(&b, "Missing in the ledger", lineHeader, r.MissingInLedger, lineCells)
	section(&b, "Missing at the bank", entryHeader, r.MissingInBank, entryCells)
	standing := slices.DeleteFunc(slices.Clone(r.Adjustments), Adjustment.rejected)
	section(&b, "Adjustments", adjustmentHeader, standing, adjustmentCells)
	section(&b, "Rejected adjustments", adjustmentHeader, slices.DeleteFunc(slices.Clone(r.Adjustments), func(a Adjustment) bool {
		return !a.rejected()
	}), adjustmentCells)
	section(&b, "Posted to the ledger", postingHeader, r.Postings, postingCells)
	section(&b, "Postings left out", entryHeader, r.LeftOut.Entries, entryCells)
	section(&b, "Bank lines left out", lineHeader, r.LeftOut.Lines, lineCells)
	return b.String()
}

// The columns of the sections.
var (
	duplicateHeader  = []string{"Entry", "Repeats", "Date", "Counterparty", "Reference", "Amount"}
	differenceHeader = []string{"Entry", "Bank line", "Counterparty", "Reference", "Ledger", "Bank", "Difference", "Note"}
	lineHeader       = []string{"Bank line", "Date", "Counterparty", "Reference", "Description", "Amount"}
	entryHeader      = []string{"Entry", "Date", "Counterparty", "Reference", "Description", "Amount"}
	postingHeader    = []string{"Row", "Why", "Date", "Account", "Reference", "Description", "Amount"}
	adjustmentHeader = []string{"Entry", "Date", "Account", "Reference", "Description", "Amount", "Note"}
)

func duplicateCells(d Duplicate) []string {
	return []string{d.Entry.ID, d.Of.ID, day(d.Entry.Date), d.Entry.Counterparty, d.Entry.Reference, d.Entry.Amount.String()}
}

func differenceCells(d Difference) []string {
	note := ""
	if d.Transposed {
		note = "transposed digits"
	}
	return []string{
		d.Entry.ID, d.Line.ID, d.Entry.Counterparty, d.Entry.Reference,
		d.Entry.Amount.String(), d.Line.Amount.String(), d.Amount().String(), note,
	}
}

func lineCells(l Line) []string {
	return []string{l.ID, day(l.Date), l.Counterparty, l.Reference, l.Description, l.Amount.String()}
}

func entryCells(e Entry) []string {
	return []string{e.ID, day(e.Date), e.Counterparty, e.Reference, e.Description, e.Amount.String()}
}

func adjustmentCells(a Adjustment) []string {
	note := ""
	switch {
	case a.Unusual && a.Decision != nil:
		note = "unusual: " + a.Decision.String()
	case a.Unusual:
		note = "unusual: needs approval"
	}
	return []string{a.Entry.ID, day(a.Entry.Date), a.Entry.Account, a.Entry.Reference, a.Entry.Description, a.Entry.Amount.String(), note}
}

func postingCells(p Posting) []string {
	return []string{p.About, p.Kind, day(p.Date), p.Account, p.Reference, p.Description, p.Amount.String()}
}

func (r *Report) writeTotals(b *strings.Builder) {
	var matched Cents
	for _, m := range r.Matches {
		matched += m.Entry.Amount
	}
	writeTable(b, []string{"", "Rows", "Sum"}, [][]string{
		{"Ledger", fmt.Sprint(r.Ledger.Rows), r.Ledger.Sum.String()},
		{"Bank", fmt.Sprint(r.Bank.Rows), r.Bank.Sum.String()},
		{"Matched", fmt.Sprint(len(r.Matches)), matched.String()},
	})
	fmt.Fprintf(b, "\nLedger less bank: %s. The findings below explain %s of it", r.Gap(), r.Explained())
	if open := r.Gap() - r.Explained(); open != 0 {
		fmt.Fprintf(b, "; **%s is not explained**.\n", open)
	} else {
		b.WriteString(", so nothing is left open.\n")
	}
	if r.Findings() == 0 {
		b.WriteString("\nNothing was found that somebody has to look at.\n")
	}
}

func section[T any](b *strings.Builder, title string, header []string, rows []T, cells func(T) []string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s (%d)\n\n", title, len(rows))
	table := make([][]string, 0, len(rows))
	for _, row := range rows {
		table = append(table, cells(row))
	}
	writeTable(b, header, table)
}

func writeTable(b *strings.Builder, header []string, rows [][]string) {
	writeRow(b, header)
	b.WriteString("|" + strings.Repeat(" --- |", len(header)) + "\n")
	for _, row := range rows {
		writeRow(b, row)
	}
}

func writeRow(b *strings.Builder, cells []string) {
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + cell(c) + " |")
	}
	b.WriteString("\n")
}

// cellEscaper keeps a text in its cell: it can neither end the row nor become markup, a link or HTML.
var cellEscaper = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`,
	"<", `\<`, "\n", " ", "\r", " ",
)

func cell(s string) string { return cellEscaper.Replace(s) }

func day(t time.Time) string { return t.Format(time.DateOnly) }
