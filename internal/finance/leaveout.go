package finance

import (
	"errors"
	"fmt"
	"slices"
)

// Groups of rows that can be left out by name, besides single ones.
const (
	GroupAdjustments = "adjustments" // the manual postings
	GroupFees        = "bank fees"   // the bank's own charges that are not posted
)

// ErrNoSuchRow says that a row to be left out is in neither table.
var ErrNoSuchRow = errors.New("no row has the id or the reference")

// LeftOut are rows that a report does not look at, sorted by date and id.
type LeftOut struct {
	Entries []Entry
	Lines   []Line
}

func (l LeftOut) rows() int { return len(l.Entries) + len(l.Lines) }

// ReconcileWithout is [Reconcile] without the rows that names say: groups, ids of rows, or references,
// which mean the rows of both tables that carry them. Case and punctuation don't matter. It returns
// ErrNoSuchRow for a name that no row has; a group may be empty.
func ReconcileWithout(names []string, entries []Entry, lines []Line, o Options) (*Report, error) {
	whole := Reconcile(entries, lines, o)
	if len(names) == 0 {
		return whole, nil
	}
	entryOut, lineOut := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		if !whole.markGroup(name, entryOut, lineOut) && !markRows(name, entries, lines, entryOut, lineOut) {
			return nil, fmt.Errorf("%w %q", ErrNoSuchRow, name)
		}
	}
	isEntryOut := func(e Entry) bool { return entryOut[e.ID] }
	isLineOut := func(l Line) bool { return lineOut[l.ID] }
	o.Period = whole.Period // which the rows that are left might not tell any more
	r := Reconcile(slices.DeleteFunc(slices.Clone(entries), isEntryOut), slices.DeleteFunc(slices.Clone(lines), isLineOut), o)
	r.LeftOut.Entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !isEntryOut(e) })
	r.LeftOut.Lines = slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return !isLineOut(l) })
	slices.SortFunc(r.LeftOut.Entries, byDateAndID)
	slices.SortFunc(r.LeftOut.Lines, lineByDateAndID)
	return r, nil
}

// markGroup marks the rows of a group and reports whether name is one. Which rows are fees only the whole
// report knows: a fee that was posted is an ordinary pair.
func (r *Report) markGroup(name string, entryOut, lineOut map[string]bool) bool {
	switch normal(name) {
	case "ADJUSTMENT", normal(GroupAdjustments):
		for _, a := range r.Adjustments {
			entryOut[a.Entry.ID] = true
		}
	case "BANKFEE", normal(GroupFees):
		for _, l := range r.Fees {
			lineOut[l.ID] = true
		}
	default:
		return false
	}
	return true
}

// markRows marks the rows of that id or reference and reports whether there are any.
func markRows(name string, entries []Entry, lines []Line, entryOut, lineOut map[string]bool) bool {
	name, found := normal(name), false
	if name == "" {
		return false
	}
	for _, e := range entries {
		if normal(e.ID) == name || normal(e.Reference) == name {
			entryOut[e.ID], found = true, true
		}
	}
	for _, l := range lines {
		if normal(l.ID) == name || normal(l.Reference) == name {
			lineOut[l.ID], found = true, true
		}
	}
	return found
}
