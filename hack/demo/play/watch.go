// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// completionTimeout bounds the wait for the agent's work, which takes it three seconds.
const completionTimeout = time.Minute

// widths of the columns NAME, AGENT, PHASE, TASK and REASON.
var widths = []int{21, 10, 12, 39, 23}

// watch shows the table of Delegations as it moves, until those named are Completed.
func (d *demo) watch(ctx context.Context, names ...string) error {
	slices.Sort(names)
	d.printf("waiting up to %s for %s to be Completed\n", completionTimeout, strings.Join(names, " and "))
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	args := []string{"get", "delegations", "--watch"}
	d.show(append([]string{"kubectl"}, args...)...)
	cmd := d.command(ctx, args...)
	rows, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	phases, err := d.follow(rows, names)
	done := err == nil && completed(phases, names)
	// The watch ends with the context, whatever it shows.
	cancel()
	_ = cmd.Wait()
	if done || err != nil {
		return err
	}
	return errors.Join(fmt.Errorf("not Completed within %s, last seen: %v", completionTimeout, phases), d.alive())
}

// follow prints rows until all that are named are Completed, one of them can't become it, or there are no more. It
// returns the last phases seen.
func (d *demo) follow(rows io.Reader, names []string) (map[string]v1alpha1.Phase, error) {
	phases, last := map[string]v1alpha1.Phase{}, map[string]string{}
	for lines := bufio.NewScanner(rows); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		name, phase := fields[0], v1alpha1.Phase(fields[2])
		// Each write is a row, also one that changes nothing but the age, which is the last column.
		if shown := strings.Join(fields[:len(fields)-1], " "); shown != last[name] {
			last[name] = shown
			d.printf("%s\n", aligned(fields))
		}
		if !slices.Contains(names, name) {
			continue
		}
		phases[name] = phase
		if completed(phases, names) {
			break
		}
		if phase != v1alpha1.PhaseCompleted && (phase.Finished() || phase == v1alpha1.PhaseUnknown) {
			return phases, fmt.Errorf("%s is %s; see kubectl describe delegation %s", name, phase, name)
		}
	}
	return phases, nil
}

// aligned is a row of the table whose columns stay where they are when a task's id appears, which kubectl's do not.
func aligned(fields []string) string {
	cells := fields
	switch len(fields) {
	case 5: // no task yet
		cells = slices.Insert(slices.Clone(fields), 3, "")
	case 3: // no status yet
		cells = slices.Insert(slices.Clone(fields), 2, "", "", "")
	}
	var row strings.Builder
	for i, cell := range cells {
		width := 0
		if i < len(widths) {
			width = widths[i]
		}
		fmt.Fprintf(&row, "%-*s", width, cell)
	}
	return row.String()
}

func completed(phases map[string]v1alpha1.Phase, names []string) bool {
	return maps.Equal(phases, expected(names))
}

func expected(names []string) map[string]v1alpha1.Phase {
	want := map[string]v1alpha1.Phase{}
	for _, name := range names {
		want[name] = v1alpha1.PhaseCompleted
	}
	return want
}
