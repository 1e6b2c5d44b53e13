package finance

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// KindAdjustment is the kind of a ledger entry made by hand to correct the books. Such entries move no
// money, so the bank knows nothing of them.
const KindAdjustment = "adjustment"

// maxRows bounds a table: far above a month of the companies this is for, and low enough that a hostile
// table can't keep the matching busy, which compares all rows where they are all alike.
const maxRows = 5_000

// The columns of the two tables. Their order is free, and further columns are ignored.
var (
	LedgerColumns = []string{"entry_id", "date", "account", "counterparty", "reference", "description", "kind", "amount"}
	BankColumns   = []string{"line_id", "date", "counterparty", "reference", "description", "amount"}
)

// ErrTable says that a table can't be read. The error around it names the table, the line and the reason.
var ErrTable = errors.New("table can't be read")

// Entry is one posting of the ledger.
type Entry struct {
	ID           string
	Date         time.Time // of posting; midnight UTC
	Account      string
	Counterparty string
	Reference    string // the document's number; may be empty
	Description  string
	Kind         string
	Amount       Cents
}

// Line is one line of the bank statement.
type Line struct {
	ID           string
	Date         time.Time // of booking; midnight UTC
	Counterparty string
	Reference    string // as the payment carried it; may be empty
	Description  string
	Amount       Cents
}

// ParseLedger reads a ledger with the columns [LedgerColumns]. Its errors are ErrTable.
func ParseLedger(data []byte) ([]Entry, error) {
	var entries []Entry
	err := eachRow("ledger", data, LedgerColumns, func(get func(string) string) error {
		date, amount, err := dateAndAmount(get)
		entries = append(entries, Entry{
			ID: get("entry_id"), Date: date, Account: get("account"), Counterparty: get("counterparty"),
			Reference: get("reference"), Description: get("description"), Kind: get("kind"), Amount: amount,
		})
		return err
	})
	return entries, err
}

// ParseBank reads a bank statement with the columns [BankColumns]. Its errors are ErrTable.
func ParseBank(data []byte) ([]Line, error) {
	var lines []Line
	err := eachRow("bank statement", data, BankColumns, func(get func(string) string) error {
		date, amount, err := dateAndAmount(get)
		lines = append(lines, Line{
			ID: get("line_id"), Date: date, Counterparty: get("counterparty"),
			Reference: get("reference"), Description: get("description"), Amount: amount,
		})
		return err
	})
	return lines, err
}

func dateAndAmount(get func(string) string) (time.Time, Cents, error) {
	date, err := time.Parse(time.DateOnly, get("date"))
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("date %q is not in the form 2026-09-30", get("date"))
	}
	amount, err := ParseCents(get("amount"))
	return date, amount, err
}

// eachRow calls row for every row of a CSV table (RFC 4180) whose first column, the id, is unique.
func eachRow(name string, data []byte, columns []string, row func(get func(string) string) error) error {
	fail := func(line int, problem any) error {
		return fmt.Errorf("%w: %s, line %d: %v", ErrTable, name, line, problem)
	}
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	header, err := reader.Read()
	if err != nil {
		return fail(1, "no header: want "+strings.Join(columns, ","))
	}
	place, err := placeColumns(header, columns)
	if err != nil {
		return fail(1, err)
	}
	ids := make(map[string]bool)
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		line, _ := reader.FieldPos(0)
		if err != nil {
			return fail(line, err)
		}
		get := func(column string) string { return strings.TrimSpace(record[place[column]]) }
		id := get(columns[0])
		switch {
		case id == "" || ids[id]:
			return fail(line, fmt.Sprintf("%s %q is empty or not unique", columns[0], id))
		case len(ids) == maxRows:
			return fail(line, fmt.Sprintf("more than %d rows", maxRows))
		}
		ids[id] = true
		if err := row(get); err != nil {
			return fail(line, err)
		}
	}
}

func placeColumns(header, columns []string) (map[string]int, error) {
	place := make(map[string]int)
	for i, name := range header {
		place[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, column := range columns {
		if _, ok := place[column]; !ok {
			return nil, fmt.Errorf("no column %s: want %s", column, strings.Join(columns, ","))
		}
	}
	return place, nil
}
