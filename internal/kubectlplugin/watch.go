// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

const (
	// repaint is how often a terminal shows how long things take.
	repaint = time.Second
	// relist is the pause before all is read anew, after a watch has ended.
	relist = time.Second
)

// errRested ends a watch: nothing moves any more.
var errRested = errors.New("everything rests")

// watching follows Delegations until all of them rest.
type watching struct {
	*plugin
	cluster   *cluster
	names     []string
	selection selection
	timeout   time.Duration
	quiet     bool
	forever   bool
	progress  progress
}

func (p *plugin) watch() *cobra.Command {
	w := &watching{plugin: p}
	c := &cobra.Command{
		Use: "watch [NAME...]", Short: "Follow Delegations until nothing moves any more",
		Long: "Show a line for each Delegation as it moves: rewritten in place on a terminal, one after the other in a pipe. It ends when all\n" +
			"of them rest, that is: finished, waiting for an answer, or Unknown. The exit code says which, see " + p.called + " --help.",
		Args: p.arguments(0, -1, "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			w.names = named(args)
			w.selection.names = w.names
			if err := w.selection.check(); err != nil {
				return err
			}
			var err error
			if w.cluster, err = p.connect(); err != nil {
				return err
			}
			return w.run(c.Context())
		},
		ValidArgsFunction: p.names(delegations(nil), 0),
	}
	w.selection.bind(c)
	c.Flags().DurationVar(&w.timeout, "timeout", 0, "how long to watch at most; for ever by default")
	c.Flags().BoolVar(&w.forever, "forever", false, "go on when everything rests, also for Delegations that are yet to be created")
	return c
}

func (w *watching) run(ctx context.Context) error {
	bounded := ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	w.progress = w.newProgress()
	err := w.follow(bounded)
	w.progress.finish()
	switch {
	case errors.Is(err, errRested):
		w.hints()
		return ended(w.progress.code())
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return &exit{code: standing.Timeout, err: fmt.Errorf("not at rest within %s", w.timeout)}
	}
	return err
}

// hints are the commands that go on from where things rest.
func (w *watching) hints() {
	if w.quiet {
		return
	}
	for _, d := range w.progress.all() {
		if next := standing.Next(w.called, d); next != "" {
			w.note("%s: %s", d.Name, next)
		}
	}
}

// follow lists and watches, and lists anew where a watch ends: what was missed between shows in the list.
func (w *watching) follow(ctx context.Context) error {
	options, err := w.selection.options(w.cluster.namespace)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		list := &v1alpha1.DelegationList{}
		switch err := w.cluster.List(ctx, list, options...); {
		case err != nil && first:
			return explain(err)
		case err == nil:
			if err := w.begin(list, first); err != nil {
				return err
			}
			if err := w.stream(ctx, list.ResourceVersion, options); err != nil {
				return err
			}
		}
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
}

func (w *watching) pause(ctx context.Context) error {
	t := time.NewTimer(relist)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// begin takes what a list shows.
func (w *watching) begin(list *v1alpha1.DelegationList, first bool) error {
	for _, name := range w.names {
		found := false
		for i := range list.Items {
			found = found || list.Items[i].Name == name
		}
		if !found && first {
			return fmt.Errorf("there is no Delegation %q in namespace %s%s", name, w.cluster.namespace, similar(list.Items, name))
		}
	}
	w.progress.replace(list.Items)
	if len(w.progress.all()) == 0 && first && !w.forever {
		return errors.New("there are no such Delegations: --forever waits for some")
	}
	return w.rested()
}

func (w *watching) rested() error {
	if !w.forever && w.progress.rests() {
		return errRested
	}
	return nil
}

// stream takes changes until everything rests, or until the watch ends, which is nil.
func (w *watching) stream(ctx context.Context, from string, options []client.ListOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, from, watchFunc(func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return w.cluster.Watch(ctx, &v1alpha1.DelegationList{}, append(options[:len(options):len(options)], &client.ListOptions{Raw: &o})...)
	}))
	if err != nil {
		return err
	}
	tick := time.NewTicker(repaint)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			w.progress.tick()
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if err := w.take(event); err != nil {
				return err
			}
			if err := w.rested(); err != nil {
				return err
			}
		}
	}
}

type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

// WatchWithContext implements cache.WatcherWithContext.
func (f watchFunc) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, o)
}

func (w *watching) take(event watch.Event) error {
	switch event.Type {
	case watch.Error:
		if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return explain(err)
		}
	case watch.Added, watch.Modified:
		if d, ok := event.Object.(*v1alpha1.Delegation); ok {
			w.progress.set(d)
		}
	case watch.Deleted:
		if d, ok := event.Object.(*v1alpha1.Delegation); ok {
			w.progress.remove(d)
		}
	}
	return nil
}
