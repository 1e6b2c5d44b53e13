// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"io"
	"strings"
)

// Painter rewrites a block of lines in place on a terminal.
type Painter struct {
	Out   io.Writer
	shown int
}

// Paint shows the lines where the last ones were. No line may be wider than the terminal, nor may there be more of them than
// it has rows less one: what has scrolled away can't be rewritten.
func (p *Painter) Paint(lines []string) error {
	var out strings.Builder
	if p.shown > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", p.shown)
	}
	for _, line := range lines {
		out.WriteString("\r\x1b[K" + line + "\n")
	}
	if p.shown > len(lines) {
		// Fewer than before: the rest of the screen is the last block's.
		out.WriteString("\x1b[J")
	}
	p.shown = len(lines)
	_, err := io.WriteString(p.Out, out.String())
	return err
}

// Fit leaves as many lines as a terminal of so many rows can rewrite, and says how many there are besides.
func Fit(lines []string, rows int) []string {
	if len(lines) < rows || rows < 3 {
		return lines
	}
	kept := rows - 2
	return append(lines[:kept:kept], fmt.Sprintf("… and %d more", len(lines)-kept))
}
