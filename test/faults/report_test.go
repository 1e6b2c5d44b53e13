// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// row is what all runs of one plan came to.
type row struct {
	plan                          string
	runs, tasks, duplicates, lost int
	unknown, extraWrites          int
}

// report collects rows; runs end in any order.
type report struct {
	mu   sync.Mutex
	rows map[string]*row
}

var results = &report{rows: map[string]*row{}}

func (r *report) add(plan string, o row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.rows[plan]
	if sum == nil {
		sum = &row{plan: plan}
		r.rows[plan] = sum
	}
	sum.runs++
	sum.tasks += o.tasks
	sum.duplicates += o.duplicates
	sum.lost += o.lost
	sum.unknown += o.unknown
	sum.extraWrites = max(sum.extraWrites, o.extraWrites)
}

// table is the report in words; empty without runs. Duplicates are tasks beyond the first of one message. Lost is a
// Delegation that came to no end, or to another than its contract allows. Extra writes are the most that one run needed
// beyond those of the run without faults.
func (r *report) table() string {
	if len(r.rows) == 0 {
		return ""
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "PLAN\tRUNS\tTASKS\tDUPLICATES\tLOST\tUNKNOWN\tEXTRA WRITES")
	var total row
	for _, plan := range slices.Sorted(maps.Keys(r.rows)) {
		s := r.rows[plan]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", s.plan, s.runs, s.tasks, s.duplicates, s.lost, s.unknown, s.extraWrites)
		total.runs, total.tasks, total.duplicates = total.runs+s.runs, total.tasks+s.tasks, total.duplicates+s.duplicates
		total.lost, total.unknown, total.extraWrites = total.lost+s.lost, total.unknown+s.unknown, max(total.extraWrites, s.extraWrites)
	}
	_, _ = fmt.Fprintf(w, "all\t%d\t%d\t%d\t%d\t%d\t%d\n", total.runs, total.tasks, total.duplicates, total.lost, total.unknown, total.extraWrites)
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return out.String()
}
