package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// HowToSend tells a sender what the agent needs.
const HowToSend = "Send the ledger and the bank statement as CSV: two parts with the file names ledger.csv and bank.csv, " +
	"as text or as bytes, or one data part {\"ledger\": \"...\", \"bank\": \"...\"}."

// Errors of [ReadInputs], to be matched with errors.Is.
var (
	// ErrMissingInput says that a table is not in the message, or only as a link.
	ErrMissingInput = errors.New("missing input")
	// ErrAmbiguousInput says that a table is in the message twice.
	ErrAmbiguousInput = errors.New("ambiguous input")
	// ErrPeriod says that the period is no month.
	ErrPeriod = errors.New("period is not a month in the form 2026-09")
	// ErrExclude says that what to leave out is not a list of texts, or too long a one.
	ErrExclude = errors.New("exclude is not a list of texts, 100 at most")
)

// Inputs are what a reconciliation works on.
type Inputs struct {
	Ledger   []byte   // CSV
	Bank     []byte   // CSV
	Period   string   // the month, such as 2026-09; may be empty
	LeaveOut []string // rows and groups of rows, as finance.ReconcileWithout takes them
	// LedgerFrom says which request brought the ledger: 0 is the task's own, n the n-th earlier one.
	LedgerFrom int
}

// ReadInputs finds the tables in a request. A table is a text or raw part named ledger*.csv or bank*.csv,
// by its filename or, failing that, by the filename or name in its metadata; a CSV part under another
// name, recognised by its header; or a member of a data part. A data part may also name the period, and
// in the list exclude what to leave out, which the request in words may do too. Links are not followed:
// the agent reads nothing but what it was sent.
//
// Earlier requests, nearest first, supply what the request doesn't bring. What they left out stays out, up
// to the request that brought a table: that one spoke for itself.
func ReadInputs(own *a2a.Message, earlier ...*a2a.Message) (Inputs, error) {
	found, err := collect(own)
	if err != nil {
		return Inputs{}, err
	}
	ledgerFrom := 0
	for i, msg := range earlier {
		before, err := collect(msg)
		if err != nil {
			return Inputs{}, fmt.Errorf("earlier request: %w", err)
		}
		if !found.has(ledgerTable) {
			ledgerFrom = i + 1
		}
		found.fill(before)
	}
	inputs, err := found.inputs()
	inputs.LedgerFrom = ledgerFrom
	return inputs, err
}

const (
	ledgerTable = "ledger"
	bankTable   = "bank"
	periodName  = "period"
	excludeName = "exclude"
)

// maxLeaveOut bounds the names in a list: each is looked for in every row.
const maxLeaveOut = 100

// collector holds what was found in one message, or in several after fill.
type collector struct {
	tables   map[string][]byte // and the period
	leaveOut []string
}

func collect(msg *a2a.Message) (*collector, error) {
	c := &collector{tables: make(map[string][]byte)}
	if msg == nil || msg.Role != a2a.MessageRoleUser {
		return c, nil
	}
	for _, part := range msg.Parts {
		if err := c.read(part); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *collector) has(table string) bool {
	_, ok := c.tables[table]
	return ok
}

// fill adds what an earlier request has and later ones don't.
func (c *collector) fill(before *collector) {
	if !c.has(ledgerTable) && !c.has(bankTable) {
		c.leaveOut = append(c.leaveOut, before.leaveOut...)
	}
	for name, content := range before.tables {
		if !c.has(name) {
			c.tables[name] = content
		}
	}
}

func (c *collector) inputs() (Inputs, error) {
	for _, name := range []string{ledgerTable, bankTable} {
		if !c.has(name) {
			return Inputs{}, fmt.Errorf("%w: no %s table in the message", ErrMissingInput, name)
		}
	}
	period := string(c.tables[periodName])
	if _, err := time.Parse("2006-01", period); err != nil && period != "" {
		return Inputs{}, fmt.Errorf("%w: %q", ErrPeriod, period)
	}
	slices.Sort(c.leaveOut)
	leaveOut := slices.Compact(c.leaveOut)
	if len(leaveOut) > maxLeaveOut {
		return Inputs{}, ErrExclude
	}
	return Inputs{Ledger: c.tables[ledgerTable], Bank: c.tables[bankTable], Period: period, LeaveOut: leaveOut}, nil
}

func (c *collector) read(part *a2a.Part) error {
	switch content := part.Content.(type) {
	case a2a.Text:
		table := tableOf(part, []byte(content))
		if table == "" && fileName(part) == "" {
			c.leaveOut = append(c.leaveOut, leaveOutOf(string(content))...)
		}
		return c.put(table, []byte(content))
	case a2a.Raw:
		return c.put(tableOf(part, content), content)
	case a2a.URL:
		if table := tableOf(part, nil); table != "" {
			return fmt.Errorf("%w: the %s table is a link, send its content", ErrMissingInput, table)
		}
	case a2a.Data:
		return c.readData(content.Value)
	}
	return nil
}

func (c *collector) readData(value any) error {
	members, _ := value.(map[string]any)
	for _, name := range []string{ledgerTable, bankTable, periodName} {
		if text, ok := members[name].(string); ok {
			if err := c.put(name, []byte(text)); err != nil {
				return err
			}
		}
	}
	exclude, ok := members[excludeName]
	if !ok {
		return nil
	}
	list, ok := exclude.([]any)
	if !ok {
		return ErrExclude
	}
	for _, element := range list {
		name, ok := element.(string)
		if !ok {
			return ErrExclude
		}
		c.leaveOut = append(c.leaveOut, name)
	}
	return nil
}

func (c *collector) put(name string, content []byte) error {
	if name == "" {
		return nil
	}
	if c.has(name) {
		return fmt.Errorf("%w: more than one %s in the message", ErrAmbiguousInput, name)
	}
	c.tables[name] = content
	return nil
}

// tableOf says which table a part holds, or "" for parts that hold none, such as the request in words.
func tableOf(part *a2a.Part, content []byte) string {
	name := strings.ToLower(path.Base(fileName(part)))
	isCSV := strings.HasSuffix(name, ".csv")
	for _, table := range []string{ledgerTable, bankTable} {
		if isCSV && strings.HasPrefix(name, table) {
			return table
		}
	}
	if !isCSV && !strings.HasPrefix(strings.ToLower(part.MediaType), "text/csv") {
		return ""
	}
	header, _, _ := bytes.Cut(content, []byte("\n"))
	switch {
	case bytes.Contains(header, []byte(finance.LedgerColumns[0])):
		return ledgerTable
	case bytes.Contains(header, []byte(finance.BankColumns[0])):
		return bankTable
	}
	return ""
}

func fileName(part *a2a.Part) string {
	if part.Filename != "" {
		return part.Filename
	}
	for _, key := range []string{"filename", "name"} {
		if name, ok := part.Metadata[key].(string); ok && name != "" {
			return name
		}
	}
	return ""
}
