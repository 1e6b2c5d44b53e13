// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// output prints objects as -o says.
type output struct {
	*genericclioptions.PrintFlags
	dryRun string
}

// newOutput makes the flags of a command that did something, such as created.
func newOutput(done string) *output {
	return &output{PrintFlags: genericclioptions.NewPrintFlags(done).WithTypeSetter(scheme())}
}

func (o *output) bind(c *cobra.Command, dryRun bool) {
	o.AddFlags(c)
	if dryRun {
		c.Flags().StringVar(&o.dryRun, "dry-run", "none", "none, client or server: with client nothing is sent to the cluster, with server nothing is stored")
		complete(c, "dry-run", fixed("none", "client", "server"))
	}
	complete(c, "output", fixed("json", "yaml", "name"))
}

// machine reports whether the output is for a program.
func (o *output) machine() bool { return *o.OutputFormat != "" }

// check refuses a dry run or an output that does not exist, before anything is done.
func (o *output) check() error {
	switch o.dryRun {
	case "", "none", "client", "server":
		_, err := o.ToPrinter()
		return err
	}
	return &compose.Error{Field: "--dry-run", Problem: fmt.Sprintf("there is no %q", o.dryRun), Remedy: "give none, client or server"}
}

func (o *output) client() bool { return o.dryRun == "client" }

// create are the options for writing.
func (o *output) create() []client.CreateOption {
	if o.dryRun == "server" {
		return []client.CreateOption{client.DryRunAll}
	}
	return nil
}

func (o *output) patch() []client.PatchOption {
	if o.dryRun == "server" {
		return []client.PatchOption{client.DryRunAll}
	}
	return nil
}

// object prints one.
func (p *plugin) object(o *output, object runtime.Object) error {
	switch o.dryRun {
	case "client":
		_ = o.Complete("%s (dry run)") // sets a suffix, and always returns nil
	case "server":
		_ = o.Complete("%s (server dry run)") // as above
	}
	printer, err := o.ToPrinter()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := printer.PrintObj(object, &text); err != nil {
		return err
	}
	out := p.harmless(text.String())
	if *o.OutputFormat == "json" {
		out = inert(text.String())
	}
	_, err = p.Out.Write([]byte(out))
	return err
}

// harmless is a text without what a terminal would act on, where there is one. A pipe gets it as it is.
func (p *plugin) harmless(text string) string {
	if !p.terminal.Is {
		return text
	}
	return remote.CleanText(text)
}

// inert writes characters of a JSON text that a terminal would act on as escapes, which mean the same.
func inert(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r > 0x7e && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) && r <= 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func (p *plugin) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Out, format, args...)
}

// note tells something beside the output, so that a pipe gets the output alone.
func (p *plugin) note(format string, args ...any) {
	_, _ = fmt.Fprintf(p.ErrOut, format+"\n", args...)
}
