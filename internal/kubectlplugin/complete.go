// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// completionTimeout is how long a shell waits at most for names.
const completionTimeout = 5 * time.Second

type completion = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// complete has a flag completed. It panics for a flag that the command does not have, which any run shows.
func complete(c *cobra.Command, flag string, f completion) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

func fixed(values ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// names completes the names of objects. A cluster that does not answer completes nothing.
func (p *plugin) names(list func(context.Context, *cluster) ([]string, error), most int) completion {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		k, err := p.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := list(ctx, k)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(all, func(name string) bool {
			return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// which selects Delegations to be completed.
type which func(*v1alpha1.Delegation) bool

func delegations(wanted which) func(context.Context, *cluster) ([]string, error) {
	return func(ctx context.Context, k *cluster) ([]string, error) {
		list := &v1alpha1.DelegationList{}
		err := k.List(ctx, list, client.InNamespace(k.namespace))
		var names []string
		for i := range list.Items {
			if d := &list.Items[i]; wanted == nil || wanted(d) {
				names = append(names, d.Name)
			}
		}
		return names, err
	}
}

func remoteAgents(ctx context.Context, k *cluster) ([]string, error) {
	list := &v1alpha1.RemoteAgentList{}
	err := k.List(ctx, list, client.InNamespace(k.namespace))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, err
}
