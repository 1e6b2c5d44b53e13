package finance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const ledgerHeader = "entry_id,date,account,counterparty,reference,description,kind,amount\n"

func TestParseLedger(t *testing.T) {
	entries, err := ParseLedger([]byte("\xef\xbb\xbf Amount ,entry_id,date,account,counterparty,reference,description,kind,extra\r\n" +
		"-12.50, L-1 ,2026-09-03,4400,\"Meyer, Sohn\",INV-1,\"two\nlines\",payment,ignored\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{
		ID: "L-1", Date: time.Date(2026, 9, 3, 0, 0, 0, 0, time.UTC), Account: "4400", Counterparty: "Meyer, Sohn",
		Reference: "INV-1", Description: "two\nlines", Kind: "payment", Amount: -1250,
	}
	if len(entries) != 1 || entries[0] != want {
		t.Errorf("got %+v, want %+v", entries, want)
	}
	if entries, err = ParseLedger([]byte(ledgerHeader)); err != nil || len(entries) != 0 {
		t.Errorf("ledger without rows: %v, %v", entries, err)
	}
}

func TestTablesThatCantBeRead(t *testing.T) {
	row := func(id, date, amount string) string { return id + "," + date + ",a,c,r,d,k," + amount + "\n" }
	for name, table := range map[string]string{
		"empty":             "",
		"no such column":    "entry_id,date\nL-1,2026-09-01\n",
		"too few cells":     ledgerHeader + "L-1,2026-09-01\n",
		"date":              ledgerHeader + row("L-1", "01.09.2026", "1.00"),
		"no such day":       ledgerHeader + row("L-1", "2026-09-31", "1.00"),
		"amount":            ledgerHeader + row("L-1", "2026-09-01", "1,00"),
		"no id":             ledgerHeader + row("", "2026-09-01", "1.00"),
		"id twice":          ledgerHeader + row("L-1", "2026-09-01", "1.00") + row("L-1", "2026-09-01", "1.00"),
		"quote in the cell": ledgerHeader + row("L-1", "2026-09-01", `1"0`),
		"a bank statement":  "line_id,date,counterparty,reference,description,amount\n",
		"too many rows":     ledgerHeader + rows(maxRows+1, row),
	} {
		if _, err := ParseLedger([]byte(table)); !errors.Is(err, ErrTable) {
			t.Errorf("%s: error %v, want ErrTable", name, err)
		}
	}
	if _, err := ParseBank([]byte(ledgerHeader)); !errors.Is(err, ErrTable) {
		t.Errorf("ledger as bank statement: error %v, want ErrTable", err)
	}
	if _, err := ParseLedger([]byte(ledgerHeader + rows(maxRows, row))); err != nil {
		t.Errorf("as many rows as allowed: %v", err)
	}
}

func rows(n int, row func(id, date, amount string) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(row(fmt.Sprint("L-", i), "2026-09-01", "1.00"))
	}
	return b.String()
}

// Errors name the line a person sees in an editor, also behind a cell of several lines.
func TestErrorsNameTheLine(t *testing.T) {
	_, err := ParseLedger([]byte(ledgerHeader + "L-1,2026-09-01,a,c,r,\"one\ntwo\",k,1.00\nL-2,2026-09-01,a,c,r,d,k,x\n"))
	if err == nil || !strings.Contains(err.Error(), "ledger, line 4") {
		t.Errorf("error %v does not name line 4", err)
	}
}
