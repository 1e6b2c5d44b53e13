package finance

import (
	"encoding/csv"
	"strings"
)

// The categories of a CSV report's rows.
const (
	CategoryDuplicate       = "duplicate"
	CategoryTransposed      = "transposed"
	CategoryDifference      = "difference"
	CategoryFee             = "bank_fee"
	CategoryMissingInLedger = "missing_in_ledger"
	CategoryMissingInBank   = "missing_in_bank"
	CategoryAdjustment      = "adjustment"
	CategoryUnusual         = "unusual_adjustment" // nobody decided about it
	CategoryApproved        = "approved_adjustment"
	CategoryRejected        = "rejected_adjustment"
	CategoryLeftOut         = "left_out"
	CategoryMatched         = "matched"
)

// ReportColumns are the columns of a CSV report. difference is what the ledger has more than the bank.
var ReportColumns = []string{"category", "entry_id", "line_id", "date", "counterparty", "reference", "ledger_amount", "bank_amount", "difference", "note"}

// CSV renders the report for programs: a row for every finding, then one for every matched pair, so that
// each row of both tables is in it once. The column difference adds up to the gap between the tables.
// The same report gives the same bytes.
func (r *Report) CSV() string {
	w := &csvReport{}
	for _, d := range r.Duplicates {
		w.entry(CategoryDuplicate, d.Entry, "repeats "+d.Of.ID)
	}
	for _, d := range r.Differences {
		category := CategoryDifference
		if d.Transposed {
			category = CategoryTransposed
		}
		w.pair(category, d.Entry, d.Line, "")
	}
	for _, l := range r.Fees {
		w.line(CategoryFee, l)
	}
	for _, l := range r.MissingInLedger {
		w.line(CategoryMissingInLedger, l)
	}
	for _, e := range r.MissingInBank {
		w.entry(CategoryMissingInBank, e, "")
	}
	for _, a := range r.Adjustments {
		w.adjustment(a)
	}
	for _, e := range r.LeftOut.Entries {
		w.add(CategoryLeftOut, e.ID, "", day(e.Date), e.Counterparty, e.Reference, e.Amount.String(), "", 0, e.Description)
	}
	for _, l := range r.LeftOut.Lines {
		w.add(CategoryLeftOut, "", l.ID, day(l.Date), l.Counterparty, l.Reference, "", l.Amount.String(), 0, l.Description)
	}
	for _, m := range r.Matches {
		w.pair(CategoryMatched, m.Entry, m.Line, m.How)
	}
	return w.String()
}

type csvReport struct{ rows [][]string }

func (w *csvReport) add(category, entryID, lineID, date, counterparty, reference, ledger, bank string, difference Cents, note string) {
	w.rows = append(w.rows, []string{
		category, text(entryID), text(lineID), date, text(counterparty), text(reference), ledger, bank, difference.String(), text(note),
	})
}

func (w *csvReport) entry(category string, e Entry, note string) {
	w.add(category, e.ID, "", day(e.Date), e.Counterparty, e.Reference, e.Amount.String(), "", e.Amount, note)
}

func (w *csvReport) adjustment(a Adjustment) {
	category, note := CategoryAdjustment, a.Entry.Description
	switch {
	case a.Unusual && a.Decision != nil:
		category, note = CategoryRejected, strings.TrimPrefix(note+"; "+a.Decision.String(), "; ")
		if a.Decision.Approved {
			category = CategoryApproved
		}
	case a.Unusual:
		category = CategoryUnusual
	}
	w.entry(category, a.Entry, note)
}

func (w *csvReport) line(category string, l Line) {
	w.add(category, "", l.ID, day(l.Date), l.Counterparty, l.Reference, "", l.Amount.String(), -l.Amount, l.Description)
}

func (w *csvReport) pair(category string, e Entry, l Line, note string) {
	w.add(category, e.ID, l.ID, day(e.Date), e.Counterparty, e.Reference, e.Amount.String(), l.Amount.String(), e.Amount-l.Amount, note)
}

// String writes the rows; a strings.Builder never fails, so neither does the writer on it.
func (w *csvReport) String() string {
	var b strings.Builder
	out := csv.NewWriter(&b)
	_ = out.Write(ReportColumns)
	_ = out.WriteAll(w.rows)
	return b.String()
}

// text defuses a text that a spreadsheet would run as a formula. Amounts don't pass through here.
func text(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
