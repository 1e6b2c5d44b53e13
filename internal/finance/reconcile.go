package finance

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Defaults for [Options].
const (
	DefaultWindow          = 3 // days
	DefaultAdjustmentLimit = Cents(10_000_00)
)

// Options are the policy of a reconciliation. The zero value means the defaults.
type Options struct {
	// Period names the month in the report, such as 2026-09; the month of most entries where empty.
	Period string
	// Window is how many days a posting and its bank line may lie apart where no reference ties them.
	Window int
	// AdjustmentLimit is the amount from which on a manual posting is unusual, whatever its sign.
	AdjustmentLimit Cents
}

// Reconcile explains every row of both tables. It finds, in this order, so that a strong sign is never
// spent on a weaker one:
//
//  1. adjustments, which have no bank line;
//  2. pairs with the same reference and amount;
//  3. postings that repeat another one within the window;
//  4. pairs with the same amount within the window, where the references don't contradict;
//  5. pairs with the same reference, or transposed digits and the same counterparty within the window,
//     and different amounts;
//  6. bank fees; what is left is missing on the other side.
func Reconcile(entries []Entry, lines []Line, o Options) *Report {
	o.Window = cmp.Or(o.Window, DefaultWindow)
	o.AdjustmentLimit = cmp.Or(o.AdjustmentLimit, DefaultAdjustmentLimit)
	m := newMatcher(entries, lines, o)
	m.takeAdjustments()
	m.pairByReference()
	m.takeDuplicates()
	m.pairByDate()
	m.pairByDifferentAmount()
	m.takeRest()
	return m.finish(entries, lines)
}

// matcher holds the rows that no pass has explained yet. Rows are looked at in the order of date and id.
type matcher struct {
	o       Options
	entries []posting
	lines   []booking
	report  *Report
}

// posting and booking are rows with their texts in comparable form.
type posting struct {
	Entry
	reference, counterparty string
}

type booking struct {
	Line
	reference, counterparty string
}

func newMatcher(entries []Entry, lines []Line, o Options) *matcher {
	m := &matcher{o: o, report: &Report{Period: o.Period}}
	for _, e := range entries {
		m.entries = append(m.entries, posting{e, normal(e.Reference), normal(e.Counterparty)})
	}
	for _, l := range lines {
		m.lines = append(m.lines, booking{l, normal(l.Reference), normal(l.Counterparty)})
	}
	slices.SortFunc(m.entries, func(a, b posting) int { return byDateAndID(a.Entry, b.Entry) })
	slices.SortFunc(m.lines, func(a, b booking) int { return lineByDateAndID(a.Line, b.Line) })
	return m
}

func byDateAndID(a, b Entry) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.ID, b.ID)) }

func lineByDateAndID(a, b Line) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.ID, b.ID)) }

// take removes the entries that explain says yes to.
func (m *matcher) take(explain func(e posting) bool) {
	m.entries = slices.DeleteFunc(m.entries, explain)
}

func (m *matcher) takeAdjustments() {
	m.take(func(e posting) bool {
		if e.Kind != KindAdjustment {
			return false
		}
		unusual := e.Amount.Abs() >= m.o.AdjustmentLimit
		m.report.Adjustments = append(m.report.Adjustments, Adjustment{Entry: e.Entry, Unusual: unusual})
		return true
	})
}

// takeDuplicates finds unexplained postings that equal another one. The other one may be matched or not:
// where the bank has neither, the first of the two is what is missing there.
func (m *matcher) takeDuplicates() {
	type likeness struct {
		account, counterparty, reference, description string
		amount                                        Cents
	}
	like := func(e Entry) likeness {
		l := likeness{e.Account, normal(e.Counterparty), normal(e.Reference), "", e.Amount}
		if l.reference == "" {
			l.description = normal(e.Description) + e.Date.Format(time.DateOnly)
		}
		return l
	}
	originals := make(map[likeness][]Entry)
	for _, match := range m.report.Matches {
		originals[like(match.Entry)] = append(originals[like(match.Entry)], match.Entry)
	}
	m.take(func(e posting) bool {
		key := like(e.Entry)
		for _, of := range originals[key] {
			if daysApart(e.Date, of.Date) <= m.o.Window {
				m.report.Duplicates = append(m.report.Duplicates, Duplicate{Entry: e.Entry, Of: of})
				return true
			}
		}
		originals[key] = append(originals[key], e.Entry)
		return false
	})
}

func (m *matcher) takeRest() {
	for _, l := range m.lines {
		if isFee(l.Line) {
			m.report.Fees = append(m.report.Fees, l.Line)
		} else {
			m.report.MissingInLedger = append(m.report.MissingInLedger, l.Line)
		}
	}
	for _, e := range m.entries {
		m.report.MissingInBank = append(m.report.MissingInBank, e.Entry)
	}
}

func (m *matcher) finish(entries []Entry, lines []Line) *Report {
	r := m.report
	slices.SortFunc(r.Matches, func(a, b Match) int { return byDateAndID(a.Entry, b.Entry) })
	slices.SortFunc(r.Differences, func(a, b Difference) int { return byDateAndID(a.Entry, b.Entry) })
	months := make(map[string]int)
	for _, e := range entries {
		r.Ledger.Rows++
		r.Ledger.Sum += e.Amount
		months[e.Date.Format("2006-01")]++
	}
	for _, l := range lines {
		r.Bank.Rows++
		r.Bank.Sum += l.Amount
	}
	if r.Period == "" {
		r.Period = mostFrequent(months)
	}
	return r
}

// mostFrequent prefers the earlier month where two have as many entries.
func mostFrequent(months map[string]int) string {
	best := ""
	for month, n := range months {
		if best == "" || n > months[best] || n == months[best] && month < best {
			best = month
		}
	}
	return best
}

// normal makes spellings comparable: "INV-10234" on the invoice is "Inv 10234" at the bank.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, s)
}

func daysApart(a, b time.Time) int {
	days := int(a.Sub(b) / (24 * time.Hour))
	return max(days, -days)
}

// isFee recognises the bank's own charges by what banks call them. Only money taken can be a fee.
func isFee(l Line) bool {
	if l.Amount >= 0 {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(l.Counterparty+" "+l.Description), func(r rune) bool {
		return !unicode.IsLetter(r)
	})
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"fee", "fees", "charge", "charges", "commission"}, w)
	})
}
