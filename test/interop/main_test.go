// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var cluster *harness.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	// The flows wait much more than they compute.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	code := testenv.Run(m, func(config *rest.Config) { cluster = harness.NewCluster(config) })
	fmt.Print(results.table())
	os.Exit(code)
}

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

// table is what came of the flows, in the order in which they are declared; empty where none ran.
func (m *matrix) table() string {
	if len(m.cells) == 0 {
		return ""
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	head := []string{"FLOW"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	_, _ = fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, f := range flows {
		line := []string{f.name}
		for _, c := range columns {
			line = append(line, m.cell(f.name, c.name))
		}
		if slices.ContainsFunc(line[1:], func(cell string) bool { return cell != "-" }) {
			_, _ = fmt.Fprintln(w, strings.Join(line, "\t"))
		}
	}
	_ = w.Flush()
	return out.String()
}

func (m *matrix) cell(flow, column string) string {
	if outcome, ran := m.cells[[2]string{flow, column}]; ran {
		return outcome
	}
	return "-"
}
