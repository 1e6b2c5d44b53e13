// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package finance

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Accounts that postings go to where the tables name none.
const (
	DefaultFeeAccount = "6855 Bank charges"
	// DefaultSuspenseAccount takes money that moved and that nobody has assigned to an account yet.
	DefaultSuspenseAccount = "1370 Suspense"
)

// Why something is posted.
const (
	PostFee        = "bank fee"        // the bank took it, the ledger doesn't have it
	PostMissing    = "missing posting" // money moved, the ledger doesn't have it
	PostCorrection = "correction"      // the ledger's amount is not the bank's
	PostReversal   = "reversal"        // a posting that should not be: a duplicate, or an adjustment that was rejected
	PostRevision   = "revision"        // a revised report takes back what an earlier one posted
)

// The tables that a posting's row can be in.
const (
	TableLedger = "ledger"
	TableBank   = "bank"
)

// Posting is one entry that a reconciliation adds to the ledger. Its JSON is the body that the ledger's API takes.
type Posting struct {
	Kind string `json:"kind"`
	// Table and About name the row that the posting answers to: TableBank or TableLedger, and the row's id.
	Table        string    `json:"table"`
	About        string    `json:"about"`
	Period       string    `json:"period"` // the month, such as 2026-09
	Date         time.Time `json:"date"`   // the row's; midnight UTC
	Account      string    `json:"account"`
	Counterparty string    `json:"counterparty,omitempty"`
	Reference    string    `json:"reference,omitempty"`
	Description  string    `json:"description"`
	Amount       Cents     `json:"amountCents"` // in hundredths; what the ledger's sum changes by
}

// Plan is what is to be posted so that the ledger says what happened at the bank, in the order of date and row:
//
//   - bank fees and movements that are missing in the ledger, with the bank's amount;
//   - differences, by the amount that makes the ledger agree with the bank;
//   - duplicates and rejected adjustments, reversed.
//
// Postings that are missing at the bank are left alone, since the money may still move, and so are adjustments that
// nobody rejected. What remains of the gap afterwards is those two.
//
// posted is what revised reports on the same ledger posted already: only the difference to it is planned. Rows that the
// report leaves out keep what was posted for them.
func (r *Report) Plan(posted []Posting) []Posting {
	before, out := byRow(posted), r.leftOutRows()
	var plan []Posting
	for row, p := range byRow(r.wanted()) {
		p.Amount -= before[row].Amount
		delete(before, row)
		plan = append(plan, p)
	}
	for row, p := range before {
		if !out[row] {
			p.Kind, p.Period, p.Amount, p.Description = PostRevision, r.Period, -p.Amount, "Taken back: "+p.Description
			plan = append(plan, p)
		}
	}
	plan = slices.DeleteFunc(plan, func(p Posting) bool { return p.Amount == 0 })
	slices.SortFunc(plan, func(a, b Posting) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Table, b.Table), cmp.Compare(a.About, b.About))
	})
	return plan
}

// tableRow is a row's name: its id is unique in its own table only.
type tableRow struct{ table, id string }

// byRow adds up what was posted for each row.
func byRow(postings []Posting) map[tableRow]Posting {
	rows := make(map[tableRow]Posting)
	for _, p := range postings {
		row := tableRow{p.Table, p.About}
		p.Amount += rows[row].Amount
		rows[row] = p
	}
	return rows
}

func (r *Report) wanted() []Posting {
	var all []Posting
	for _, l := range r.Fees {
		all = append(all, r.ofLine(l, PostFee, DefaultFeeAccount, l.Description))
	}
	for _, l := range r.MissingInLedger {
		all = append(all, r.ofLine(l, PostMissing, DefaultSuspenseAccount, l.Description))
	}
	for _, d := range r.Differences {
		all = append(all, r.ofEntry(d.Entry, PostCorrection, fmt.Sprintf("Corrected to the bank's %s", d.Line.Amount), -d.Amount()))
	}
	for _, d := range r.Duplicates {
		all = append(all, r.ofEntry(d.Entry, PostReversal, "Repeats "+d.Of.ID, -d.Entry.Amount))
	}
	for _, a := range r.Adjustments {
		if a.rejected() {
			all = append(all, r.ofEntry(a.Entry, PostReversal, "Adjustment "+a.Decision.String(), -a.Entry.Amount))
		}
	}
	return all
}

func (r *Report) ofLine(l Line, kind, account, description string) Posting {
	return Posting{
		Kind: kind, Table: TableBank, About: l.ID, Period: r.Period, Date: l.Date, Account: account,
		Counterparty: l.Counterparty, Reference: l.Reference, Description: description, Amount: l.Amount,
	}
}

func (r *Report) ofEntry(e Entry, kind, description string, amount Cents) Posting {
	return Posting{
		Kind: kind, Table: TableLedger, About: e.ID, Period: r.Period, Date: e.Date, Account: e.Account,
		Counterparty: e.Counterparty, Reference: e.Reference, Description: description, Amount: amount,
	}
}

func (r *Report) leftOutRows() map[tableRow]bool {
	out := make(map[tableRow]bool)
	for _, e := range r.LeftOut.Entries {
		out[tableRow{TableLedger, e.ID}] = true
	}
	for _, l := range r.LeftOut.Lines {
		out[tableRow{TableBank, l.ID}] = true
	}
	return out
}
