package main

import (
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// The kinds of movements.
const (
	kindReceipt      = "receipt"
	kindPayment      = "payment"
	kindPayroll      = "payroll"
	kindSettlement   = "settlement"
	kindExpense      = "expense"
	kindSubscription = "subscription"
	kindDebit        = "direct_debit"
	kindTax          = "tax"
	kindRent         = "rent"
)

func (g *generator) addMovements() {
	g.rent()
	g.receipts(115)
	g.payments(85)
	g.payroll()
	g.settlements()
	g.expenses(22)
	g.subscriptions()
	g.debits()
	g.taxes()
}

// add puts the movement into both tables under the same reference.
func (g *generator) add(e finance.Entry, lag int) {
	g.movements = append(g.movements, movement{entry: e, bankDay: g.booked(e.Date, lag), bankRef: e.Reference, bankText: e.Description})
}

func (g *generator) rent() {
	for i, place := range []string{"office", "warehouse"} {
		g.add(finance.Entry{
			Date: g.workday(1), Account: "6310 Rent", Counterparty: "Hafenblick Immobilien", Kind: kindRent,
			Reference: fmt.Sprintf("RENT-%d-%s", i+1, g.stamp()), Description: "Rent " + place, Amount: -g.amount(4200, 9800),
		}, 0)
	}
}

func (g *generator) receipts(n int) {
	for i := range n {
		number := 10210 + i*2 + g.below(2)
		m := finance.Entry{
			Date: g.anyDay(), Account: "1200 Receivables", Counterparty: pick(g.random, companyNames) + " " + pick(g.random, customerTrades),
			Reference: fmt.Sprintf("INV-%d", number), Description: "Customer invoice", Kind: kindReceipt, Amount: g.amount(180, 9400),
		}
		g.add(m, 1)
		if g.below(6) == 0 { // some customers type the number their own way
			g.movements[len(g.movements)-1].bankRef = fmt.Sprintf("inv %d", number)
		}
	}
}

func (g *generator) payments(n int) {
	for i := range n {
		g.add(finance.Entry{
			Date: g.anyDay(), Account: "3300 Payables", Counterparty: pick(g.random, companyNames) + " " + pick(g.random, supplierTrades),
			Reference: fmt.Sprintf("BILL-%d", 7040+i*3+g.below(3)), Description: "Supplier bill", Kind: kindPayment, Amount: -g.amount(90, 7200),
		}, 2)
	}
}

func (g *generator) payroll() {
	for i, first := range firstNames {
		g.add(finance.Entry{
			Date: g.workday(25), Account: "6020 Salaries", Counterparty: first + " " + lastNames[(i*7+3)%len(lastNames)],
			Reference: fmt.Sprintf("PAY-%s-%02d", g.stamp(), i+1), Description: "Net salary", Kind: kindPayroll, Amount: -g.amount(1850, 4600),
		}, 0)
	}
}

// settlements are what the card company pays out for each working day's sales, a day later and, on the
// bank's side, under no reference at all.
func (g *generator) settlements() {
	for d := g.month; d.Month() == g.month.Month(); d = d.AddDate(0, 0, 1) {
		if !weekend(d) {
			g.unreferenced(finance.Entry{
				Date: d, Account: "1360 Card clearing", Counterparty: "Kartenring Acquiring", Reference: "SET-" + d.Format("0102"),
				Description: "Card sales", Kind: kindSettlement, Amount: g.amount(640, 3900),
			}, "Card payout")
		}
	}
}

func (g *generator) expenses(n int) {
	for i := range n {
		g.add(finance.Entry{
			Date: g.anyDay(), Account: "6650 Travel", Counterparty: pick(g.random, firstNames) + " " + pick(g.random, lastNames),
			Reference: fmt.Sprintf("EXP-%03d", 301+i), Description: "Travel expenses", Kind: kindExpense, Amount: -g.amount(18, 620),
		}, 2)
	}
}

func (g *generator) subscriptions() {
	for i, name := range subscriptions {
		g.add(finance.Entry{
			Date: g.anyDay(), Account: "6815 Software", Counterparty: name, Reference: fmt.Sprintf("SUB-%s-%02d", g.stamp(), i+1),
			Description: "Monthly subscription", Kind: kindSubscription, Amount: -g.amount(9, 480),
		}, 1)
	}
}

func (g *generator) debits() {
	for _, name := range debits {
		g.unreferenced(finance.Entry{
			Date: g.anyDay(), Account: "6325 Utilities", Counterparty: name,
			Description: "Direct debit", Kind: kindDebit, Amount: -g.amount(45, 1300),
		}, "SEPA direct debit")
	}
}

func (g *generator) taxes() {
	for i, tax := range []string{"VAT advance", "Wage tax", "Social security", "Trade tax"} {
		g.add(finance.Entry{
			Date: g.workday(10 + 5*(i%2)), Account: "3800 Taxes", Counterparty: "Tax office", Reference: fmt.Sprintf("TAX-%s-%d", g.stamp(), i+1),
			Description: tax, Kind: kindTax, Amount: -g.amount(2100, 16800),
		}, 0)
	}
}

// unreferenced adds a movement that the bank shows without the ledger's reference.
func (g *generator) unreferenced(e finance.Entry, bankText string) {
	g.movements = append(g.movements, movement{entry: e, bankDay: g.booked(e.Date, 1), bankText: bankText})
}

func (g *generator) stamp() string { return g.month.Format("0106") }

// addErrors plants one error of each kind, after all is posted.
func (g *generator) addErrors() {
	repeat := g.entries[g.nth(kindPayment, 40)]
	repeat.Date = g.workday(repeat.Date.Day() + 1)

	swapped := g.nth(kindPayment, 12)
	g.entries[swapped].Amount = swapDigits(g.entries[swapped].Amount)

	lost := g.nth(kindReceipt, 71)
	g.entries = append(g.entries[:lost], g.entries[lost+1:]...)

	g.entries = append(g.entries, repeat, finance.Entry{
		Date: g.workday(28), Account: "3950 Accruals", Reference: "ADJ-" + g.stamp() + "-1",
		Description: "Manual correction of the warehouse accrual", Kind: finance.KindAdjustment, Amount: -48_250_00,
	})
	g.lines = append(g.lines, finance.Line{
		Date: g.lastWorkday(), Counterparty: "Kontorbank", Description: "Account maintenance fee", Amount: -38_50,
	})
}

func (g *generator) lastWorkday() time.Time { return g.workday(31) }

// swapDigits makes the typing error: the first two neighbouring digits that differ change places, those
// after the first digit, so that the amount keeps its length.
func swapDigits(c finance.Cents) finance.Cents {
	digits := []byte(fmt.Sprint(int64(c.Abs())))
	for i := 1; i+1 < len(digits); i++ {
		if digits[i] != digits[i+1] {
			digits[i], digits[i+1] = digits[i+1], digits[i]
			break
		}
	}
	var n finance.Cents
	for _, d := range digits {
		n = n*10 + finance.Cents(d-'0')
	}
	if c < 0 {
		return -n
	}
	return n
}
