// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/screen"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

// selection is which Delegations a command is about: those named, or all that match.
type selection struct {
	names    []string
	selector string
	all      bool
}

func (s *selection) bind(c *cobra.Command) {
	c.Flags().StringVarP(&s.selector, "selector", "l", "", "labels that they have, such as month=2026-09")
	c.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "those of all namespaces")
}

func (s *selection) check() error {
	if len(s.names) > 0 && (s.selector != "" || s.all) {
		return &compose.Error{Field: "NAME", Problem: "names are given, and labels or all namespaces too", Remedy: "give either"}
	}
	return nil
}

// options are those of the list.
func (s *selection) options(namespace string) ([]client.ListOption, error) {
	var out []client.ListOption
	if !s.all {
		out = append(out, client.InNamespace(namespace))
	}
	if s.selector != "" {
		parsed, err := labels.Parse(s.selector)
		if err != nil {
			return nil, &compose.Error{Field: "--selector", Problem: err.Error(), Remedy: "write KEY=VALUE"}
		}
		out = append(out, client.MatchingLabelsSelector{Selector: parsed})
	}
	return out, nil
}

// find returns them, in the order of the names or of the list.
func (s *selection) find(ctx context.Context, k *cluster) ([]v1alpha1.Delegation, error) {
	if len(s.names) > 0 {
		var out []v1alpha1.Delegation
		for _, name := range s.names {
			d, err := k.delegation(ctx, name)
			if err != nil {
				return nil, err
			}
			out = append(out, *d)
		}
		return out, nil
	}
	options, err := s.options(k.namespace)
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.DelegationList{}
	err = k.List(ctx, list, options...)
	return list.Items, explain(err)
}

func (p *plugin) get() *cobra.Command {
	s, o := &selection{}, newOutput("")
	var code bool
	c := &cobra.Command{
		Use: "get [NAME...]", Short: "Show Delegations, and what to do about each",
		Args: p.arguments(0, -1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			s.names = named(args)
			if err := s.check(); err != nil {
				return err
			}
			k, err := p.connect()
			if err != nil {
				return err
			}
			list, err := s.find(c.Context(), k)
			if err != nil {
				return err
			}
			if err := p.show(o, s, k, list); err != nil || !code {
				return err
			}
			return ended(codes(list))
		},
		ValidArgsFunction: p.names(delegations(nil), 0),
	}
	s.bind(c)
	o.bind(c, false)
	c.Flags().BoolVar(&code, "exit-code", false, "exit with the code that they stand for, 5 where one still moves")
	return c
}

func (p *plugin) show(o *output, s *selection, k *cluster, list []v1alpha1.Delegation) error {
	for i := range list {
		list[i].SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Delegation"))
	}
	switch {
	case !o.machine() && len(list) == 0:
		where := "in namespace " + k.namespace
		if s.all {
			where = "in any namespace"
		}
		p.note("There are no such Delegations %s.", where)
		return nil
	case !o.machine():
		p.printf("%s", screen.List(p.called, list, s.all, time.Now()))
		return nil
	case len(s.names) == 1:
		return p.object(o, &list[0])
	case *o.OutputFormat == "name":
		// The printer of names takes no lists.
		for i := range list {
			if err := p.object(o, &list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return p.object(o, &v1alpha1.DelegationList{Items: list})
}

func codes(list []v1alpha1.Delegation) standing.Code {
	var all []standing.Code
	for i := range list {
		code, _ := standing.Of(&list[i])
		all = append(all, code)
	}
	return standing.Worst(all...)
}

func (p *plugin) tree() *cobra.Command {
	return &cobra.Command{
		Use: "tree NAME", Short: "Show the conversation that a Delegation is part of",
		Long: "Show the Delegation with which a conversation began and all that continue or refine it: what was said, what the agent asked\n" +
			"and said, and which results there are.",
		Args: p.arguments(1, 1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := p.connect()
			if err != nil {
				return err
			}
			name := named(args)[0]
			list := &v1alpha1.DelegationList{}
			if err := k.List(c.Context(), list, client.InNamespace(k.namespace)); err != nil {
				return explain(err)
			}
			root := screen.Conversation(list.Items, name)
			if root == nil {
				return fmt.Errorf("there is no Delegation %q in namespace %s%s", name, k.namespace, similar(list.Items, name))
			}
			p.printf("%s", screen.Tree(p.called, root))
			return nil
		},
		ValidArgsFunction: p.names(delegations(nil), 1),
	}
}

// similar names Delegations that may be meant.
func similar(list []v1alpha1.Delegation, name string) string {
	var names []string
	for i := range list {
		if strings.HasPrefix(list[i].Name, name) || strings.HasPrefix(name, list[i].Name) {
			names = append(names, list[i].Name)
		}
	}
	if len(names) == 0 {
		return "; -n NAMESPACE looks elsewhere"
	}
	slices.Sort(names)
	return "; there is " + strings.Join(names[:min(len(names), 3)], ", ")
}
