// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"cmp"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/screen"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

// progress shows Delegations as they move.
type progress struct {
	// names are those that are shown; none for all.
	names      []string
	namespaces bool
	quiet      bool
	out        io.Writer
	terminal   Terminal
	painter    screen.Painter

	known map[types.NamespacedName]*v1alpha1.Delegation
	// printed is the last line about each, in a pipe.
	printed map[types.NamespacedName]string
	// gone are the codes of those that were deleted meanwhile.
	gone []standing.Code
}

func (w *watching) newProgress() progress {
	return progress{
		names: w.names, namespaces: w.selection.all, quiet: w.quiet, out: w.Out, terminal: w.terminal,
		painter: screen.Painter{Out: w.Out},
		known:   map[types.NamespacedName]*v1alpha1.Delegation{}, printed: map[types.NamespacedName]string{},
	}
}

func (p *progress) wanted(d *v1alpha1.Delegation) bool {
	return len(p.names) == 0 || slices.Contains(p.names, d.Name)
}

// replace takes a whole list: what is not in it is gone.
func (p *progress) replace(list []v1alpha1.Delegation) {
	there := map[types.NamespacedName]bool{}
	for i := range list {
		there[client.ObjectKeyFromObject(&list[i])] = true
	}
	for _, d := range p.all() {
		if !there[client.ObjectKeyFromObject(d)] {
			p.remove(d)
		}
	}
	for i := range list {
		p.note(&list[i])
	}
	p.flush()
}

func (p *progress) set(d *v1alpha1.Delegation) {
	p.note(d)
	p.flush()
}

func (p *progress) note(d *v1alpha1.Delegation) {
	if p.wanted(d) {
		p.known[client.ObjectKeyFromObject(d)] = d
	}
}

// remove forgets one that was deleted. If it moved until then, what became of it is not known, and the watch did not see what
// it was to see.
func (p *progress) remove(d *v1alpha1.Delegation) {
	key := client.ObjectKeyFromObject(d)
	last, ok := p.known[key]
	if !ok {
		return
	}
	code, rested := standing.Of(last)
	if !rested {
		code = standing.Error
	}
	p.gone = append(p.gone, code)
	delete(p.known, key)
	delete(p.printed, key)
	if _, _, live := p.terminal.Size(); !live && !p.quiet {
		_, _ = io.WriteString(p.out, key.Name+"  deleted\n")
	}
	p.flush()
}

// all are those that are known, the oldest first.
func (p *progress) all() []*v1alpha1.Delegation {
	var out []*v1alpha1.Delegation
	for _, d := range p.known {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *v1alpha1.Delegation) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func (p *progress) rests() bool {
	for _, d := range p.known {
		if _, rests := standing.Of(d); !rests {
			return false
		}
	}
	return true
}

func (p *progress) code() standing.Code {
	all := slices.Clone(p.gone)
	for _, d := range p.known {
		code, _ := standing.Of(d)
		all = append(all, code)
	}
	return standing.Worst(all...)
}

// flush shows what is new.
func (p *progress) flush() {
	if p.quiet {
		return
	}
	if p.paint() {
		return
	}
	for _, d := range p.all() {
		key, line := client.ObjectKeyFromObject(d), screen.Progress(d, p.namespaces)
		if p.printed[key] != line {
			p.printed[key] = line
			_, _ = io.WriteString(p.out, line+"\n")
		}
	}
}

// paint shows everything in place where there is a terminal.
func (p *progress) paint() bool {
	columns, rows, ok := p.terminal.Size()
	if !ok {
		return false
	}
	var lines []string
	for _, d := range p.all() {
		lines = append(lines, screen.Live(d, p.namespaces, time.Now(), columns))
	}
	_ = p.painter.Paint(screen.Fit(lines, rows)) // a terminal that is gone ends the program by a signal
	return true
}

// tick shows how time goes by.
func (p *progress) tick() {
	if !p.quiet {
		p.paint()
	}
}

func (p *progress) finish() { p.tick() }
