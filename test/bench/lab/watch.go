// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Watch watches the Delegations of a namespace from now on. On a busy machine the API server ends a watch that is not read
// fast enough; another one goes on behind it, a second later. It calls opened, from another goroutine, for each of them.
func Watch(ctx context.Context, c client.WithWatch, namespace string, opened func()) (watch.Interface, error) {
	// One without a version begins with all objects, which takes seconds where there are many.
	list := &v1alpha1.DelegationList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return nil, err
	}
	return toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			opened()
			return c.Watch(ctx, &v1alpha1.DelegationList{}, &client.ListOptions{Namespace: namespace, Raw: &o})
		},
	})
}
