package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path"
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
)

// Inputs are what a reconciliation works on.
type Inputs struct {
	Ledger []byte // CSV
	Bank   []byte // CSV
	Period string // the month, such as 2026-09; may be empty
}

// ReadInputs finds the tables in the user's messages of a task. A table is a text or raw part named
// ledger*.csv or bank*.csv, by its filename or, failing that, by the filename or name in its metadata; a
// CSV part under another name, recognised by its header; or a member of a data part. A data part may
// also name the period. Links are not followed: the agent reads nothing but what it was sent.
func ReadInputs(messages ...*a2a.Message) (Inputs, error) {
	found := collector{}
	for _, msg := range messages {
		if msg == nil || msg.Role != a2a.MessageRoleUser {
			continue
		}
		for _, part := range msg.Parts {
			if err := found.read(part); err != nil {
				return Inputs{}, err
			}
		}
	}
	for _, name := range []string{ledgerTable, bankTable} {
		if _, ok := found[name]; !ok {
			return Inputs{}, fmt.Errorf("%w: no %s table in the message", ErrMissingInput, name)
		}
	}
	period := string(found[periodName])
	if _, err := time.Parse("2006-01", period); err != nil && period != "" {
		return Inputs{}, fmt.Errorf("%w: %q", ErrPeriod, period)
	}
	return Inputs{Ledger: found[ledgerTable], Bank: found[bankTable], Period: period}, nil
}

const (
	ledgerTable = "ledger"
	bankTable   = "bank"
	periodName  = "period"
)

type collector map[string][]byte

func (c collector) read(part *a2a.Part) error {
	switch content := part.Content.(type) {
	case a2a.Text:
		return c.put(tableOf(part, []byte(content)), []byte(content))
	case a2a.Raw:
		return c.put(tableOf(part, content), content)
	case a2a.URL:
		if table := tableOf(part, nil); table != "" {
			return fmt.Errorf("%w: the %s table is a link, send its content", ErrMissingInput, table)
		}
	case a2a.Data:
		members, _ := content.Value.(map[string]any)
		for _, name := range []string{ledgerTable, bankTable, periodName} {
			if text, ok := members[name].(string); ok {
				if err := c.put(name, []byte(text)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c collector) put(name string, content []byte) error {
	if name == "" {
		return nil
	}
	if _, ok := c[name]; ok {
		return fmt.Errorf("%w: more than one %s in the message", ErrAmbiguousInput, name)
	}
	c[name] = content
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
