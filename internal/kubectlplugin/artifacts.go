// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/save"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/screen"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// fetching is one run of artifacts.
type fetching struct {
	*plugin
	cluster   *cluster
	dir       string
	show      string
	format    string
	overwrite bool
}

func (p *plugin) artifacts() *cobra.Command {
	f := &fetching{plugin: p}
	c := &cobra.Command{
		Use: "artifacts NAME", Short: "List a Delegation's results, show one, or save them to files",
		Long: "List the results. With --save they are put together from the status and from ConfigMaps, held against their digests, and\n" +
			"written into a directory, under names that stay in it whatever the agent calls them. A result that is a URL is listed and\n" +
			"never fetched. If one can't be saved the exit code is 1, and the others are saved.",
		Example: fmt.Sprintf("  %[1]s artifacts reconcile-2026-09 --save results\n  %[1]s artifacts reconcile-2026-09 --show report.md", p.called),
		Args:    p.arguments(1, 1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			var err error
			if f.cluster, err = p.connect(); err != nil {
				return err
			}
			d, err := f.cluster.delegation(c.Context(), named(args)[0])
			if err != nil {
				return err
			}
			return f.run(c.Context(), d)
		},
		ValidArgsFunction: p.names(delegations(func(d *v1alpha1.Delegation) bool { return len(d.Status.Artifacts) > 0 }), 1),
	}
	c.Flags().StringVar(&f.dir, "save", "", "directory to save them to, which is made where it is missing")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace files that are there already")
	c.Flags().StringVar(&f.show, "show", "", "print the content of the one with this name or id")
	c.Flags().StringVarP(&f.format, "output", "o", "", "json, yaml or name: the list for a program")
	c.MarkFlagsMutuallyExclusive("save", "show", "output")
	complete(c, "output", fixed("json", "yaml", "name"))
	return c
}

// check refuses a flag without a value: a script whose variable is empty would save nothing, and go on.
func (f *fetching) check(c *cobra.Command) error {
	for flag, value := range map[string]string{"save": f.dir, "show": f.show} {
		if c.Flags().Changed(flag) && value == "" {
			return &compose.Error{Field: "--" + flag, Problem: "it is empty", Remedy: "give a directory to --save, a name or id to --show"}
		}
	}
	return nil
}

func (f *fetching) run(ctx context.Context, d *v1alpha1.Delegation) error {
	switch {
	case f.dir != "":
		return f.save(ctx, d)
	case f.show != "":
		return f.print(ctx, d)
	case f.format != "":
		return f.list(d.Status.Artifacts)
	}
	if d.Status.Reply != "" {
		f.printf("The agent answered without a task:\n%s\n", remote.CleanText(d.Status.Reply))
	}
	if len(d.Status.Artifacts) == 0 {
		f.note("%s has no artifacts; it is in the phase %q.", d.Name, d.Status.Phase)
	} else {
		f.printf("%s", screen.Artifacts(d))
	}
	f.omitted(d)
	return nil
}

// omitted tells what only the agent has.
func (f *fetching) omitted(d *v1alpha1.Delegation) {
	o := d.Status.OmittedArtifacts
	if o == nil {
		return
	}
	if o.Unlisted > 0 {
		f.note("There are %d more that only the agent has.", o.Unlisted)
	}
	if o.Fetch != "" {
		f.note("The agent answers this with the whole task: %s", remote.CleanText(o.Fetch))
	}
}

func (f *fetching) list(all []v1alpha1.ArtifactStatus) error {
	if all == nil {
		all = []v1alpha1.ArtifactStatus{}
	}
	switch f.format {
	case "name":
		for _, a := range all {
			f.printf("%s\n", screen.Line(a.ArtifactID, 1024))
		}
		return nil
	case "yaml":
		text, err := yaml.Marshal(all)
		f.printf("%s", f.harmless(string(text)))
		return err
	case "json":
		text, err := json.MarshalIndent(all, "", "    ")
		f.printf("%s\n", inert(string(text)))
		return err
	}
	return &compose.Error{Field: "--output", Problem: fmt.Sprintf("there is no %q", f.format), Remedy: "give json, yaml or name"}
}

// maps reads ConfigMaps, each once.
func (f *fetching) maps(ctx context.Context, namespace string) save.Maps {
	read := map[string]*corev1.ConfigMap{}
	return func(name string) (*corev1.ConfigMap, error) {
		if cm := read[name]; cm != nil {
			return cm, nil
		}
		cm := &corev1.ConfigMap{}
		if err := f.cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cm); err != nil {
			return nil, explain(err)
		}
		read[name] = cm
		return cm, nil
	}
}

// wanted is the artifact with the id, else the one with the name: agents may give a name twice, or one that is another's id.
func (f *fetching) wanted(d *v1alpha1.Delegation) (v1alpha1.ArtifactStatus, error) {
	var found []v1alpha1.ArtifactStatus
	for _, a := range d.Status.Artifacts {
		if a.ArtifactID == f.show {
			return a, nil
		}
		if a.Name == f.show {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return v1alpha1.ArtifactStatus{}, &compose.Error{Field: "--show", Remedy: f.called + " artifacts " + d.Name + " lists them with their ids",
			Problem: fmt.Sprintf("%s has %s %q", d.Name, screen.Count(len(found), "artifact", "artifacts"), f.show)}
	}
	return found[0], nil
}

// print shows one. A terminal gets it without what it would act on, a pipe gets it as it is.
func (f *fetching) print(ctx context.Context, d *v1alpha1.Delegation) error {
	a, err := f.wanted(d)
	if err != nil {
		return err
	}
	content, err := save.Content(a, f.maps(ctx, d.Namespace))
	if err != nil {
		return err
	}
	if f.terminal.Is {
		content = []byte(remote.CleanText(string(content)))
	}
	_, err = f.Out.Write(content)
	return err
}

// save writes all that can be had.
func (f *fetching) save(ctx context.Context, d *v1alpha1.Delegation) (err error) {
	dir, err := save.Open(f.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	dir.Overwrite = f.overwrite
	maps, missing := f.maps(ctx, d.Namespace), 0
	for i, name := range save.Names(d.Status.Artifacts) {
		a := d.Status.Artifacts[i]
		content, err := save.Content(a, maps)
		if errors.Is(err, save.ErrElsewhere) {
			f.printf("%s  not fetched: %s\n", name, screen.Line(a.URL, 1024))
			continue
		}
		if err == nil {
			err = dir.Write(name, content)
		}
		if err != nil {
			missing++
			f.note("%s is not saved: %s", name, remote.CleanText(err.Error()))
			continue
		}
		f.printf("%s  %s\n", name, screen.Count(len(content), "byte", "bytes"))
	}
	f.omitted(d)
	switch {
	case len(d.Status.Artifacts) == 0:
		return fmt.Errorf("%s has no artifacts; it is in the phase %q", d.Name, d.Status.Phase)
	case missing > 0:
		return fmt.Errorf("%d of %s not saved", missing, screen.Count(len(d.Status.Artifacts), "artifact", "artifacts"))
	}
	return nil
}
