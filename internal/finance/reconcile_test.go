package finance

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// posted and booked make rows of September 2026 from short texts.
func posted(id string, day int, counterparty, reference string, amount Cents) Entry {
	return Entry{ID: id, Date: sept(day), Account: "3300", Counterparty: counterparty, Reference: reference, Kind: "payment", Amount: amount}
}

func booked(id string, day int, counterparty, reference string, amount Cents) Line {
	return Line{ID: id, Date: sept(day), Counterparty: counterparty, Reference: reference, Amount: amount}
}

func sept(day int) time.Time { return time.Date(2026, 9, day, 0, 0, 0, 0, time.UTC) }

// kinds writes where each row went: "=L1/B1" matched, "2L2" duplicate, "~L3/B3" difference, "x" transposed,
// "f" fee, "-L" missing in the ledger, "-B" missing at the bank, "a" adjustment, "A" unusual.
func kinds(r *Report) string {
	var out []string
	for _, m := range r.Matches {
		out = append(out, "="+m.Entry.ID+"/"+m.Line.ID)
	}
	for _, d := range r.Duplicates {
		out = append(out, "2"+d.Entry.ID+"/"+d.Of.ID)
	}
	for _, d := range r.Differences {
		sign := "~"
		if d.Transposed {
			sign = "x"
		}
		out = append(out, sign+d.Entry.ID+"/"+d.Line.ID)
	}
	for _, l := range r.Fees {
		out = append(out, "f"+l.ID)
	}
	for _, l := range r.MissingInLedger {
		out = append(out, "-L"+l.ID)
	}
	for _, e := range r.MissingInBank {
		out = append(out, "-B"+e.ID)
	}
	for _, a := range r.Adjustments {
		sign := "a"
		if a.Unusual {
			sign = "A"
		}
		out = append(out, sign+a.Entry.ID)
	}
	return strings.Join(out, " ")
}

func TestReconcile(t *testing.T) {
	adjustment := func(id string, amount Cents) Entry {
		return Entry{ID: id, Date: sept(28), Account: "3950", Kind: KindAdjustment, Amount: amount}
	}
	fee := func(id, text string, amount Cents) Line {
		return Line{ID: id, Date: sept(30), Counterparty: "Bank", Description: text, Amount: amount}
	}
	for name, test := range map[string]struct {
		entries []Entry
		lines   []Line
		want    string
	}{
		"nothing": {},
		"same reference and amount, far apart": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 30, "E.", "inv 1", 100)}, "=1/1"},
		"the nearest of two lines with one reference": {
			[]Entry{posted("1", 10, "Elbtal", "INV-1", 100)},
			[]Line{booked("1", 1, "Elbtal", "INV-1", 100), booked("2", 11, "Elbtal", "INV-1", 100)}, "=1/2 -L1"},
		"no reference, in the window": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 4, "Other", "", 100)}, "=1/1"},
		"no reference, past the window": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 5, "Elbtal", "", 100)}, "-L1 -B1"},
		"references that contradict": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 1, "Granat", "INV-2", 100)}, "-L1 -B1"},
		"references that contradict, one counterparty": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 1, "ELBTAL", "INV-2", 100)}, "=1/1"},
		"the same counterparty before a nearer day": {
			[]Entry{posted("1", 1, "Elbtal", "", 100)},
			[]Line{booked("1", 1, "Granat", "", 100), booked("2", 3, "Elbtal", "", 100)}, "=1/2 -L1"},
		"posted twice, paid once": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100), posted("2", 3, "Elbtal", "INV-1", 100)},
			[]Line{booked("1", 1, "Elbtal", "INV-1", 100)}, "=1/1 22/1"},
		"posted twice, paid twice": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100), posted("2", 3, "Elbtal", "INV-1", 100)},
			[]Line{booked("1", 1, "Elbtal", "INV-1", 100), booked("2", 3, "Elbtal", "INV-1", 100)}, "=1/1 =2/2"},
		"posted twice, never paid": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100), posted("2", 3, "Elbtal", "INV-1", 100)}, nil, "22/1 -B1"},
		"a standing order is no duplicate": {
			[]Entry{posted("1", 1, "Elbtal", "RENT", 100), posted("2", 15, "Elbtal", "RENT", 100)},
			[]Line{booked("1", 1, "Elbtal", "RENT", 100)}, "=1/1 -B2"},
		"a duplicate takes nobody's line": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100), posted("2", 1, "Elbtal", "INV-1", 100), posted("3", 1, "Granat", "INV-2", 100)},
			[]Line{booked("1", 1, "Elbtal", "INV-1", 100), booked("2", 2, "Other", "", 100)}, "=1/1 =3/2 22/1"},
		"transposed digits": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 142350)}, []Line{booked("1", 2, "Elbtal", "INV-1", 124350)}, "x1/1"},
		"transposed digits without a reference": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 142350)}, []Line{booked("1", 2, "Elbtal", "", 124350)}, "x1/1"},
		"another amount under the same reference": {
			[]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 2, "Elbtal", "INV-1", 90)}, "~1/1"},
		"another amount without a reference": {
			[]Entry{posted("1", 1, "Elbtal", "", 100)}, []Line{booked("1", 1, "Elbtal", "", 90)}, "-L1 -B1"},
		"fees": {nil, []Line{fee("1", "Account maintenance fee", -385), fee("2", "Card Charges", -5), fee("3", "Coffee", -5), fee("4", "fee refund", 5)},
			"f1 f2 -L3 -L4"},
		"a fee that was posted": {
			[]Entry{posted("1", 30, "Bank", "", -385)}, []Line{fee("1", "Account maintenance fee", -385)}, "=1/1"},
		"adjustments need no bank line and take none": {
			[]Entry{adjustment("1", -10_000_00), adjustment("2", 9_999_99), adjustment("3", 12_000_00)},
			[]Line{booked("1", 28, "Elbtal", "", 9_999_99)}, "-L1 A1 a2 A3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reconcile(test.entries, test.lines, Options{})
			if got := kinds(r); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if r.Gap() != r.Explained() {
				t.Errorf("gap %v, explained %v", r.Gap(), r.Explained())
			}
		})
	}
}

func TestOptions(t *testing.T) {
	entries := []Entry{posted("1", 1, "Elbtal", "", 100), {ID: "2", Date: sept(1), Kind: KindAdjustment, Amount: 500}}
	lines := []Line{booked("1", 8, "Elbtal", "", 100)}
	r := Reconcile(entries, lines, Options{Period: "Q3", Window: 7, AdjustmentLimit: 500})
	if got := kinds(r); got != "=1/1 A2" || r.Period != "Q3" {
		t.Errorf("got %q of %s", got, r.Period)
	}
	if r = Reconcile(entries, lines, Options{}); r.Period != "2026-09" {
		t.Errorf("period is %q, want the month of the entries", r.Period)
	}
}

// Every row is in exactly one list and the control sums hold, whatever the tables; and the order in
// which rows come changes nothing.
func TestEveryRowOnceInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for round := range 300 {
		entries, lines := randomTables(rng)
		r := Reconcile(entries, lines, Options{})
		n := len(r.Matches) + len(r.Differences)
		if got := n + len(r.Duplicates) + len(r.MissingInBank) + len(r.Adjustments); got != len(entries) {
			t.Fatalf("round %d: %d of %d entries in the report", round, got, len(entries))
		}
		if got := n + len(r.Fees) + len(r.MissingInLedger); got != len(lines) {
			t.Fatalf("round %d: %d of %d lines in the report", round, got, len(lines))
		}
		if r.Gap() != r.Explained() {
			t.Fatalf("round %d: gap %v, explained %v", round, r.Gap(), r.Explained())
		}
		shuffled := slices.Clone(entries)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := Reconcile(shuffled, lines, Options{}); again.CSV() != r.CSV() {
			t.Fatalf("round %d: another order of rows gives another report", round)
		}
	}
}

// randomTables draws from few values, so that rows collide in every way.
func randomTables(rng *rand.Rand) ([]Entry, []Line) {
	references, parties := []string{"", "INV-1", "INV-2"}, []string{"Elbtal", "Granat", "Bank fee"}
	amounts := []Cents{100, 120, 102, -385, -358}
	var entries []Entry
	for i := range rng.IntN(20) {
		e := posted(string(rune('a'+i)), 1+rng.IntN(6), parties[rng.IntN(3)], references[rng.IntN(3)], amounts[rng.IntN(5)])
		if rng.IntN(10) == 0 {
			e.Kind = KindAdjustment
		}
		entries = append(entries, e)
	}
	var lines []Line
	for i := range rng.IntN(20) {
		lines = append(lines, booked(string(rune('a'+i)), 1+rng.IntN(6), parties[rng.IntN(3)], references[rng.IntN(3)], amounts[rng.IntN(5)]))
	}
	return entries, lines
}
