// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"maps"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// census counts the Delegations there are as they come, change and go. A list of all of them at each scrape would copy
// every finished one.
type census struct {
	mu    sync.Mutex
	count map[group]int
}

// groups returns how many there are of each group.
func (c *census) groups() map[group]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.count)
}

func (c *census) add(object any, n int) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	d, ok := object.(*v1alpha1.Delegation)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[group]int{}
	}
	g := groupOf(d)
	if c.count[g] += n; c.count[g] == 0 {
		delete(c.count, g)
	}
}

// OnAdd implements cache.ResourceEventHandler of client-go.
func (c *census) OnAdd(object any, _ bool) { c.add(object, 1) }

// OnUpdate implements cache.ResourceEventHandler of client-go.
func (c *census) OnUpdate(old, object any) {
	c.add(old, -1)
	c.add(object, 1)
}

// OnDelete implements cache.ResourceEventHandler of client-go. It is told of the object as it was last, also where the cache
// did not see it go.
func (c *census) OnDelete(object any) { c.add(object, -1) }

// Informed has a handler told of the Delegations of a cache, of those that are there too before it returns.
func Informed(informers cache.Informers) func(context.Context, toolscache.ResourceEventHandler) error {
	return func(ctx context.Context, handler toolscache.ResourceEventHandler) error {
		informer, err := informers.GetInformer(ctx, &v1alpha1.Delegation{})
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return err
		}
		if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return fmt.Errorf("counting the Delegations: %w", context.Cause(ctx))
		}
		return nil
	}
}
