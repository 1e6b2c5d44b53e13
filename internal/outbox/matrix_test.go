// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write testdata/matrix.golden from what the decision does")

// TestMatrix holds the whole table of the state machine, every phase against every observation, against a file that a
// person has read. A phase, an outcome or a call that is new in the source has to get a row here.
func TestMatrix(t *testing.T) {
	outcomes := constants(t, "exchange.go", "Outcome")
	calls := constants(t, "exchange.go", "Call")
	phases := append([]string{""}, constants(t, filepath.Join("..", "..", "api", "v1alpha1", "vocabulary.go"), "Phase")...)
	var table strings.Builder
	for _, phase := range phases {
		world, ok := situations[v1alpha1.Phase(phase)]
		if !ok {
			t.Errorf("phase %q has no row: add it to situations", phase)
			continue
		}
		for _, deleting := range []bool{false, true} {
			for _, o := range observations(calls, outcomes) {
				w := world().at(2 * time.Second)
				o.see(w)
				if deleting {
					w.deleted(time.Second)
				}
				fmt.Fprintf(&table, "%-13s %-8s %-24s -> %s\n", first(phase, "new"), map[bool]string{true: "deleting"}[deleting], o.name, told(t, w.Input))
			}
		}
	}
	const golden = "testdata/matrix.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	compareLines(t, strings.Split(table.String(), "\n"), strings.Split(string(want), "\n"))
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("line %d is\n%s\nand was\n%s\nread the difference, and write the file with -update", i+1, g, w)
		}
	}
}

// situations is a Delegation in each phase.
var situations = map[v1alpha1.Phase]func() *world{
	"":                          minted,
	v1alpha1.PhasePending:       func() *world { return newWorld().recorded(1, Unauthorized) },
	v1alpha1.PhaseSending:       func() *world { return newWorld().recorded(1, Ambiguous) },
	v1alpha1.PhaseSubmitted:     func() *world { return newWorld().bound(v1alpha1.TaskStateSubmitted) },
	v1alpha1.PhaseWorking:       func() *world { return newWorld().bound(v1alpha1.TaskStateWorking) },
	v1alpha1.PhaseInputRequired: func() *world { return newWorld().bound(v1alpha1.TaskStateInputRequired) },
	v1alpha1.PhaseAuthRequired:  func() *world { return newWorld().bound(v1alpha1.TaskStateAuthRequired) },
	v1alpha1.PhaseCompleted:     func() *world { return newWorld().bound(v1alpha1.TaskStateCompleted) },
	v1alpha1.PhaseCanceled:      func() *world { return newWorld().bound(v1alpha1.TaskStateCanceled) },
	v1alpha1.PhaseFailed:        func() *world { return newWorld().bound(v1alpha1.TaskStateFailed) },
	v1alpha1.PhaseRejected:      func() *world { return newWorld().recorded(1, Refused) },
	v1alpha1.PhaseUndelivered: func() *world {
		w := minted()
		w.Delegation.Spec.NotAfter = stampOf(start.Add(-time.Hour))
		w.Delegation.Status = Next(w.Input).(Record).Status
		return w
	},
	v1alpha1.PhaseUnknown: func() *world { return unknownFor(0) },
}

type observation struct {
	name string
	see  func(*world)
}

// observations are nothing, each call under way, and each call with each outcome.
func observations(calls, outcomes []string) []observation {
	out := []observation{{"nothing", func(*world) {}}}
	for _, call := range calls {
		if call == string(CallNone) {
			continue
		}
		out = append(out, observation{call + " is out", func(w *world) { w.Running = Call(call) }})
		for _, outcome := range outcomes {
			out = append(out, observation{call + " " + outcome, func(w *world) {
				w.result(Call(call), Outcome(outcome))
				if Outcome(outcome) == Accepted {
					w.Result.Task = &Task{ID: "t-5a", ContextID: "c-recon-09", State: v1alpha1.TaskStateWorking, Timestamp: start.Add(time.Second)}
				}
			}})
		}
	}
	return out
}

// told says in a line where a decision comes to rest.
func told(t *testing.T, in Input) string {
	t.Helper()
	action, status, writes := settled(t, in)
	name := strings.TrimPrefix(fmt.Sprintf("%T", action), "outbox.")
	if ask, ok := action.(Ask); ok {
		name += " " + string(ask.Call)
	}
	c := &decision{in: Input{Delegation: &v1alpha1.Delegation{Status: status}}}
	return fmt.Sprintf("%s, %d writes, %s/%s", name, writes, status.Phase, c.readyReason())
}

// constants returns the values of the string constants of a type in a source file.
func constants(t *testing.T, file, kind string) []string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == kind {
			for _, v := range spec.Values {
				value, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, value)
			}
		}
		return true
	})
	if len(out) == 0 || slices.Contains(out[1:], out[0]) {
		t.Fatalf("%s has no constants of type %s", file, kind)
	}
	return out
}
