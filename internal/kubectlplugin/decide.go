// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

func (p *plugin) cancel() *cobra.Command {
	o := newOutput("canceling")
	c := &cobra.Command{
		Use: "cancel NAME...", Short: "Call messages off, or have their tasks canceled",
		Long: "Set spec.cancel. A message that was not accepted yet is not sent any more; of a task the agent is asked to cancel it, until it\n" +
			"answers. It can't be taken back.",
		Args: p.arguments(1, -1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := p.connect()
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			for _, name := range named(args) {
				if err := p.cancelOne(c.Context(), k, o, name); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: p.names(delegations(func(d *v1alpha1.Delegation) bool { return !d.Status.Phase.Finished() }), 0),
	}
	o.bind(c, true)
	return c
}

func (p *plugin) cancelOne(ctx context.Context, k *cluster, o *output, name string) error {
	d, err := k.delegation(ctx, name)
	if err != nil {
		return err
	}
	if d.Status.Phase.Finished() {
		p.note("%s is %s: there is nothing to cancel", name, d.Status.Phase)
		return nil
	}
	return p.patch(ctx, k, o, d, map[string]any{"spec": map[string]any{"cancel": true}}, func() { d.Spec.Cancel = true })
}

func (p *plugin) resolve() *cobra.Command {
	o := newOutput("resolved")
	var as, task string
	c := &cobra.Command{
		Use: "resolve NAME --as adopt|resend|abandon", Short: "Decide about a Delegation whose outcome is unknown",
		Long: "Set spec.resolution of a Delegation in the phase Unknown, after a look at the agent: adopt the task that it has for the\n" +
			"message; resend the same message, where it has none or a second task does no harm; or abandon it. The decision is about the\n" +
			"latest attempt and stays on record in status.resolution.",
		Example: fmt.Sprintf("  %[1]s resolve reconcile-2026-09 --as adopt --task 01a22b91-cbb8-792a-aad4-c430924ac390", p.called),
		Args:    p.arguments(1, 1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.decide(c.Context(), o, named(args)[0], as, task)
		},
		ValidArgsFunction: p.names(delegations(func(d *v1alpha1.Delegation) bool {
			return d.Status.Phase == v1alpha1.PhaseUnknown && !standing.Abandoned(d)
		}), 1),
	}
	c.Flags().StringVar(&as, "as", "", "adopt, resend or abandon")
	c.Flags().StringVar(&task, "task", "", "the agent's id of the task to adopt")
	complete(c, "as", fixed("adopt", "resend", "abandon"))
	o.bind(c, true)
	return c
}

func (p *plugin) decide(ctx context.Context, o *output, name, as, task string) error {
	if err := o.check(); err != nil {
		return err
	}
	// The command line is looked at first, so that what is wrong with it is told without a cluster.
	if _, err := compose.Resolution(as, task, 0); err != nil {
		return err
	}
	k, err := p.connect()
	if err != nil {
		return err
	}
	d, err := k.delegation(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case d.Status.Phase != v1alpha1.PhaseUnknown:
		return fmt.Errorf("%s is in the phase %q, and only Unknown is resolved: %s tree %s shows how it is", name, d.Status.Phase, p.called, name)
	case standing.Abandoned(d):
		return fmt.Errorf("%s is abandoned, which is final: kubectl delete delegation -n %s %s removes it", name, d.Namespace, name)
	}
	r, err := compose.Resolution(as, task, latest(d))
	if err != nil {
		return err
	}
	// A merge patch keeps what it does not name: what an earlier decision left is taken out.
	change := map[string]any{"action": r.Action, "taskId": nil, "attempt": nil}
	if r.TaskID != "" {
		change["taskId"] = r.TaskID
	}
	if r.Attempt > 0 {
		change["attempt"] = r.Attempt
	}
	return p.patch(ctx, k, o, d, map[string]any{"spec": map[string]any{"resolution": change}}, func() { d.Spec.Resolution = r })
}

// latest is the number of the latest attempt, 0 where the journal can't be read.
func latest(d *v1alpha1.Delegation) int32 {
	if a, err := outbox.Journalled(d); err == nil && a != nil {
		return a.Number
	}
	return d.Status.Attempts
}

// patch changes what was read, and nothing that has changed since.
func (p *plugin) patch(ctx context.Context, k *cluster, o *output, d *v1alpha1.Delegation, change map[string]any, apply func()) error {
	if o.client() {
		apply()
		return p.object(o, d)
	}
	change["metadata"] = map[string]any{"resourceVersion": d.ResourceVersion}
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if err := k.Patch(ctx, d, client.RawPatch(types.MergePatchType, text), o.patch()...); err != nil {
		return explain(err)
	}
	return p.object(o, d)
}
