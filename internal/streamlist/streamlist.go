// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamlist has an informer decode the objects of its first list while the API server still encodes the ones after
// them. client-go reads a list whole before it decodes the first object, and as a stream of events (WatchList) each object
// is encoded and decoded several times over; with very many objects either is most of the time that a controller needs to
// start.
package streamlist

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// Decode returns an object from its JSON, as the informer is to hold it.
type Decode func([]byte) (runtime.Object, error)

// NewInformer returns an informer of the objects that lw lists, which decode makes of their JSON. The client of lw has a
// configuration that Wrap was called with; where it has not, or the API server does not answer in JSON, the list is read as
// ever.
func NewInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers, decode Decode) toolscache.SharedIndexInformer {
	l := lister{toolscache.ToListerWatcherWithContext(lw), decode}
	out := &toolscache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.from.WatchWithContext}
	return toolscache.NewSharedIndexInformer(toolscache.ToListWatcherWithWatchListSemantics(out, l), example, resync, indexers)
}

// Wrap has the clients of a configuration stream the lists that informers of this package ask for.
func Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
}

// lister lists by streaming.
type lister struct {
	from   toolscache.ListerWatcherWithContext
	decode Decode
}

// IsWatchListSemanticsUnSupported has client-go's Reflector list.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// list returns all objects as they are now. Neither limits nor older versions are asked for: the API server serves the newest
// from its memory as well, and what is decoded at once needs no pages.
func (l lister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.Limit, options.Continue, options.ResourceVersion, options.ResourceVersionMatch = 0, "", "", ""
	s := &sink{decode: l.decode}
	list, err := l.from.ListWithContext(context.WithValue(ctx, sinkKey{}, s), options)
	if err != nil || !s.used {
		return list, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	out := &metav1.List{Items: s.objects}
	out.ResourceVersion = about.GetResourceVersion()
	return out, nil
}
