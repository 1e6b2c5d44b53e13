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

// defaultPage is how many objects are asked for at once.
const defaultPage = 10000

// Decode returns an object from its JSON, as the informer is to hold it.
type Decode func([]byte) (runtime.Object, error)

// NewInformer returns an informer of the objects that lw lists, which decode makes of their JSON. The client of lw has a
// configuration that Wrap was called with; where it has not, or the API server does not answer in JSON, the list is read as
// ever.
func NewInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers, decode Decode) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(listWatch(lw, decode, defaultPage), example, resync, indexers)
}

func listWatch(lw toolscache.ListerWatcher, decode Decode, page int64) toolscache.ListerWatcher {
	l := lister{toolscache.ToListerWatcherWithContext(lw), decode, page}
	out := &toolscache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.from.WatchWithContext}
	return toolscache.ToListWatcherWithWatchListSemantics(out, l)
}

// Wrap has the clients of a configuration stream the lists that informers of this package ask for.
func Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
}

// lister lists by streaming.
type lister struct {
	from   toolscache.ListerWatcherWithContext
	decode Decode
	// page is how many objects are asked for at once.
	page int64
}

// IsWatchListSemanticsUnSupported has client-go's Reflector list.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// list returns a page of the objects as they are now, of those client-go's pager asks for. It takes small ones for granted, and
// waits for each; these are large, since an object is decoded as soon as it is there. They are not larger, for the API server
// copies a page before it encodes it. Where the pager wants all at once, because the pages' version is too old, it gets all.
// Older versions than the newest are not asked for: the API server has the newest in memory as well.
func (l lister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	if options.Limit > 0 {
		options.Limit = l.page
	}
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
	out.ResourceVersion, out.Continue = about.GetResourceVersion(), about.GetContinue()
	return out, nil
}
