package finance

import (
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
)

// leaveOutTables have a pair, a posted fee with its line, a fee and other money that are not posted, and
// two adjustments.
func leaveOutTables() ([]Entry, []Line) {
	charge := func(id string, day int, amount Cents) Line {
		l := booked(id, day, "Bank", "", amount)
		l.Description = "Card charges"
		return l
	}
	adjust := func(id, reference string, amount Cents) Entry {
		e := posted(id, 28, "", reference, amount)
		e.Kind = KindAdjustment
		return e
	}
	return []Entry{posted("1", 1, "Elbtal", "INV-1", 100), posted("2", 2, "Bank", "", -385), adjust("3", "ADJ-3", -20_000_00), adjust("4", "ADJ-4", 5)},
		[]Line{booked("1", 2, "Elbtal", "Inv 1", 100), charge("2", 2, -385), charge("5", 9, -7), booked("6", 9, "Granat", "", 50)}
}

func TestReconcileWithout(t *testing.T) {
	for name, test := range map[string]struct {
		names   []string
		want    string
		entries []string
		lines   []string
		wantErr error
	}{
		"nothing":               {nil, "=1/1 =2/2 f5 -L6 A3 a4", nil, nil, nil},
		"an id":                 {[]string{"3"}, "=1/1 =2/2 f5 -L6 a4", []string{"3"}, nil, nil},
		"a reference":           {[]string{"adj 3"}, "=1/1 =2/2 f5 -L6 a4", []string{"3"}, nil, nil},
		"a pair, by reference":  {[]string{"INV-1"}, "=2/2 f5 -L6 A3 a4", []string{"1"}, []string{"1"}, nil},
		"a line, by id":         {[]string{"5"}, "=1/1 =2/2 -L6 A3 a4", nil, []string{"5"}, nil},
		"the adjustments":       {[]string{GroupAdjustments}, "=1/1 =2/2 f5 -L6", []string{"3", "4"}, nil, nil},
		"fees, unposted only":   {[]string{"Bank fees"}, "=1/1 =2/2 -L6 A3 a4", nil, []string{"5"}, nil},
		"several, some twice":   {[]string{"adjustment", "bank fee", "ADJ-4"}, "=1/1 =2/2 -L6", []string{"3", "4"}, []string{"5"}, nil},
		"a row that is not":     {[]string{"ADJ-5"}, "", nil, nil, ErrNoSuchRow},
		"no name for any of it": {[]string{"-"}, "", nil, nil, ErrNoSuchRow},
	} {
		t.Run(name, func(t *testing.T) {
			entries, lines := leaveOutTables()
			r, err := ReconcileWithout(test.names, entries, lines, Options{})
			if !errors.Is(err, test.wantErr) {
				t.Fatalf("error %v, want %v", err, test.wantErr)
			}
			if err != nil {
				return
			}
			var gotEntries, gotLines []string
			for _, e := range r.LeftOut.Entries {
				gotEntries = append(gotEntries, e.ID)
			}
			for _, l := range r.LeftOut.Lines {
				gotLines = append(gotLines, l.ID)
			}
			if got := kinds(r); got != test.want || !slices.Equal(gotEntries, test.entries) || !slices.Equal(gotLines, test.lines) {
				t.Errorf("got %q without %v and %v, want %q", got, gotEntries, gotLines, test.want)
			}
			if r.Gap() != r.Explained() || r.Ledger.Rows != len(entries)-len(test.entries) || r.Bank.Rows != len(lines)-len(test.lines) {
				t.Errorf("gap %v, explained %v, totals %+v and %+v", r.Gap(), r.Explained(), r.Ledger, r.Bank)
			}
		})
	}
}

// The month is that of all rows, also when only those of another one are left.
func TestReconcileWithoutKeepsThePeriod(t *testing.T) {
	late := posted("2", 1, "Granat", "INV-2", 100)
	late.Date = late.Date.AddDate(0, 1, 0)
	r, err := ReconcileWithout([]string{"INV-1"}, []Entry{posted("1", 1, "Elbtal", "INV-1", 100), late}, nil, Options{})
	if err != nil || r.Period != "2026-09" {
		t.Errorf("period %s, %v", r.Period, err)
	}
}

func TestRevisedReport(t *testing.T) {
	entries, lines := leaveOutTables()
	r, err := ReconcileWithout([]string{"INV-1"}, entries, lines, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Revises = []string{"t-5a", "t-6"}
	md := r.Markdown()
	for _, want := range []string{"This document revises the report of task t-5a, t-6: 2 rows left out.", "## Postings left out (1)", "## Bank lines left out (1)"} {
		if !strings.Contains(md, want) {
			t.Errorf("Markdown lacks %q:\n%s", want, md)
		}
	}
	if got := r.Summary(); !strings.HasSuffix(got, "; revises the report of task t-5a, t-6: 2 rows left out") {
		t.Errorf("summary %q", got)
	}
	if sum := differences(t, r); sum != r.Gap() {
		t.Errorf("differences add up to %v, the gap is %v", sum, r.Gap())
	}
	if got := strings.Count(r.CSV(), "\n"+CategoryLeftOut+","); got != 2 {
		t.Errorf("%d rows left out in\n%s", got, r.CSV())
	}
}

func differences(t *testing.T, r *Report) Cents {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(r.CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var sum Cents
	for _, record := range records[1:] {
		difference, err := ParseCents(record[8])
		if err != nil {
			t.Fatal(err)
		}
		sum += difference
	}
	return sum
}

func TestDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		decision *Decision
		findings int
		category string
		section  string
		note     string
	}{
		"none":     {nil, 3, CategoryUnusual, "## Adjustments (2)", "unusual: needs approval"},
		"approved": {&Decision{Approved: true, By: "J. Doe"}, 2, CategoryApproved, "## Adjustments (2)", "unusual: approved by J. Doe"},
		"rejected": {&Decision{By: "a|b"}, 3, CategoryRejected, "## Rejected adjustments (1)", `unusual: rejected by a\|b`},
	} {
		t.Run(name, func(t *testing.T) {
			entries, lines := leaveOutTables()
			r := Reconcile(entries, lines, Options{})
			r.Adjustments[0].Decision = test.decision
			if r.Findings() != test.findings || !strings.Contains(r.CSV(), "\n"+test.category+",3,") {
				t.Errorf("%d findings, %s", r.Findings(), r.CSV())
			}
			if md := r.Markdown(); !strings.Contains(md, test.section) || !strings.Contains(md, test.note) {
				t.Errorf("Markdown lacks %q or %q:\n%s", test.section, test.note, md)
			}
			if said := strings.Contains(r.Summary(), "; adjustment 3 "); said != (test.decision != nil) {
				t.Errorf("summary %q", r.Summary())
			}
			if r.Gap() != r.Explained() || differences(t, r) != r.Gap() {
				t.Error("a decision changes the sums")
			}
		})
	}
}
