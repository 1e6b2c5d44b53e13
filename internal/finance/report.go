package finance

import (
	"fmt"
	"strings"
)

// Totals are a table's control figures.
type Totals struct {
	Rows int
	Sum  Cents
}

// How a pair was found.
const (
	ByReference = "reference"       // same reference, same amount
	ByDate      = "date and amount" // same amount a few days apart, no reference to go by
)

// Match is a posting and the bank line it stands for.
type Match struct {
	Entry Entry
	Line  Line
	How   string
}

// Duplicate is a posting that repeats another one, which money moved for once.
type Duplicate struct {
	Entry Entry
	Of    Entry
}

// Difference is a posting and its bank line with different amounts.
type Difference struct {
	Entry      Entry
	Line       Line
	Transposed bool // two neighbouring digits changed places
}

// Amount is what the ledger has more than the bank.
func (d Difference) Amount() Cents { return d.Entry.Amount - d.Line.Amount }

// Adjustment is a manual posting without a movement of money.
type Adjustment struct {
	Entry Entry
	// Unusual says that the amount is at or above the limit for approval.
	Unusual bool
	// Decision is what was decided about an unusual one; nil while nothing was.
	Decision *Decision
}

// rejected reports whether somebody decided against the adjustment.
func (a Adjustment) rejected() bool { return a.Decision != nil && !a.Decision.Approved }

// Decision is what somebody said about an unusual adjustment.
type Decision struct {
	Approved bool
	By       string // the person's name, as they gave it
}

// String says the decision in words.
func (d Decision) String() string {
	if d.Approved {
		return "approved by " + d.By
	}
	return "rejected by " + d.By
}

// Report is the result of a reconciliation. Every ledger entry and every bank line is in exactly one of
// its lists; all lists are sorted by date and id.
type Report struct {
	Period          string // the month, such as 2026-09
	Ledger          Totals
	Bank            Totals
	Matches         []Match
	Duplicates      []Duplicate
	Differences     []Difference
	Fees            []Line  // the bank's own charges, not posted yet
	MissingInLedger []Line  // money moved, nothing posted
	MissingInBank   []Entry // posted, no money moved
	Adjustments     []Adjustment
	// LeftOut are the rows that were not looked at, on request. They are in no other list and in no sum.
	LeftOut LeftOut
	// Postings are what was posted to the ledger because of the findings.
	Postings []Posting
	// Revises names the tasks whose reports this one takes the place of; empty for a first report.
	Revises []string
}

// Gap is the sum of the ledger less that of the bank.
func (r *Report) Gap() Cents { return r.Ledger.Sum - r.Bank.Sum }

// Explained is the part of the gap that the findings add up to. It equals the gap, since every row is in
// one list: a report where it does not is wrong, and says so.
func (r *Report) Explained() Cents {
	var sum Cents
	for _, d := range r.Duplicates {
		sum += d.Entry.Amount
	}
	for _, d := range r.Differences {
		sum += d.Amount()
	}
	for _, e := range r.MissingInBank {
		sum += e.Amount
	}
	for _, a := range r.Adjustments {
		sum += a.Entry.Amount
	}
	for _, l := range r.Fees {
		sum -= l.Amount
	}
	for _, l := range r.MissingInLedger {
		sum -= l.Amount
	}
	return sum
}

// Findings is the number of rows somebody has to look at; adjustments count when they are unusual and
// nobody approved them.
func (r *Report) Findings() int {
	n := len(r.Duplicates) + len(r.Differences) + len(r.Fees) + len(r.MissingInLedger) + len(r.MissingInBank)
	for _, a := range r.Unusual() {
		if a.Decision == nil || !a.Decision.Approved {
			n++
		}
	}
	return n
}

// Unusual is the adjustments that need somebody's approval, those that have it included.
func (r *Report) Unusual() []Adjustment {
	var unusual []Adjustment
	for _, a := range r.Adjustments {
		if a.Unusual {
			unusual = append(unusual, a)
		}
	}
	return unusual
}

// Summary is the report in one line.
func (r *Report) Summary() string {
	explained := fmt.Sprintf("which explain the gap of %s", r.Gap())
	if open := r.Gap() - r.Explained(); open != 0 {
		explained = fmt.Sprintf("which leave %s of the gap of %s unexplained", open, r.Gap())
	}
	summary := fmt.Sprintf("%s: %d of %d ledger entries matched, %d findings, %s",
		r.Period, len(r.Matches), r.Ledger.Rows, r.Findings(), explained)
	for _, a := range r.Adjustments {
		if a.Decision != nil {
			summary += fmt.Sprintf("; adjustment %s %s", a.Entry.ID, a.Decision)
		}
	}
	switch n := len(r.Postings); n {
	case 0:
	case 1:
		summary += "; 1 posting made"
	default:
		summary += fmt.Sprintf("; %d postings made", n)
	}
	if len(r.Revises) > 0 {
		summary += "; " + r.revision()
	}
	return summary
}

// revision says which reports this one revises and how.
func (r *Report) revision() string {
	left := fmt.Sprintf("%d rows left out", r.LeftOut.rows())
	switch r.LeftOut.rows() {
	case 0:
		left = "no row left out"
	case 1:
		left = "1 row left out"
	}
	return fmt.Sprintf("revises the report of task %s: %s", strings.Join(r.Revises, ", "), left)
}
