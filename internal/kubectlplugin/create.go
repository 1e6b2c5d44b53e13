// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
)

// draft is a Delegation that is about to be created.
type draft struct {
	compose.Options
	message compose.Message
	output  *output
	wait    bool
	timeout time.Duration
}

func newDraft() *draft { return &draft{output: newOutput("created")} }

func (d *draft) bind(c *cobra.Command) {
	bindMessage(c, &d.message)
	bindOptions(c, &d.Options)
	d.output.bind(c, true)
	c.Flags().BoolVar(&d.wait, "wait", false, "watch it until it rests, and exit with its code")
	c.Flags().DurationVar(&d.timeout, "timeout", 0, "how long to wait at most with --wait; for ever by default")
}

const createExample = `  # Send a message with two tables that are in a ConfigMap
  %[1]s create reconcile-2026-09 --agent finance --text 'Reconcile September 2026' \
    --from-configmap september/ledger.csv --from-configmap september/bank.csv

  # A manifest for Git. Its messageId is in it, so it means this one message wherever it is applied
  %[1]s create reconcile-2026-09 --agent finance --text 'Reconcile September 2026' --dry-run=client -o yaml`

func (p *plugin) create() *cobra.Command {
	d := newDraft()
	c := &cobra.Command{
		Use: "create NAME --agent AGENT (--text TEXT | --data JSON | --file PATH | -f PARTS)", Short: "Create a Delegation, or print its manifest",
		Example: fmt.Sprintf(createExample, p.called),
		Args:    p.arguments(1, 1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			d.Name = named(args)[0]
			return p.submit(c.Context(), d)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.Flags().StringVar(&d.Agent, "agent", "", "RemoteAgent that the message goes to; NAMESPACE/NAME for one of another namespace")
	c.Flags().StringVar(&d.ContextID, "context-id", "", "contextId, the conversation; the operator makes one where it is empty")
	c.Flags().StringVar(&d.Continues, "continues", "", "Delegation whose question this answers; see reply")
	c.Flags().StringArrayVar(&d.Refines, "refines", nil, "Delegation that this follows up; may be repeated; see refine")
	d.bind(c)
	complete(c, "agent", p.names(remoteAgents, 0))
	complete(c, "continues", p.names(delegations(nil), 0))
	complete(c, "refines", p.names(delegations(nil), 0))
	return c
}

// submit creates the Delegation, or shows what would be created.
func (p *plugin) submit(ctx context.Context, d *draft) error {
	if err := d.output.check(); err != nil {
		return err
	}
	var err error
	if d.Namespace, d.Written, err = p.namespace(); err != nil {
		return explain(err)
	}
	message, err := d.message.Template(p.readFile)
	if err != nil {
		return err
	}
	object, err := compose.Delegation(d.Options, message, time.Now(), uuid.NewString)
	if err != nil {
		return err
	}
	if d.output.client() {
		return p.object(d.output, object)
	}
	k, err := p.connect()
	if err != nil {
		return err
	}
	object.Namespace = k.namespace
	if err := k.Create(ctx, object, d.output.create()...); err != nil {
		return p.refused(object, err)
	}
	if err := p.object(d.output, object); err != nil || !d.wait || d.output.dryRun == "server" {
		return err
	}
	w := &watching{plugin: p, cluster: k, names: []string{object.Name}, timeout: d.timeout, quiet: d.output.machine()}
	return w.run(ctx)
}

func (p *plugin) refused(d *v1alpha1.Delegation, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: its message is sent once, whatever is applied; give another name for another message, or see %s tree %s", err, p.called, d.Name)
	}
	return explain(err)
}

// arguments checks how many there are.
func (p *plugin) arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing: %s", what, c.UseLine())
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%q is too much, put texts with blanks into quotes: %s", args[most], c.UseLine())
		}
		return nil
	}
}
