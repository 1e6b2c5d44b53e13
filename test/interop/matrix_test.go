// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

var update = flag.Bool("update", false, "write the table of docs/interop.md from what the test sees")

const tableBegin, tableEnd = "<!-- begin: written by TestFlows -->\n", "<!-- end -->\n"

// matrix collects what came of each flow at each agent; cells come in any order.
type matrix struct {
	mu    sync.Mutex
	cells map[[2]string]string
}

var results = &matrix{cells: map[[2]string]string{}}

func (m *matrix) add(flow, column, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[[2]string{flow, column}] = outcome
}

// compare holds what came of the flows against the table of docs/interop.md, or writes that if all is as it has to be. Where a cell did not run, since
// only some were asked for or an agent can't run here, there is nothing to compare.
func (m *matrix) compare(t *testing.T) {
	t.Helper()
	if ran, all := len(m.cells), len(flows)*len(columns); ran < all {
		if *update {
			t.Errorf("%d of %d cells ran: the table is not written", ran, all)
		}
		t.Skipf("%d of %d cells ran: the table of docs/interop.md is not compared", ran, all)
	}
	path := filepath.Join(harness.Root(t), "docs", "interop.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), tableBegin)
	written, after, ended := strings.Cut(rest, tableEnd)
	table := m.table()
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the table", path)
	case *update && t.Failed():
		t.Error("the table is not written")
	case *update:
		if err := os.WriteFile(path, []byte(before+tableBegin+table+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case written != table:
		t.Errorf("the table of docs/interop.md is not what was seen; write it with -update. Seen:\n%s", table)
	}
}

// table is what came of the flows in Markdown, in the order in which they are declared. What can't be as elsewhere has the
// number of its reason, which is listed below.
func (m *matrix) table() string {
	var out strings.Builder
	out.WriteString("| |")
	for _, c := range columns {
		out.WriteString(" " + c.name + " |")
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	var reasons []string
	for _, f := range flows {
		out.WriteString("| " + f.name + " |")
		for _, c := range columns {
			cell := m.cells[[2]string{f.name, c.name}]
			if e, differs := f.but[c.kind]; differs {
				cell += fmt.Sprintf(" (%d)", number(&reasons, e.why))
			}
			out.WriteString(" " + cell + " |")
		}
		out.WriteString("\n")
	}
	for i, why := range reasons {
		fmt.Fprintf(&out, "\n%d. %s", i+1, why)
	}
	out.WriteString("\n")
	return out.String()
}

// number returns a reason's number in the list, which it joins where it is new.
func number(reasons *[]string, why string) int {
	i := slices.Index(*reasons, why)
	if i < 0 {
		i = len(*reasons)
		*reasons = append(*reasons, why)
	}
	return i + 1
}
