// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package finance

import (
	"fmt"
	"strings"
	"testing"
)

// plan writes postings as "row amount kind".
func plan(postings []Posting) string {
	var out []string
	for _, p := range postings {
		out = append(out, fmt.Sprintf("%s/%s %s %s", p.Table, p.About, p.Amount, p.Kind))
	}
	return strings.Join(out, "; ")
}

func fee(id string, day int, amount Cents) Line {
	line := booked(id, day, "Kontorbank", "", amount)
	line.Description = "Account maintenance fee"
	return line
}

func adjusted(id string, amount Cents, decision *Decision) Adjustment {
	e := posted(id, 28, "", "ADJ", amount)
	e.Kind = KindAdjustment
	return Adjustment{Entry: e, Unusual: true, Decision: decision}
}

func TestPlan(t *testing.T) {
	original, copied := posted("L1", 1, "Elbtal", "INV-1", -100), posted("L2", 2, "Elbtal", "INV-1", -100)
	for name, test := range map[string]struct {
		report Report
		posted []Posting
		want   string
	}{
		"nothing":             {Report{}, nil, ""},
		"fee":                 {Report{Fees: []Line{fee("B1", 30, -5)}}, nil, "bank/B1 -0.05 bank fee"},
		"missing in ledger":   {Report{MissingInLedger: []Line{booked("B1", 3, "Alder", "", 700)}}, nil, "bank/B1 7.00 missing posting"},
		"missing at the bank": {Report{MissingInBank: []Entry{original}}, nil, ""},
		"too much in ledger": {Report{Differences: []Difference{{Entry: posted("L1", 1, "", "", -450), Line: booked("B1", 1, "", "", -405)}}}, nil,
			"ledger/L1 0.45 correction"},
		"duplicate":           {Report{Duplicates: []Duplicate{{Entry: copied, Of: original}}}, nil, "ledger/L2 1.00 reversal"},
		"rejected adjustment": {Report{Adjustments: []Adjustment{adjusted("L3", -900, &Decision{By: "Jane"})}}, nil, "ledger/L3 9.00 reversal"},
		"approved adjustment": {Report{Adjustments: []Adjustment{adjusted("L3", -900, &Decision{Approved: true})}}, nil, ""},
		"open adjustment":     {Report{Adjustments: []Adjustment{adjusted("L3", -900, nil)}}, nil, ""},
		"in order of the dates": {Report{Fees: []Line{fee("B2", 30, -5), fee("B1", 30, -6)}, MissingInLedger: []Line{booked("B9", 3, "Alder", "", 700)}}, nil,
			"bank/B9 7.00 missing posting; bank/B1 -0.06 bank fee; bank/B2 -0.05 bank fee"},
		"posted before":         {Report{Fees: []Line{fee("B1", 30, -5)}}, []Posting{{Table: TableBank, About: "B1", Amount: -5}}, ""},
		"posted in two reports": {Report{Fees: []Line{fee("B1", 30, -5)}}, []Posting{{Table: TableBank, About: "B1", Amount: -3}, {Table: TableBank, About: "B1", Amount: -1}}, "bank/B1 -0.01 bank fee"},
		"taken back":            {Report{}, []Posting{{Table: TableBank, About: "B1", Amount: -5}}, "bank/B1 0.05 revision"},
		"taken back before":     {Report{}, []Posting{{Table: TableBank, About: "B1", Amount: -5}, {Table: TableBank, About: "B1", Amount: 5}}, ""},
		"left out":              {Report{LeftOut: LeftOut{Lines: []Line{fee("B1", 30, -5)}}}, []Posting{{Table: TableBank, About: "B1", Amount: -5}}, ""},
		"other table's row left out": {Report{LeftOut: LeftOut{Entries: []Entry{posted("1", 1, "", "", 1)}}}, []Posting{{Table: TableBank, About: "1", Amount: -5}},
			"bank/1 0.05 revision"},
	} {
		if got := plan(test.report.Plan(test.posted)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// After the postings only what waits for the bank and what stands as an adjustment keeps the two apart.
func TestPlanClosesTheGap(t *testing.T) {
	for name, decision := range map[string]*Decision{"approved": {Approved: true}, "rejected": {}, "open": nil} {
		r := sample(t)
		var left Cents
		for i := range r.Adjustments {
			r.Adjustments[i].Decision = decision
			if !r.Adjustments[i].rejected() {
				left += r.Adjustments[i].Entry.Amount
			}
		}
		for _, e := range r.MissingInBank {
			left += e.Amount
		}
		gap := r.Gap()
		for _, p := range r.Plan(nil) {
			gap += p.Amount
		}
		if gap != left {
			t.Errorf("%s: %v left of the gap, want %v", name, gap, left)
		}
		if again := r.Plan(r.Plan(nil)); len(again) != 0 {
			t.Errorf("%s: planned again: %s", name, plan(again))
		}
	}
}
