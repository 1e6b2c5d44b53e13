// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/screen"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

func (p *plugin) reply() *cobra.Command {
	d, ahead := newDraft(), false
	c := &cobra.Command{
		Use: "reply NAME [TEXT]", Short: "Answer the question of a Delegation's task",
		Long: "Create a Delegation that continues another one: its message is the answer to the question that the agent asked. Its name says\n" +
			"which question it answers, so that neither giving the command twice nor two people at once answer twice.",
		Example: fmt.Sprintf("  %[1]s reply reconcile-2026-09 Approve --data '{\"approve\": true}'", p.called),
		Args:    p.arguments(1, 2, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.answer(c.Context(), d, args, ahead)
		},
		ValidArgsFunction: p.names(delegations(standing.Asks), 1),
	}
	c.Flags().StringVar(&d.Name, "name", "", "name of the new Delegation, with --ahead; NAME-reply-N by default, for the question N")
	c.Flags().BoolVar(&ahead, "ahead", false, "answer the next question, which the agent has not asked yet")
	d.bind(c)
	return c
}

func (p *plugin) answer(ctx context.Context, d *draft, args []string, ahead bool) error {
	if d.Name != "" && !ahead {
		// Of two answers to one question one is created, since they have one name. With other names the second would be sent at
		// the next question.
		return &compose.Error{Field: "--name", Problem: "an answer has the name of its question, so that there are not two to one",
			Remedy: "leave it out, or give --ahead, if an answer to the next question will do"}
	}
	k, err := p.connect()
	if err != nil {
		return err
	}
	target, err := k.delegation(ctx, named(args)[0])
	if err != nil {
		return err
	}
	if target.Status.Phase.Finished() {
		return fmt.Errorf("%s is %s, and a task that is done takes no more messages: %s refine %s TEXT follows it up with a new task",
			target.Name, target.Status.Phase, p.called, target.Name)
	}
	maker, err := k.maker(ctx, target)
	if err != nil {
		return err
	}
	d.Agent, d.Continues = target.AgentKey().String(), target.Name
	if d.Name == "" {
		d.Name = fmt.Sprintf("%s-reply-%d", maker.Name, max(1, maker.Status.Interruptions+waiting(maker)))
	}
	switch {
	case standing.Asks(maker):
		p.note("%s asks: %s", maker.Name, remote.CleanText(maker.Status.Question))
	case ahead:
		p.note("%s does not ask now; the answer is sent once it does.", maker.Name)
	case maker.Status.AnsweredBy != nil:
		return fmt.Errorf("the question of %s is answered by %s: --ahead makes an answer to the next one, if the agent asks again", maker.Name, maker.Status.AnsweredBy.Name)
	default:
		return fmt.Errorf("%s does not ask (it is in the phase %q): --ahead makes an answer that is sent once it does", maker.Name, maker.Status.Phase)
	}
	d.message.Texts = append(args[1:], d.message.Texts...)
	return p.submit(ctx, d)
}

// waiting is 1 where the task does not wait for an answer now, so that the next question is the one after.
func waiting(d *v1alpha1.Delegation) int32 {
	if d.Status.Phase == v1alpha1.PhaseInputRequired || d.Status.Phase == v1alpha1.PhaseAuthRequired {
		return 0
	}
	return 1
}

// maxChain bounds how many answers in a row are followed to the Delegation that made the task.
const maxChain = 64

// maker is the Delegation that made the task which another one, maybe through answers to it, is about.
func (k *cluster) maker(ctx context.Context, d *v1alpha1.Delegation) (*v1alpha1.Delegation, error) {
	for range maxChain {
		if d.Spec.Continues == nil {
			return d, nil
		}
		next, err := k.delegation(ctx, d.Spec.Continues.Name)
		if err != nil {
			return nil, fmt.Errorf("spec.continues of %s: %w", d.Name, err)
		}
		d = next
	}
	return nil, fmt.Errorf("spec.continues of %s leads through more than %d answers, or in a circle", d.Name, maxChain)
}

func (p *plugin) refine() *cobra.Command {
	d := newDraft()
	var also []string
	c := &cobra.Command{
		Use: "refine NAME [TEXT]", Short: "Follow up a Delegation's result with a new task",
		Long: "Create a Delegation that refines others: a new task in the same context that refers to theirs. It is sent once they are\n" +
			"done.",
		Example: fmt.Sprintf("  %[1]s refine reconcile-2026-09 'Leave out bank fees' --name revise-2026-09", p.called),
		Args:    p.arguments(1, 2, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.followUp(c.Context(), d, args, also)
		},
		ValidArgsFunction: p.names(delegations(nil), 1),
	}
	c.Flags().StringVar(&d.Name, "name", "", "name of the new Delegation; NAME-refine-N by default, with the first N that is free")
	c.Flags().StringArrayVar(&also, "also", nil, "another Delegation that it refines; may be repeated")
	d.bind(c)
	complete(c, "also", p.names(delegations(nil), 0))
	return c
}

func (p *plugin) followUp(ctx context.Context, d *draft, args, also []string) error {
	k, err := p.connect()
	if err != nil {
		return err
	}
	target, err := k.delegation(ctx, named(args)[0])
	if err != nil {
		return err
	}
	d.Agent, d.Refines = target.AgentKey().String(), append([]string{target.Name}, named(also)...)
	if d.Name == "" {
		taken, err := delegations(nil)(ctx, k)
		if err != nil {
			return explain(err)
		}
		for n := 1; d.Name == "" || slices.Contains(taken, d.Name); n++ {
			d.Name = fmt.Sprintf("%s-refine-%d", target.Name, n)
		}
	}
	if !target.Status.Phase.Finished() {
		p.note("%s", screen.Line(fmt.Sprintf("%s is not done; this is sent once it is.", target.Name), 200))
	}
	d.message.Texts = append(args[1:], d.message.Texts...)
	return p.submit(ctx, d)
}
