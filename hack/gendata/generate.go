package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// movement is money that really moved: a posting and a bank line, as long as no error got in between.
type movement struct {
	entry    finance.Entry
	bankDay  time.Time
	bankRef  string
	bankText string
}

type generator struct {
	*random
	month     time.Time // its first day
	used      map[finance.Cents]bool
	movements []movement
	entries   []finance.Entry
	lines     []finance.Line
}

// generate makes the tables of one month, with one error of each kind that the agent has to find.
func generate(seed uint64, month time.Time) ([]finance.Entry, []finance.Line) {
	g := &generator{random: &random{state: seed}, month: month, used: make(map[finance.Cents]bool)}
	g.addMovements()
	g.post()
	g.addErrors()
	slices.SortStableFunc(g.entries, func(a, b finance.Entry) int { return a.Date.Compare(b.Date) })
	slices.SortStableFunc(g.lines, func(a, b finance.Line) int { return a.Date.Compare(b.Date) })
	for i := range g.entries {
		g.entries[i].ID = fmt.Sprintf("L-%04d", i+1)
	}
	for i := range g.lines {
		g.lines[i].ID = fmt.Sprintf("B-%04d", i+1)
	}
	return g.entries, g.lines
}

// post writes every movement to both tables.
func (g *generator) post() {
	for _, m := range g.movements {
		g.entries = append(g.entries, m.entry)
		g.lines = append(g.lines, finance.Line{
			Date: m.bankDay, Counterparty: m.entry.Counterparty, Reference: m.bankRef,
			Description: m.bankText, Amount: m.entry.Amount,
		})
	}
}

// amount returns one that no other movement has, so that no pair is found by chance.
func (g *generator) amount(low, high int) finance.Cents {
	for {
		if a := g.between(low, high); !g.used[a] {
			g.used[a] = true
			return a
		}
	}
}

// workday moves a day of the month that falls on a weekend to the Monday after, or, at the month's end,
// to the Friday before.
func (g *generator) workday(day int) time.Time {
	last := g.month.AddDate(0, 1, -1)
	date := g.month.AddDate(0, 0, min(day, last.Day())-1)
	for weekend(date) {
		date = date.AddDate(0, 0, 1)
	}
	if date.After(last) {
		for date = last; weekend(date); {
			date = date.AddDate(0, 0, -1)
		}
	}
	return date
}

func weekend(d time.Time) bool { return d.Weekday() == time.Saturday || d.Weekday() == time.Sunday }

// anyDay returns a working day of the month.
func (g *generator) anyDay() time.Time {
	return g.workday(1 + g.below(g.month.AddDate(0, 1, -1).Day()))
}

// booked is when the bank books what was posted on a day: up to lag working days later.
func (g *generator) booked(posted time.Time, lag int) time.Time {
	return g.workday(posted.Day() + g.below(lag+1))
}

func files(entries []finance.Entry, lines []finance.Line) map[string][]byte {
	ledger := [][]string{finance.LedgerColumns}
	for _, e := range entries {
		ledger = append(ledger, []string{
			e.ID, e.Date.Format(time.DateOnly), e.Account, e.Counterparty, e.Reference, e.Description, e.Kind, e.Amount.String(),
		})
	}
	bank := [][]string{finance.BankColumns}
	for _, l := range lines {
		bank = append(bank, []string{
			l.ID, l.Date.Format(time.DateOnly), l.Counterparty, l.Reference, l.Description, l.Amount.String(),
		})
	}
	return map[string][]byte{"ledger.csv": encode(ledger), "bank.csv": encode(bank)}
}

func encode(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.WriteAll(rows) // a buffer never fails
	return b.Bytes()
}

// nth finds the place of the nth movement of a kind, counted from 0. Until a row is removed it is the place
// of its posting and of its bank line.
func (g *generator) nth(kind string, n int) int {
	for i, m := range g.movements {
		if m.entry.Kind != kind {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	panic("no such movement of kind " + kind)
}
