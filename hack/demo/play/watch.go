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
var widths = []int{24, 10, 16, 39, 16}

// watch shows the table of Delegations as it moves, until those named are in the phases wanted.
func (d *demo) watch(ctx context.Context, wanted map[string]v1alpha1.Phase) error {
	var goals []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		goals = append(goals, fmt.Sprintf("%s to be %s", name, wanted[name]))
	}
	d.printf("waiting up to %s for %s\n", completionTimeout, strings.Join(goals, " and "))
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
	phases, err := d.follow(rows, wanted)
	done := err == nil && maps.Equal(phases, wanted)
	// The watch ends with the context, whatever it shows.
	cancel()
	_ = cmd.Wait()
	if done || err != nil {
		return err
	}
	return errors.Join(fmt.Errorf("not so within %s, last seen: %v", completionTimeout, phases), d.alive())
}

// follow prints rows until all that are named are in the phases wanted, one of them can't get there, or there are no more.
// It returns the last phases seen.
func (d *demo) follow(rows io.Reader, wanted map[string]v1alpha1.Phase) (map[string]v1alpha1.Phase, error) {
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
		if _, named := wanted[name]; !named {
			continue
		}
		phases[name] = phase
		if maps.Equal(phases, wanted) {
			break
		}
		if phase != wanted[name] && (phase.Finished() || phase == v1alpha1.PhaseUnknown) {
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
		if i == len(widths) {
			return row.String() + cell // the last column
		}
		fmt.Fprintf(&row, "%-*s", widths[i], cell)
	}
	return row.String()
}
